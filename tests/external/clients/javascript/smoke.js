// Shared code of the suites of the official JavaScript client: the account of the environment, and new tables.
// `tests/external/clients/run` sets the environment and starts them.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { TableClient, TableServiceClient } from "@azure/data-tables";

export const CONNECTION_STRING = process.env.AZURE_TABLE_TEST_CLIENTS;
assert.ok(CONNECTION_STRING, "AZURE_TABLE_TEST_CLIENTS is not set: start the suite with tests/external/clients/run");

export const OPTIONS = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

/** A part of the connection string. */
export function setting(name) {
  const part = CONNECTION_STRING.split(";").find((part) => part.startsWith(`${name}=`));
  return part.slice(name.length + 1);
}

export function service() {
  return TableServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS);
}

export function freshName() {
  return `j${randomUUID().replaceAll("-", "")}`;
}

/** A table that is gone when the test is over. */
export async function freshTable(test) {
  const table = TableClient.fromConnectionString(CONNECTION_STRING, freshName(), OPTIONS);
  await table.createTable();
  test.after(() => table.deleteTable());
  return table;
}

export async function insert(table, count, partitionKey = "p") {
  for (let n = 0; n < count; n++) {
    await table.createEntity({ partitionKey, rowKey: String(n).padStart(3, "0"), n });
  }
}

export async function all(pages) {
  const found = [];
  for await (const item of pages) found.push(item);
  return found;
}

/** An entity's own properties: what an answer says besides is left out. */
export function own(entity) {
  const names = Object.keys(entity).filter((name) => !name.startsWith("odata.") && !["etag", "timestamp"].includes(name));
  return Object.fromEntries(names.map((name) => [name, entity[name]]));
}

/** The call fails with this status and this code of the service; gives the error. */
export async function refused(status, code, call) {
  const error = await call().then(
    () => assert.fail(`it was not refused with ${code}`),
    (error) => error,
  );
  // The code of a response in JSON, in XML, or of an operation in a batch.
  const found = error.details?.odataError?.code ?? error.details?.errorCode ?? error.code;
  assert.deepEqual([error.statusCode, found], [status, code], error.message);
  return error;
}
