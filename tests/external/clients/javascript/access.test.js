// Shared access signatures and stored access policies.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  generateTableSas,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";
import { all, freshName, freshTable, insert, OPTIONS, refused, setting } from "./smoke.js";

const ENDPOINT = setting("TableEndpoint");
const KEY = new AzureNamedKeyCredential(setting("AccountName"), setting("AccountKey"));
const HOUR = 3_600_000;
const fromNow = (milliseconds) => new Date(Date.now() + milliseconds);

function withSas(table, sas, name = table.tableName) {
  return new TableClient(ENDPOINT, name, new AzureSASCredential(sas), OPTIONS);
}

test("a signature allows what it says", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const sas = (options) => generateTableSas(table.tableName, KEY, { expiresOn: fromNow(HOUR), ...options });
  const reader = withSas(table, sas({ permissions: { query: true } }));
  assert.equal((await all(reader.listEntities())).length, 2);
  const entity = { partitionKey: "p", rowKey: "new" };
  await refused(403, "AuthorizationPermissionMismatch", () => reader.createEntity(entity));
  const writer = withSas(table, sas({ permissions: { add: true, update: true } }));
  await writer.upsertEntity(entity);
  await refused(403, "AuthorizationPermissionMismatch", () => all(writer.listEntities()));
});

test("a signature ends with its keys", async (t) => {
  const table = await freshTable(t);
  await insert(table, 3);
  const sas = generateTableSas(table.tableName, KEY, {
    permissions: { query: true },
    expiresOn: fromNow(HOUR),
    startPartitionKey: "p",
    startRowKey: "001",
    endPartitionKey: "p",
    endRowKey: "001",
  });
  assert.deepEqual((await all(withSas(table, sas).listEntities())).map((row) => row.rowKey), ["001"]);
});

test("a worthless signature is refused", async (t) => {
  const table = await freshTable(t);
  const other = await freshTable(t);
  const permissions = { query: true };
  const expired = generateTableSas(table.tableName, KEY, { permissions, expiresOn: fromNow(-60_000) });
  await refused(403, "AuthenticationFailed", () => all(withSas(table, expired).listEntities()));
  const sas = generateTableSas(table.tableName, KEY, { permissions, expiresOn: fromNow(HOUR) });
  await assert.rejects(() => all(withSas(table, sas, other.tableName).listEntities()), { statusCode: 403 });
});

test("a signature allows transactions", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const permissions = { query: true, add: true, update: true, delete: true };
  const client = withSas(table, generateTableSas(table.tableName, KEY, { permissions, expiresOn: fromNow(HOUR) }));
  await client.submitTransaction([
    ["delete", { partitionKey: "p", rowKey: "000" }],
    ["create", { partitionKey: "p", rowKey: "002" }],
  ]);
  assert.deepEqual((await all(client.listEntities())).map((row) => row.rowKey), ["001", "002"]);
});

test("a signature of the account allows what it says", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const sas = generateAccountSas(KEY, {
    expiresOn: fromNow(HOUR),
    permissions: { list: true, query: true },
    resourceTypes: "so",
    services: { table: true },
  });
  assert.equal((await all(withSas(table, sas).listEntities())).length, 2);
  const service = new TableServiceClient(ENDPOINT, new AzureSASCredential(sas), OPTIONS);
  await refused(403, "AuthorizationResourceTypeMismatch", () => service.createTable(freshName()));
});

test("policies are set and read, and give and take rights", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  assert.equal((await table.getAccessPolicy()).length, 0);
  const client = withSas(table, generateTableSas(table.tableName, KEY, { identifier: "readers" }));
  await refused(403, "AuthenticationFailed", () => all(client.listEntities()));

  const accessPolicy = { start: fromNow(-HOUR), expiry: fromNow(HOUR), permission: "r" };
  await table.setAccessPolicy([{ id: "readers", accessPolicy }]);
  const [policy] = await table.getAccessPolicy();
  assert.equal(policy.id, "readers");
  assert.equal(policy.accessPolicy.permission, "r");
  // The client sends whole seconds.
  assert.equal(policy.accessPolicy.expiry.getTime(), accessPolicy.expiry.setMilliseconds(0));
  assert.equal((await all(client.listEntities())).length, 2);

  await table.setAccessPolicy([]);
  await refused(403, "AuthenticationFailed", () => all(client.listEntities()));
});

test("six policies are too many", async (t) => {
  const table = await freshTable(t);
  const policies = Array.from({ length: 6 }, (_, n) => ({
    id: String(n),
    accessPolicy: { expiry: fromNow(HOUR), permission: "r" },
  }));
  await refused(400, "InvalidXmlDocument", () => table.setAccessPolicy(policies));
});

test("a connection string may have a signature", async (t) => {
  const table = await freshTable(t);
  const sas = generateTableSas(table.tableName, KEY, { permissions: { query: true }, expiresOn: fromNow(HOUR) });
  const connection = `TableEndpoint=${ENDPOINT};SharedAccessSignature=${sas}`;
  const client = TableClient.fromConnectionString(connection, table.tableName, OPTIONS);
  assert.deepEqual(await all(client.listEntities()), []);
});
