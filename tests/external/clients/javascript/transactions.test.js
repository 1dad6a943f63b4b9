// Entity group transactions: they succeed or fail as a whole.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TableTransaction } from "@azure/data-tables";
import { all, COSMOS, freshTable, own, rejected, SKIP_ON_COSMOS, tableClient } from "./clients.js";

const entity = (rowKey, properties) => ({ partitionKey: "p", rowKey, ...properties });
const byRowKey = (a, b) => (a.rowKey < b.rowKey ? -1 : 1);
const rows = async (table) => (await all(table.listEntities())).map(own).sort(byRowKey);

/** The transaction fails with this code at this index, and changes nothing. */
async function fails(table, index, status, code, actions) {
  const before = await rows(table);
  const error = await rejected(status, code, () => table.submitTransaction(actions));
  if (index !== undefined) assert.match(error.message, new RegExp(`^"?${index}:`));
  assert.deepEqual(await rows(table), before);
}

test("all operations are applied", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("2", { a: 1 }));
  await table.createEntity(entity("3", { a: 1 }));
  await table.createEntity(entity("4", { a: 1 }));
  const transaction = new TableTransaction();
  transaction.createEntity(entity("1", { a: 1 }));
  transaction.updateEntity(entity("2", { b: 2 }), "Merge");
  transaction.updateEntity(entity("3", { b: 2 }), "Replace");
  transaction.deleteEntity("p", "4");
  transaction.upsertEntity(entity("5", { c: 3 }), "Merge");
  transaction.upsertEntity(entity("O'Brien é", { c: 3 }), "Replace");
  const result = await table.submitTransaction(transaction.actions);
  assert.equal(result.status, 202);
  assert.deepEqual(result.subResponses.map((response) => response.status), [204, 204, 204, 204, 204, 204]);
  assert.deepEqual(await rows(table), [
    entity("1", { a: 1 }),
    entity("2", { a: 1, b: 2 }),
    entity("3", { b: 2 }),
    entity("5", { c: 3 }),
    entity("O'Brien é", { c: 3 }),
  ]);
  assert.equal((await table.getEntity("p", "1")).etag, result.getResponseForEntity("1").etag);
});

test("a failure names its operation and changes nothing", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("2", { a: 1 }));
  const one = ["create", entity("1")];
  const stale = { etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"" };
  await fails(table, 1, 409, "EntityAlreadyExists", [one, ["create", entity("2")]]);
  await fails(table, 2, 404, "ResourceNotFound", [one, ["create", entity("3")], ["update", entity("4")]]);
  await fails(table, 1, 404, "ResourceNotFound", [one, ["delete", entity("4")]]);
  await fails(table, 1, 412, "UpdateConditionNotSatisfied", [one, ["update", entity("2"), "Merge", stale]]);
});

test("the first operation fails too", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("1"));
  const existing = ["create", entity("1")];
  await fails(table, undefined, 409, "EntityAlreadyExists", [existing]);
  await fails(table, 0, 409, "EntityAlreadyExists", [existing, ["create", entity("2")]]);
});

test("a repeated row is rejected", async (t) => {
  const table = await freshTable(t);
  const actions = ["1", "2", "1"].map((rowKey) => ["create", entity(rowKey)]);
  await fails(table, 2, 400, "InvalidDuplicateRow", actions);
});

test("other partitions are rejected", async (t) => {
  const table = await freshTable(t);
  const actions = [["create", entity("1")], ["create", { partitionKey: "q", rowKey: "1" }]];
  await assert.rejects(() => table.submitTransaction(actions), /partition/i);
});

test("a missing table is reported", async (t) => {
  const { tableName } = await freshTable(t);
  const missing = tableClient(`${tableName}x`);
  const code = COSMOS ? "ResourceNotFound" : "TableNotFound";
  await rejected(404, code, () => missing.submitTransaction([["create", entity("1")]]));
});

test("a hundred operations are applied", async (t) => {
  const table = await freshTable(t);
  const actions = Array.from({ length: 100 }, (_, n) => ["upsert", entity(String(n))]);
  assert.equal((await table.submitTransaction(actions)).subResponses.length, 100);
  assert.equal((await rows(table)).length, 100);
});

test("limits are reported", SKIP_ON_COSMOS("no recording shows its limits"), async (t) => {
  const table = await freshTable(t);
  const tooMany = Array.from({ length: 101 }, (_, n) => ["upsert", entity(String(n))]);
  await fails(table, 99, 400, "InvalidInput", tooMany);
  const tooLong = ["create", entity("2", { a: "x".repeat(32_769) })];
  await fails(table, 1, 400, "PropertyValueTooLarge", [["create", entity("1")], tooLong]);
  const text = "x".repeat(30_000);
  const tooLarge = Array.from({ length: 80 }, (_, n) => ["upsert", entity(String(n), { a: text, b: text })]);
  await fails(table, undefined, 413, "RequestBodyTooLarge", tooLarge);
});
