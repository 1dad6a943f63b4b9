// Credentials, and the service that the client takes the endpoint for.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateTableSas,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";
import {
  ACCOUNT,
  accountSas,
  all,
  CONNECTION_STRING,
  COSMOS,
  CREDENTIAL,
  ENDPOINT,
  ENDPOINT_WITHOUT_ACCOUNT,
  freshTable,
  inAnHour,
  KEY,
  OPTIONS,
  rejected,
  Token,
} from "./clients.js";

const finds = async (service, table) =>
  assert.ok((await all(service.listTables())).some(({ name }) => name === table.tableName));

test("a connection string has the key", async (t) => {
  await finds(TableServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS), await freshTable(t));
});

test("a wrong key is rejected", async () => {
  const wrong = new AzureNamedKeyCredential(ACCOUNT.name, `AAAA${ACCOUNT.key.slice(4)}`);
  const service = new TableServiceClient(ENDPOINT, wrong, OPTIONS);
  await rejected(403, COSMOS ? "Forbidden" : "AuthenticationFailed", () => all(service.listTables()));
});

test("a changed key is used", async (t) => {
  const key = new AzureNamedKeyCredential(ACCOUNT.name, `AAAA${ACCOUNT.key.slice(4)}`);
  const service = new TableServiceClient(ENDPOINT, key, OPTIONS);
  key.update(ACCOUNT.name, ACCOUNT.key);
  await finds(service, await freshTable(t));
});

test("the URL may have a signature", async (t) => {
  await finds(new TableServiceClient(`${ENDPOINT}?${accountSas()}`, OPTIONS), await freshTable(t));
});

test("the endpoint may omit the account", async (t) => {
  const { tableName } = await freshTable(t);
  const table = new TableClient(ENDPOINT_WITHOUT_ACCOUNT, tableName, KEY, OPTIONS);
  await table.submitTransaction(["a", "b"].map((rowKey) => ["create", { partitionKey: "p", rowKey }]));
  await table.upsertEntity({ partitionKey: "p", rowKey: "a", n: 1 });
  const sas = generateTableSas(tableName, KEY, { permissions: { query: true }, expiresOn: inAnHour() });
  const reader = new TableClient(ENDPOINT_WITHOUT_ACCOUNT, tableName, new AzureSASCredential(sas), OPTIONS);
  const found = await all(reader.listEntities({ queryOptions: { filter: "n eq 1" } }));
  assert.deepEqual(found.map((row) => row.rowKey), ["a"]);
});

test("merges are tunnelled to Cosmos DB alone", async (t) => {
  const table = await freshTable(t);
  let method;
  const onResponse = (response) => (method = response.request.method);
  await table.upsertEntity({ partitionKey: "p", rowKey: "r" }, "Merge", { onResponse });
  assert.equal(method, COSMOS ? "POST" : "PATCH");
});

test("a token is requested for the service", { skip: CREDENTIAL !== "token" && "this run has no token" }, async (t) => {
  const token = new Token();
  await finds(new TableServiceClient(ENDPOINT, token, OPTIONS), await freshTable(t));
  assert.deepEqual(token.scopes.flat(), [`https://${COSMOS ? "cosmos" : "storage"}.azure.com/.default`]);
});
