// Each type of a property, with its extremes, both ways.

import assert from "node:assert/strict";
import { test } from "node:test";
import { freshTable, rejected, SKIP_ON_COSMOS } from "./clients.js";

const KEYS = { partitionKey: "p", rowKey: "r" };
const VALUES = {
  text: 'text \u00e9\u4e2d\u{1F600} "quoted" \\ \n\t\'',
  empty: "",
  yes: true,
  no: false,
  int32Least: -2_147_483_648,
  int32Greatest: 2_147_483_647,
  int64Least: -9_223_372_036_854_775_808n,
  int64Greatest: 9_223_372_036_854_775_807n,
  double: 0.1,
  doubleLeast: Number.MIN_VALUE,
  doubleGreatest: Number.MAX_VALUE,
  dateTime: new Date("2026-01-02T03:04:05.678Z"),
  earliest: new Date("1601-01-01T00:00:00.000Z"),
  latest: new Date("9999-12-31T23:59:59.999Z"),
  binary: Uint8Array.from({ length: 256 }, (_, n) => n),
  noBytes: new Uint8Array(),
  guid: { type: "Guid", value: "d3365292-0f33-4e13-9ec6-2ea5053c32ad" },
};

function same(read) {
  for (const [name, value] of Object.entries(VALUES)) {
    assert.deepEqual(value instanceof Uint8Array ? new Uint8Array(read[name]) : read[name], value, name);
  }
}

test("every type is read as it was written", async (t) => {
  const table = await freshTable(t);
  await table.createEntity({ ...KEYS, ...VALUES });
  same(await table.getEntity("p", "r"));
  for await (const row of table.listEntities()) same(row);
});

test("every type is merged and replaced", async (t) => {
  const table = await freshTable(t);
  for (const mode of ["Merge", "Replace"]) {
    await table.upsertEntity({ ...KEYS, text: 1, int32Least: "text" });
    await table.upsertEntity({ ...KEYS, ...VALUES }, mode);
    same(await table.getEntity("p", "r"));
  }
});

test("types are named where they are not converted", async (t) => {
  const table = await freshTable(t);
  await table.createEntity({ ...KEYS, ...VALUES });
  const read = await table.getEntity("p", "r", { disableTypeConversion: true });
  assert.deepEqual(read.int32Least, { value: "-2147483648", type: "Int32" });
  assert.deepEqual(read.int64Least, { value: "-9223372036854775808", type: "Int64" });
  assert.deepEqual([read.dateTime.type, read.binary.type, read.guid.type], ["DateTime", "Binary", "Guid"]);
});

test("typed values are stored with their type", async (t) => {
  const table = await freshTable(t);
  await table.createEntity({
    ...KEYS,
    whole: { type: "Double", value: "5" },
    infinity: { type: "Double", value: "Infinity" },
    notANumber: { type: "Double", value: "NaN" },
    small: { type: "Int64", value: "5" },
    precise: { type: "DateTime", value: "2026-01-02T03:04:05.1234567Z" },
    text: { type: "String", value: "5" },
  });
  const read = await table.getEntity("p", "r");
  assert.deepEqual([read.whole, read.small, read.text], [5, 5n, "5"]);
  assert.deepEqual([Number(read.infinity), Number(read.notANumber)], [Infinity, NaN]);
  const typed = await table.getEntity("p", "r", { disableTypeConversion: true });
  assert.deepEqual(typed.precise, { type: "DateTime", value: "2026-01-02T03:04:05.1234567Z" });
});

test("values that are not of their type are rejected", async (t) => {
  const table = await freshTable(t);
  for (const value of [{ type: "Int64", value: "9223372036854775808" }, { type: "Int64", value: "x" }]) {
    await rejected(400, "InvalidInput", () => table.createEntity({ ...KEYS, value }));
  }
});

test("dates before 1601 are rejected", SKIP_ON_COSMOS("no recording shows such dates"), async (t) => {
  const table = await freshTable(t);
  const value = new Date("1600-12-31T00:00:00Z");
  await rejected(400, "OutOfRangeInput", () => table.createEntity({ ...KEYS, value }));
});
