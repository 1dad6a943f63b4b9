// Shared access signatures and stored access policies.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AzureSASCredential, generateTableSas, TableClient, TableServiceClient } from "@azure/data-tables";
import {
  accountSas,
  all,
  COSMOS,
  ENDPOINT,
  freshName,
  freshTable,
  fromNow,
  inAnHour,
  insert,
  KEY,
  OPTIONS,
  rejected,
  SKIP_ON_COSMOS,
  withKey,
} from "./clients.js";

const NOT_PERMITTED = COSMOS ? "Forbidden" : "AuthorizationPermissionMismatch";
const NO_POLICIES = SKIP_ON_COSMOS("it has no stored access policies");

function withSas(table, sas, name = table.tableName) {
  return new TableClient(ENDPOINT, name, new AzureSASCredential(sas), OPTIONS);
}

test("a signature allows its permissions", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const sas = (options) => generateTableSas(table.tableName, KEY, { expiresOn: inAnHour(), ...options });
  const reader = withSas(table, sas({ permissions: { query: true } }));
  assert.equal((await all(reader.listEntities())).length, 2);
  const entity = { partitionKey: "p", rowKey: "new" };
  await rejected(403, NOT_PERMITTED, () => reader.createEntity(entity));
  const writer = withSas(table, sas({ permissions: { add: true, update: true } }));
  await writer.upsertEntity(entity);
  await rejected(403, NOT_PERMITTED, () => all(writer.listEntities()));
  await rejected(403, NOT_PERMITTED, () => writer.deleteEntity("p", "new"));
});

test("a range of keys limits the rows on Storage alone", async (t) => {
  const table = await freshTable(t);
  await insert(table, 3);
  const sas = generateTableSas(table.tableName, KEY, {
    permissions: { query: true },
    expiresOn: inAnHour(),
    startPartitionKey: "p",
    startRowKey: "001",
    endPartitionKey: "p",
    endRowKey: "001",
  });
  const one = withSas(table, sas);
  if (COSMOS) {
    await rejected(405, "MethodNotAllowed", () => all(one.listEntities()));
  } else {
    assert.deepEqual((await all(one.listEntities())).map((row) => row.rowKey), ["001"]);
    await rejected(404, "ResourceNotFound", () => one.getEntity("p", "000"));
  }
});

test("expired and other signatures are rejected", async (t) => {
  const table = await freshTable(t);
  const other = await freshTable(t);
  const permissions = { query: true };
  const expired = generateTableSas(table.tableName, KEY, { permissions, expiresOn: fromNow(-60_000) });
  const valid = generateTableSas(table.tableName, KEY, { permissions, expiresOn: inAnHour() });
  for (const client of [withSas(table, expired), withSas(table, valid, other.tableName)]) {
    await assert.rejects(() => all(client.listEntities()), { statusCode: 403 });
  }
});

test("a signature allows transactions", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const permissions = { query: true, add: true, update: true, delete: true };
  const client = withSas(table, generateTableSas(table.tableName, KEY, { permissions, expiresOn: inAnHour() }));
  await client.submitTransaction([
    ["delete", { partitionKey: "p", rowKey: "000" }],
    ["create", { partitionKey: "p", rowKey: "002" }],
  ]);
  assert.deepEqual((await all(client.listEntities())).map((row) => row.rowKey), ["001", "002"]);
});

test("a signature of the account allows its permissions", async (t) => {
  const table = await freshTable(t);
  await insert(table, 2);
  const sas = accountSas({ permissions: { list: true, query: true }, resourceTypes: "so" });
  assert.equal((await all(withSas(table, sas).listEntities())).length, 2);
  const service = new TableServiceClient(ENDPOINT, new AzureSASCredential(sas), OPTIONS);
  await assert.rejects(() => service.createTable(freshName()), { statusCode: 403 });
});

test("policies are set and read, and grant and revoke access", NO_POLICIES, async (t) => {
  const table = withKey(await freshTable(t));
  await insert(table, 2);
  assert.equal((await table.getAccessPolicy()).length, 0);
  const client = withSas(table, generateTableSas(table.tableName, KEY, { identifier: "readers" }));
  await rejected(403, "AuthenticationFailed", () => all(client.listEntities()));

  const accessPolicy = { start: fromNow(-3_600_000), expiry: inAnHour(), permission: "r" };
  await table.setAccessPolicy([{ id: "readers", accessPolicy }]);
  const [policy] = await table.getAccessPolicy();
  assert.equal(policy.id, "readers");
  assert.equal(policy.accessPolicy.permission, "r");
  // The client sends whole seconds.
  assert.equal(policy.accessPolicy.expiry.getTime(), accessPolicy.expiry.setMilliseconds(0));
  assert.equal((await all(client.listEntities())).length, 2);

  await table.setAccessPolicy([]);
  await rejected(403, "AuthenticationFailed", () => all(client.listEntities()));
});

test("six policies are too many", NO_POLICIES, async (t) => {
  const table = withKey(await freshTable(t));
  const policies = Array.from({ length: 6 }, (_, n) => ({
    id: String(n),
    accessPolicy: { expiry: inAnHour(), permission: "r" },
  }));
  await rejected(400, "InvalidXmlDocument", () => table.setAccessPolicy(policies));
});

test("Cosmos DB rejects calls about policies", { skip: !COSMOS && "Storage has them" }, async (t) => {
  const table = withKey(await freshTable(t));
  await rejected(405, "MethodNotAllowed", () => table.getAccessPolicy());
  await rejected(405, "MethodNotAllowed", () => table.setAccessPolicy([]));
});

test("a connection string may have a signature", async (t) => {
  const table = await freshTable(t);
  const sas = generateTableSas(table.tableName, KEY, { permissions: { query: true }, expiresOn: inAnHour() });
  const connection = `TableEndpoint=${ENDPOINT};SharedAccessSignature=${sas}`;
  const client = TableClient.fromConnectionString(connection, table.tableName, OPTIONS);
  assert.deepEqual(await all(client.listEntities()), []);
});
