// The emulator's control port.

import assert from "node:assert/strict";

const CONTROL = process.env.AZURE_TABLE_TEST_CONTROL;

async function rules() {
  const lines = await (await fetch(`${CONTROL}/faults`)).text();
  return lines.trim().split("\n").filter(Boolean).map(JSON.parse);
}

/** Adds a fault to the requests of a table until the test ends. Returns a function for the requests that received it. */
export async function inject(test, { tableName }, rule) {
  const body = JSON.stringify({ table: tableName, ...rule });
  assert.ok((await fetch(`${CONTROL}/faults`, { method: "POST", body })).ok);
  const { id } = (await rules()).find((active) => active.table === tableName);
  test.after(() => fetch(`${CONTROL}/faults/${id}`, { method: "DELETE" }));
  return async () => (await rules()).find((active) => active.id === id).hits;
}
