// Entity group transactions: they succeed or fail as a whole.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TableTransaction } from "@azure/data-tables";
import { all, freshTable, own, refused } from "./smoke.js";

const entity = (rowKey, properties) => ({ partitionKey: "p", rowKey, ...properties });
const rows = async (table) => (await all(table.listEntities())).map(own);

test("all operations are applied", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("2", { a: 1 }));
  await table.createEntity(entity("3", { a: 1 }));
  const { etag } = await table.createEntity(entity("4", { a: 1 }));
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
  assert.notEqual(etag, undefined);
});

test("a failure names its operation and applies nothing", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("2", { a: 1 }));
  const before = await rows(table);
  const one = ["create", entity("1")];
  const stale = { etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"" };
  for (const [status, code, index, actions] of [
    [409, "EntityAlreadyExists", 1, [one, ["create", entity("2")]]],
    [404, "ResourceNotFound", 2, [one, ["create", entity("3")], ["update", entity("4")]]],
    [412, "UpdateConditionNotSatisfied", 1, [one, ["update", entity("2"), "Merge", stale]]],
    [400, "PropertyValueTooLarge", 1, [one, ["create", entity("3", { a: "x".repeat(32_769) })]]],
    [400, "InvalidDuplicateRow", 1, [one, ["upsert", entity("1")]]],
  ]) {
    const error = await refused(status, code, () => table.submitTransaction(actions));
    assert.match(error.message, new RegExp(`"${index}:|^${index}:`), error.message);
    assert.deepEqual(await rows(table), before);
  }
});

test("the first operation fails too", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(entity("1"));
  const actions = [["create", entity("1")], ["create", entity("2")]];
  await refused(409, "EntityAlreadyExists", () => table.submitTransaction(actions));
  assert.equal((await rows(table)).length, 1);
});

test("another partition is refused", async (t) => {
  const table = await freshTable(t);
  const actions = [["create", entity("1")], ["create", { partitionKey: "q", rowKey: "1" }]];
  await assert.rejects(() => table.submitTransaction(actions), /partition/i);
});

test("a hundred operations are taken and more are not", async (t) => {
  const table = await freshTable(t);
  const actions = Array.from({ length: 101 }, (_, n) => ["upsert", entity(String(n))]);
  assert.equal((await table.submitTransaction(actions.slice(1))).subResponses.length, 100);
  await refused(400, "InvalidInput", () => table.submitTransaction(actions));
});
