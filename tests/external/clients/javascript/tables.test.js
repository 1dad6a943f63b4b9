// Tables and their names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { odata } from "@azure/data-tables";
import { all, COSMOS, freshName, freshTable, rejected, service, tableClient } from "./clients.js";

const names = async () => (await all(service().listTables())).map((table) => table.name);

test("a table is created once and listed", async (t) => {
  const { tableName } = await freshTable(t);
  assert.ok((await names()).includes(tableName));
  // This client reports an existing table as created.
  await service().createTable(tableName);
  assert.equal((await names()).filter((name) => name === tableName).length, 1);
});

test("the case of names matters on Cosmos DB alone", async (t) => {
  const { tableName } = await freshTable(t);
  const capitals = tableName.toUpperCase();
  await service().createTable(capitals);
  assert.equal((await names()).includes(capitals), COSMOS);
  if (COSMOS) await service().deleteTable(capitals);
});

test("tables are queried by name", async (t) => {
  const { tableName } = await freshTable(t);
  const queryOptions = { filter: odata`TableName eq ${tableName}` };
  const found = await all(service().listTables({ queryOptions }));
  assert.deepEqual(found.map((table) => table.name), [tableName]);
});

test("tables are listed page by page", async (t) => {
  const created = [];
  for (let n = 0; n < 5; n++) created.push((await freshTable(t)).tableName);
  const listed = [];
  for await (const page of service().listTables().byPage({ maxPageSize: 2 })) {
    assert.ok(page.length <= 2);
    listed.push(...page.map((table) => table.name));
  }
  assert.equal(new Set(listed).size, listed.length);
  assert.ok(created.every((name) => listed.includes(name)));
});

test("a list of tables continues from its token", async (t) => {
  for (let n = 0; n < 3; n++) await freshTable(t);
  const first = await service().listTables().byPage({ maxPageSize: 1 }).next();
  const { continuationToken } = first.value;
  const [second] = await all(service().listTables().byPage({ maxPageSize: 1, continuationToken }));
  assert.equal(second.length, 1);
  assert.notEqual(second[0].name, first.value[0].name);
});

test("a deleted table is not found", async () => {
  const table = tableClient(freshName());
  await table.createTable();
  await table.deleteTable();
  assert.ok(!(await names()).includes(table.tableName));
  const code = COSMOS ? "ResourceNotFound" : "TableNotFound";
  await rejected(404, code, () => table.createEntity({ partitionKey: "p", rowKey: "r" }));
  await rejected(404, code, () => all(table.listEntities()));
  // This client reports the delete of a missing table as done.
  await table.deleteTable();
});

test("invalid names are rejected", async () => {
  const onStorage = [
    ["1a2", "InvalidResourceName"],
    ["a-b", "InvalidResourceName"],
    ["ab", "OutOfRangeInput"],
    ["x".repeat(64), "OutOfRangeInput"],
    ["tables", "InvalidInput"],
  ];
  const onCosmos = ["a\\", "a#", "a?"].map((name) => [name, "InvalidInput"]);
  for (const [name, code] of COSMOS ? onCosmos : onStorage) {
    await rejected(400, code, () => service().createTable(name));
  }
});

test("Cosmos DB accepts names that Storage rejects", async () => {
  for (const start of ["my_", "啊齄丂狛狜"]) {
    const table = tableClient(start + freshName());
    if (COSMOS) {
      await table.createTable();
      await table.createEntity({ partitionKey: "p", rowKey: "r" });
      await table.deleteTable();
    } else {
      await rejected(400, "InvalidResourceName", () => table.createTable());
    }
  }
});
