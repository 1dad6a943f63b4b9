// Faults that the emulator's control port injects.

import assert from "node:assert/strict";
import { test } from "node:test";
import { all, freshTable, own, rejected, tableClient } from "./clients.js";
import { inject } from "./control.js";

const ENTITY = { partitionKey: "p", rowKey: "r" };
const RETRIES = { retryOptions: { maxRetries: 3, retryDelayInMs: 1 } };

test("a busy service is retried", async (t) => {
  const table = await freshTable(t);
  const hits = await inject(t, table, { fault: "respond", status: 503, code: "ServerBusy", first: 2 });
  await tableClient(table.tableName, RETRIES).createEntity(ENTITY);
  assert.equal(await hits(), 2);
  assert.deepEqual(own(await table.getEntity("p", "r")), ENTITY);
});

test("a busy service is reported without retries", async (t) => {
  const table = await freshTable(t);
  await inject(t, table, { fault: "respond", status: 503, code: "ServerBusy", operations: ["reads"] });
  await rejected(503, "ServerBusy", () => table.getEntity("p", "r"));
});

test("a failed operation of a transaction has its index", async (t) => {
  const table = await freshTable(t);
  await inject(t, table, { fault: "failBatchPart", status: 409, code: "EntityAlreadyExists", index: 1, first: 1 });
  const actions = ["a", "b", "c"].map((rowKey) => ["create", { partitionKey: "p", rowKey }]);
  const error = await rejected(409, "EntityAlreadyExists", () => table.submitTransaction(actions));
  assert.match(error.message, /^"?1:/);
  assert.deepEqual(await all(table.listEntities()), []);
  assert.equal((await table.submitTransaction(actions)).subResponses.length, 3);
});

test("a lost response leaves the entity", async (t) => {
  const table = await freshTable(t);
  await inject(t, table, { fault: "loseResponse", operations: ["insert"], first: 1 });
  const error = await table.createEntity(ENTITY).catch((error) => error);
  assert.deepEqual([error.name, error.statusCode], ["RestError", undefined]);
  assert.deepEqual(own(await table.getEntity("p", "r")), ENTITY);
});

test("a retry after a lost response finds the entity", async (t) => {
  const table = await freshTable(t);
  const hits = await inject(t, table, { fault: "loseResponse", operations: ["insert"], first: 1 });
  const retrying = tableClient(table.tableName, RETRIES);
  await rejected(409, "EntityAlreadyExists", () => retrying.createEntity(ENTITY));
  assert.equal(await hits(), 1);
});
