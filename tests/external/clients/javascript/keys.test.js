// Keys with unusual characters, and their limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { odata } from "@azure/data-tables";
import { all, COSMOS, freshTable, own, rejected, SKIP_ON_COSMOS } from "./clients.js";

// prettier-ignore
const UNUSUAL = [
  "a b", " a ", "O'Brien", "''", "a+b&c=d", "50%", "%27", "%2F", "(1)", "a,b", "ключ", "\u4e2d", "\u{1F600}", "é",
  ";:@$!*~", "\"<>[]{}|^`", "-._", "\u00a0", "PartitionKey='p'",
];

test("unusual keys are addressed", async (t) => {
  const table = await freshTable(t);
  for (const key of UNUSUAL) {
    const entity = { partitionKey: key, rowKey: key, a: 1 };
    const { etag } = await table.createEntity(entity);
    assert.deepEqual(own(await table.getEntity(key, key)), entity);
    await table.updateEntity({ ...entity, a: 2 }, "Replace", { etag });
    const filter = odata`PartitionKey eq ${key} and RowKey eq ${key}`;
    const found = await all(table.listEntities({ queryOptions: { filter } }));
    assert.deepEqual(found.map(own), [{ ...entity, a: 2 }]);
    await table.deleteEntity(key, key);
    await rejected(404, "ResourceNotFound", () => table.getEntity(key, key));
  }
});

test("unusual keys are addressed in transactions", async (t) => {
  const table = await freshTable(t);
  for (const key of UNUSUAL) {
    const keys = { partitionKey: key, rowKey: key };
    await table.submitTransaction([["create", { ...keys, a: 1 }]]);
    await table.submitTransaction([["update", { ...keys, b: 2 }, "Merge"]]);
    assert.deepEqual(own(await table.getEntity(key, key)), { ...keys, a: 1, b: 2 });
    await table.submitTransaction([["delete", keys]]);
    await rejected(404, "ResourceNotFound", () => table.getEntity(key, key));
  }
});

test("pages continue at unusual keys", async (t) => {
  const table = await freshTable(t);
  for (const key of UNUSUAL) await table.createEntity({ partitionKey: key, rowKey: key });
  const pages = await all(table.listEntities().byPage({ maxPageSize: 1 }));
  assert.ok(pages.every((page) => page.length <= 1));
  assert.deepEqual(pages.flat().map((row) => row.rowKey).sort(), [...UNUSUAL].sort());
});

test("empty keys exist on Storage alone", async (t) => {
  const table = await freshTable(t);
  const entity = { partitionKey: "", rowKey: "", a: 1 };
  if (COSMOS) {
    await rejected(400, "PropertiesNeedValue", () => table.createEntity(entity));
  } else {
    await table.createEntity(entity);
    assert.deepEqual(own(await table.getEntity("", "")), entity);
    await table.deleteEntity("", "");
    assert.deepEqual(await all(table.listEntities()), []);
  }
});

test("missing keys are rejected", async (t) => {
  const table = await freshTable(t);
  await rejected(400, "PropertiesNeedValue", () => table.createEntity({ partitionKey: "p" }));
  await rejected(400, "PropertiesNeedValue", () => table.createEntity({ rowKey: "r" }));
});

test("forbidden characters and lengths are rejected", SKIP_ON_COSMOS("no recording shows such keys"), async (t) => {
  const table = await freshTable(t);
  for (const rowKey of ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u0080b"]) {
    await rejected(400, "OutOfRangeInput", () => table.createEntity({ partitionKey: "p", rowKey }));
  }
  const create = (length) => table.createEntity({ partitionKey: "p", rowKey: "x".repeat(length) });
  await rejected(400, "PropertyValueTooLarge", () => create(1_025));
  await create(1_024);
});
