// Tables, their names, the service's properties.
//
// Statistics are left out: this client (13.3.2) finds the secondary only by its host name, which emulators do not have.

import assert from "node:assert/strict";
import { test } from "node:test";
import { odata, TableClient, TableServiceClient } from "@azure/data-tables";
import { all, CONNECTION_STRING, freshName, freshTable, OPTIONS, refused, service } from "./smoke.js";

test("a table is created once and listed", async (t) => {
  const table = await freshTable(t);
  const names = (await all(service().listTables())).map((table) => table.name);
  assert.ok(names.includes(table.tableName));
  // This client reports an existing table as created.
  await service().createTable(table.tableName);
  await service().createTable(table.tableName.toUpperCase());
});

test("tables are queried by name", async (t) => {
  const table = await freshTable(t);
  const queryOptions = { filter: odata`TableName eq ${table.tableName}` };
  const found = await all(service().listTables({ queryOptions }));
  assert.deepEqual(found.map((table) => table.name), [table.tableName]);
});

test("tables are listed page by page", async (t) => {
  const made = [];
  for (let n = 0; n < 5; n++) made.push((await freshTable(t)).tableName);
  const names = [];
  for await (const page of service().listTables().byPage({ maxPageSize: 2 })) {
    assert.ok(page.length <= 2);
    names.push(...page.map((table) => table.name));
  }
  assert.equal(new Set(names).size, names.length);
  assert.ok(made.every((name) => names.includes(name)));
});

test("a deleted table is not found", async () => {
  const table = TableClient.fromConnectionString(CONNECTION_STRING, freshName(), OPTIONS);
  await table.createTable();
  await table.deleteTable();
  await refused(404, "TableNotFound", () => table.createEntity({ partitionKey: "p", rowKey: "r" }));
  await refused(404, "TableNotFound", () => all(table.listEntities()));
  // This client reports the delete of a missing table as done.
  await table.deleteTable();
});

test("bad names are refused", async () => {
  for (const [name, code] of [
    ["1a2", "InvalidResourceName"],
    ["a-b", "InvalidResourceName"],
    ["ab", "OutOfRangeInput"],
    ["x".repeat(64), "OutOfRangeInput"],
    ["tables", "InvalidInput"],
  ]) {
    await refused(400, code, () => service().createTable(name));
  }
});

test("a wrong key is refused", async () => {
  const wrong = CONNECTION_STRING.replace("AccountKey=Eby8", "AccountKey=AAAA");
  const service = TableServiceClient.fromConnectionString(wrong, OPTIONS);
  await refused(403, "AuthenticationFailed", () => all(service.listTables()));
});

test("properties are set and read", async () => {
  const retentionPolicy = { enabled: true, days: 5 };
  await service().setProperties({
    logging: { version: "1.0", read: true, write: true, delete: false, retentionPolicy },
    hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy },
    cors: [
      {
        allowedOrigins: "https://contoso.com",
        allowedMethods: "GET,PUT",
        allowedHeaders: "x-ms-*",
        exposedHeaders: "x-ms-request-id",
        maxAgeInSeconds: 60,
      },
    ],
  });
  const properties = await service().getProperties();
  assert.deepEqual(properties.logging, { version: "1.0", read: true, write: true, delete: false, retentionPolicy });
  assert.deepEqual([properties.hourMetrics.enabled, properties.hourMetrics.includeAPIs], [true, true]);
  assert.equal(properties.cors.length, 1);
  assert.deepEqual([properties.cors[0].allowedMethods, properties.cors[0].maxAgeInSeconds], ["GET,PUT", 60]);
  // Properties that the call does not name stay.
  await service().setProperties({ cors: [] });
  assert.equal((await service().getProperties()).logging.read, true);
});
