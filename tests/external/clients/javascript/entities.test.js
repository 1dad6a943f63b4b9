// One entity: writes and their conditions, types, keys.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { freshTable, own, refused } from "./smoke.js";

const ENTITY = { partitionKey: "p", rowKey: "r", a: 1, b: "b" };

test("an insert is read back with its version", async (t) => {
  const table = await freshTable(t);
  const { etag } = await table.createEntity(ENTITY);
  const read = await table.getEntity("p", "r");
  assert.deepEqual(own(read), ENTITY);
  assert.equal(read.etag, etag);
  assert.ok(Date.parse(read.timestamp) > 0);
  await refused(409, "EntityAlreadyExists", () => table.createEntity(ENTITY));
});

test("a merge keeps and a replace takes away", async (t) => {
  const table = await freshTable(t);
  await table.createEntity(ENTITY);
  await table.updateEntity({ partitionKey: "p", rowKey: "r", c: true }, "Merge");
  assert.deepEqual(own(await table.getEntity("p", "r")), { ...ENTITY, c: true });
  await table.updateEntity({ partitionKey: "p", rowKey: "r", d: 4 }, "Replace");
  assert.deepEqual(own(await table.getEntity("p", "r")), { partitionKey: "p", rowKey: "r", d: 4 });
});

test("updates need the entity and upserts do not", async (t) => {
  const table = await freshTable(t);
  for (const mode of ["Merge", "Replace"]) {
    await refused(404, "ResourceNotFound", () => table.updateEntity(ENTITY, mode));
  }
  await table.upsertEntity(ENTITY, "Merge");
  await table.upsertEntity({ partitionKey: "p", rowKey: "r", a: 2 }, "Merge");
  assert.deepEqual(own(await table.getEntity("p", "r")), { ...ENTITY, a: 2 });
  await table.upsertEntity({ partitionKey: "p", rowKey: "r" }, "Replace");
  assert.deepEqual(own(await table.getEntity("p", "r")), { partitionKey: "p", rowKey: "r" });
});

test("a stale version is refused", async (t) => {
  const table = await freshTable(t);
  const { etag: first } = await table.createEntity(ENTITY);
  const { etag: second } = await table.updateEntity(ENTITY, "Replace", { etag: first });
  assert.notEqual(first, second);
  const code = "UpdateConditionNotSatisfied";
  await refused(412, code, () => table.updateEntity(ENTITY, "Merge", { etag: first }));
  await refused(412, code, () => table.deleteEntity("p", "r", { etag: first }));
  await table.deleteEntity("p", "r", { etag: second });
  await refused(404, "ResourceNotFound", () => table.getEntity("p", "r"));
  await refused(404, "ResourceNotFound", () => table.deleteEntity("p", "r"));
});

test("every type survives", async (t) => {
  const table = await freshTable(t);
  const values = {
    string: 'text \u00e9\u4e2d\u{1F600} "quoted" \\ \n',
    empty: "",
    yes: true,
    no: false,
    int32: -2_147_483_648,
    int64: -9_223_372_036_854_775_808n,
    double: 0.1,
    large: Number.MAX_VALUE,
    dateTime: new Date("2026-01-02T03:04:05.678Z"),
    binary: new Uint8Array(randomBytes(100)),
  };
  const id = randomUUID();
  const guid = { type: "Guid", value: id };
  const whole = { type: "Double", value: "5" };
  await table.createEntity({ partitionKey: "p", rowKey: "r", ...values, guid, whole });
  const read = await table.getEntity("p", "r");
  for (const [name, value] of Object.entries(values)) {
    assert.deepEqual(name === "binary" ? new Uint8Array(read[name]) : read[name], value, name);
  }
  assert.deepEqual(read.guid, guid);
  assert.equal(read.whole, 5);
  const typed = await table.getEntity("p", "r", { disableTypeConversion: true });
  assert.deepEqual(typed.int32, { value: "-2147483648", type: "Int32" });
  assert.deepEqual(typed.int64, { value: "-9223372036854775808", type: "Int64" });
  assert.equal(typed.dateTime.type, "DateTime");
});

test("nothing is no property", async (t) => {
  const table = await freshTable(t);
  await table.createEntity({ partitionKey: "p", rowKey: "r", a: null, b: undefined });
  assert.deepEqual(own(await table.getEntity("p", "r")), { partitionKey: "p", rowKey: "r" });
});

test("limits are refused by name", async (t) => {
  const table = await freshTable(t);
  const key = { partitionKey: "p", rowKey: "r" };
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
    await refused(status, code, () => table.createEntity({ ...key, ...properties }));
  }
  await table.createEntity({ ...key, a: "\u00e9".repeat(32_768) });
});

test("odd keys are addressed", async (t) => {
  const table = await freshTable(t);
  const odd = ["", "a b", "O'Brien", "''", "a+b&c=d", "50%", "%27", "(1)", "a,b", "ключ", "\u4e2d", "\u{1F600}", ";:@$!*~"];
  for (const key of odd) {
    const entity = { partitionKey: key, rowKey: key, a: 1 };
    const { etag } = await table.createEntity(entity);
    assert.deepEqual(own(await table.getEntity(key, key)), entity);
    await table.updateEntity({ ...entity, a: 2 }, "Replace", { etag });
    await table.deleteEntity(key, key);
    await refused(404, "ResourceNotFound", () => table.getEntity(key, key));
  }
});

test("forbidden characters in keys are refused", async (t) => {
  const table = await freshTable(t);
  for (const key of ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u0080b"]) {
    await refused(400, "OutOfRangeInput", () => table.createEntity({ partitionKey: "p", rowKey: key }));
  }
});
