// The clients of the suite, as the environment describes them: the usage of tests/external/clients/run explains it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";

function variable(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: start the suite with tests/external/clients/run`);
  return value;
}

export const CONNECTION_STRING = variable("AZURE_TABLE_TEST_CLIENTS");
export const COSMOS = variable("AZURE_TABLE_TEST_PROFILE") === "cosmos";
export const CREDENTIAL = variable("AZURE_TABLE_TEST_CREDENTIAL");
export const OPTIONS = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
export const SKIP_ON_COSMOS = (why) => ({ skip: COSMOS && why });

function setting(name) {
  const part = CONNECTION_STRING.split(";").find((part) => part.startsWith(`${name}=`));
  return part.slice(name.length + 1);
}

export const ENDPOINT = setting("TableEndpoint");
export const ACCOUNT = { name: setting("AccountName"), key: setting("AccountKey") };
// As live endpoints and those of Cosmos DB's own emulator are. A key or a signature tells the account.
export const ENDPOINT_WITHOUT_ACCOUNT = ENDPOINT.slice(0, -ACCOUNT.name.length);
export const KEY = new AzureNamedKeyCredential(ACCOUNT.name, ACCOUNT.key);

export const fromNow = (milliseconds) => new Date(Date.now() + milliseconds);
export const inAnHour = () => fromNow(3_600_000);

export function accountSas(options) {
  const permissions = { query: true, write: true, delete: true, list: true, add: true, create: true, update: true };
  return generateAccountSas(KEY, { permissions, expiresOn: inAnHour(), resourceTypes: "sco", ...options });
}

/** A credential with one token, in place of those of @azure/identity. */
export class Token {
  scopes = [];

  async getToken(scopes) {
    this.scopes.push(scopes);
    return { token: variable("AZURE_TABLE_TEST_TOKEN"), expiresOnTimestamp: inAnHour().getTime() };
  }
}

/** The credential of this run. */
export function credential() {
  const create = { key: () => KEY, sas: () => new AzureSASCredential(accountSas()), token: () => new Token() };
  return create[CREDENTIAL]();
}

export function service(options) {
  return new TableServiceClient(ENDPOINT, credential(), { ...OPTIONS, ...options });
}

export function tableClient(name, options) {
  return new TableClient(ENDPOINT, name, credential(), { ...OPTIONS, ...options });
}

/** The same table with the account's key, whatever the credential of this run is. */
export function withKey(table) {
  return TableClient.fromConnectionString(CONNECTION_STRING, table.tableName, OPTIONS);
}

export function freshName() {
  return `j${randomUUID().replaceAll("-", "")}`;
}

/** A table that is gone when the test is over. */
export async function freshTable(test) {
  const table = tableClient(freshName());
  await table.createTable();
  test.after(() => table.deleteTable());
  return table;
}

export async function insert(table, count, partitionKey = "p") {
  for (let n = 0; n < count; n++) {
    await table.createEntity({ partitionKey, rowKey: String(n).padStart(3, "0"), n });
  }
}

export async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/** An entity's own properties, without those of the response. */
export function own(entity) {
  const names = Object.keys(entity).filter((name) => !name.startsWith("odata.") && !["etag", "timestamp"].includes(name));
  return Object.fromEntries(names.map((name) => [name, entity[name]]));
}

/** The call fails with this status and this code of the service. Returns the error. */
export async function rejected(status, code, call) {
  const error = await call().then(
    () => assert.fail(`it was not rejected with ${code}`),
    (error) => error,
  );
  assert.deepEqual([error.statusCode, codeOf(error)], [status, code], error.message);
  return error;
}

/** The code of a response in JSON or XML, of an operation in a transaction, or of JSON where the client expects XML. */
function codeOf(error) {
  const found = error.details?.odataError?.code ?? error.details?.errorCode ?? error.code;
  return found ?? /"code":"(\w+)"/.exec(error.message)?.[1];
}
