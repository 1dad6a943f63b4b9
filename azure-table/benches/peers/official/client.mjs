// The official JavaScript client, @azure/data-tables: the same work by the same lines as `work/src/lib.rs` describes.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const installed = new URL("../../../../tests/external/clients/javascript/", import.meta.url);
const { AzureNamedKeyCredential, TableClient } = createRequire(installed)("@azure/data-tables");

const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
const PAGE = 1_000;
const BATCH = 100;
const IN_FLIGHT = 64;

function order(n) {
  return {
    partitionKey: `customer-${String(Math.floor(n / BATCH)).padStart(6, "0")}`,
    rowKey: String(n).padStart(10, "0"),
    Product: `Product number ${n}`,
    Note: "Leave it at the door, please",
    Quantity: n,
    Discount: 5,
    Cents: 1_234_567_890_123n + BigInt(n),
    Weight: BigInt(-n),
    Rating: { type: "Double", value: String(0.1 + n / 7) },
    Paid: n % 2 === 0,
    Ordered: new Date(1_700_000_000_123 + n),
    Id: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
  };
}

const [endpoint, count] = process.argv.slice(2);
const credential = new AzureNamedKeyCredential("acct", KEY);
const table = new TableClient(endpoint, "Things", credential, { allowInsecureConnection: true });
const orders = Array.from({ length: Number(count) }, (_, n) => order(n));

async function get({ partitionKey, rowKey }) {
  assert.equal((await table.getEntity(partitionKey, rowKey)).Discount, 5);
}

const operations = {
  async get(units) {
    for (const each of orders.slice(0, units)) await get(each);
  },
  async "get-in-flight"(units) {
    const rest = orders.slice(0, units).values();
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        for (const each of rest) await get(each);
      }),
    );
  },
  async insert(units) {
    for (const each of orders.slice(0, units)) await table.createEntity(each);
  },
  async merge(units) {
    for (const each of orders.slice(0, units)) await table.updateEntity(each);
  },
  async page(units) {
    let pages = units / PAGE;
    for await (const page of table.listEntities().byPage()) {
      for (const each of page) assert.equal(each.Discount, 5);
      if (--pages <= 0) break;
    }
  },
  async row(units) {
    for await (const each of table.listEntities()) {
      assert.equal(each.Discount, 5);
      if (--units <= 0) break;
    }
  },
  async batch(units) {
    for (let first = 0; first < units; first += BATCH) {
      await table.submitTransaction(orders.slice(first, first + BATCH).map((each) => ["create", each]));
    }
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [operation, units] = line.split(" ");
  if (!(operation in operations)) {
    console.log("none");
    continue;
  }
  const [cpu, elapsed] = [process.cpuUsage(), process.hrtime.bigint()];
  await operations[operation](Number(units));
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${(user + system) * 1000} ${process.hrtime.bigint() - elapsed}`);
}
