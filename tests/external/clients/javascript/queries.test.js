// Many entities: filters, selections, pages.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { odata } from "@azure/data-tables";
import { all, freshTable, insert, own, refused } from "./smoke.js";

async function rows(table, filter) {
  return (await all(table.listEntities({ queryOptions: { filter } }))).map((row) => row.rowKey);
}

test("filters of every type select", async (t) => {
  const table = await freshTable(t);
  const id = randomUUID();
  const time = new Date("2026-01-02T03:04:05.678Z");
  await table.createEntity({
    partitionKey: "p",
    rowKey: "r",
    s: "O'Brien",
    t: true,
    i: 5,
    l: 5_000_000_000n,
    d: 0.5,
    w: time,
    g: { type: "Guid", value: id },
    b: new Uint8Array([1, 2]),
  });
  await table.createEntity({ partitionKey: "p", rowKey: "without" });
  for (const filter of [
    odata`s eq ${"O'Brien"}`,
    odata`t eq ${true}`,
    odata`i eq ${5}`,
    // The client's template (13.3.2) omits the L of an Int64, so the service reads an Int32.
    "l eq 5000000000L",
    odata`d eq ${0.5}`,
    odata`w eq ${time}`,
    `g eq guid'${id}'`,
    "b eq X'0102'",
    "b eq binary'0102'",
  ]) {
    assert.deepEqual(await rows(table, filter), ["r"], filter);
    assert.deepEqual(await rows(table, filter.replace(" eq ", " ne ")), [], filter);
  }
});

test("conditions are combined", async (t) => {
  const table = await freshTable(t);
  await insert(table, 5);
  for (const [filter, expected] of [
    ["n ge 1 and n lt 3", ["001", "002"]],
    ["n eq 0 or n gt 3", ["000", "004"]],
    ["not (n eq 1) and n le 2", ["000", "002"]],
    ["PartitionKey eq 'p' and RowKey gt '003'", ["004"]],
    ["PartitionKey eq 'q'", []],
    ["missing eq 1", []],
  ]) {
    assert.deepEqual(await rows(table, filter), expected, filter);
  }
});

test("a filter that is none is refused", async (t) => {
  const table = await freshTable(t);
  for (const filter of ["n eq", "n equals 1", "n eq 'x", "(n eq 1"]) {
    await refused(400, "InvalidInput", () => rows(table, filter));
  }
});

test("a selection has its properties alone", async (t) => {
  const table = await freshTable(t);
  await insert(table, 1);
  const [row] = await all(table.listEntities({ queryOptions: { select: ["n", "rowKey"] } }));
  assert.deepEqual(own(row), { n: 0, rowKey: "000" });
});

test("pages join without loss", async (t) => {
  const table = await freshTable(t);
  await insert(table, 7);
  await insert(table, 4, "q'é");
  const pages = [];
  for await (const page of table.listEntities().byPage({ maxPageSize: 3 })) pages.push(page);
  assert.deepEqual(pages.map((page) => page.length), [3, 3, 3, 2]);
  assert.equal(new Set(pages.flat().map((row) => `${row.partitionKey} ${row.rowKey}`)).size, 11);
});

test("a query goes on from its token", async (t) => {
  const table = await freshTable(t);
  await insert(table, 5);
  const query = () => table.listEntities({ queryOptions: { filter: "n ge 1" } });
  const first = await query().byPage({ maxPageSize: 2 }).next();
  assert.deepEqual(first.value.map((row) => row.n), [1, 2]);
  const rest = [];
  const { continuationToken } = first.value;
  for await (const page of query().byPage({ maxPageSize: 2, continuationToken })) rest.push(page.map((row) => row.n));
  assert.deepEqual(rest, [[3, 4]]);
});

test("a page has at most a thousand rows", async (t) => {
  const table = await freshTable(t);
  for (let start = 0; start < 1_100; start += 100) {
    const hundred = Array.from({ length: 100 }, (_, n) => String(start + n).padStart(5, "0"));
    await table.submitTransaction(hundred.map((rowKey) => ["create", { partitionKey: "p", rowKey }]));
  }
  const lengths = [];
  for await (const page of table.listEntities().byPage()) lengths.push(page.length);
  assert.deepEqual(lengths, [1_000, 100]);
});
