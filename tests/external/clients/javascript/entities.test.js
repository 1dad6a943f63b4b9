// One entity: writes, their conditions, limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { COSMOS, freshTable, own, rejected, SKIP_ON_COSMOS } from "./clients.js";

const KEYS = { partitionKey: "p", rowKey: "r" };
const ENTITY = { ...KEYS, a: 1, b: "b" };
const get = async (table) => own(await table.getEntity("p", "r"));

test("an insert is read back with its ETag", async (t) => {
  const table = await freshTable(t);
  const { etag } = await table.createEntity(ENTITY);
  const read = await table.getEntity("p", "r");
  assert.deepEqual(own(read), ENTITY);
  assert.equal(read.etag, etag);
  assert.ok(Date.parse(read.timestamp) > 0);
  await rejected(409, "EntityAlreadyExists", () => table.createEntity(ENTITY));
});

test("a merge keeps properties and a replace removes them", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(ENTITY);
  await table.updateEntity({ ...KEYS, c: true }, "Merge");
  assert.deepEqual(await get(table), { ...ENTITY, c: true });
  await table.updateEntity({ ...KEYS, d: 4 }, "Replace");
  assert.deepEqual(await get(table), { ...KEYS, d: 4 });
});

test("updates need the entity and upserts do not", async (t) => {
  const table = await freshTable(t);
  for (const mode of ["Merge", "Replace"]) {
    await rejected(404, "ResourceNotFound", () => table.updateEntity(ENTITY, mode));
  }
  await table.upsertEntity(ENTITY, "Merge");
  await table.upsertEntity({ ...KEYS, a: 2 }, "Merge");
  assert.deepEqual(await get(table), { ...ENTITY, a: 2 });
  await table.upsertEntity(KEYS, "Replace");
  assert.deepEqual(await get(table), KEYS);
  await table.upsertEntity({ ...ENTITY, rowKey: "new" }, "Replace");
  assert.deepEqual(own(await table.getEntity("p", "new")), { ...ENTITY, rowKey: "new" });
});

test("a stale ETag is rejected", async (t) => {
  const table = await freshTable(t);
  const { etag: first } = await table.createEntity(ENTITY);
  const { etag: second } = await table.updateEntity(ENTITY, "Replace", { etag: first });
  assert.notEqual(first, second);
  const code = "UpdateConditionNotSatisfied";
  await rejected(412, code, () => table.updateEntity(ENTITY, "Merge", { etag: first }));
  await rejected(412, code, () => table.updateEntity(ENTITY, "Replace", { etag: first }));
  await rejected(412, code, () => table.deleteEntity("p", "r", { etag: first }));
  const { etag: third } = await table.updateEntity(ENTITY, "Merge", { etag: "*" });
  await table.deleteEntity("p", "r", { etag: third });
  await rejected(404, "ResourceNotFound", () => table.getEntity("p", "r"));
  await rejected(404, "ResourceNotFound", () => table.deleteEntity("p", "r"));
});

test("null and undefined are no properties", async (t) => {
  const table = await freshTable(t);
  await table.createEntity({ ...KEYS, a: null, b: undefined });
  assert.deepEqual(await get(table), KEYS);
  await table.upsertEntity(ENTITY);
  await table.updateEntity({ ...KEYS, a: null }, "Merge");
  assert.deepEqual(await get(table), ENTITY);
});

test("a selection has its properties alone", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(ENTITY);
  const read = await table.getEntity("p", "r", { queryOptions: { select: ["b", "rowKey"] } });
  assert.deepEqual(own(read), { rowKey: "r", b: "b" });
});

test("limits are reported by name", SKIP_ON_COSMOS("no recording shows its limits"), async (t) => {
  const table = await freshTable(t);
  const many = Object.fromEntries(Array.from({ length: 253 }, (_, n) => [`P${n}`, n]));
  const large = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`P${n}`, new Uint8Array(65_536)]));
  for (const [status, code, properties] of [
    [400, "PropertyValueTooLarge", { a: "x".repeat(32_769) }],
    [400, "TooManyProperties", many],
    [400, "EntityTooLarge", large],
    [400, "PropertyNameInvalid", { "a b": 1 }],
    [400, "PropertyNameTooLong", { ["a".repeat(256)]: 1 }],
    [413, "RequestBodyTooLarge", { a: "x".repeat(5 << 20) }],
  ]) {
    await rejected(status, code, () => table.createEntity({ ...KEYS, ...properties }));
  }
});

test("large values are stored", async (t) => {
  const table = await freshTable(t);
  const text = "\u00e9".repeat(COSMOS ? 100_000 : 32_768);
  await table.createEntity({ ...KEYS, text, bytes: new Uint8Array(65_536) });
  const read = await table.getEntity("p", "r");
  assert.equal(read.text, text);
  assert.equal(read.bytes.length, 65_536);
});
