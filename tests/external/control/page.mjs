// The page of the control port in a browser: what a person sees and clicks. Run by `tests/external/control/run`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { folder, run, start } from "../browser/browser.mjs";

const [program, browser, screenshots] = process.argv.slice(2);
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const TOKEN = "a-token-for-the-tests";

async function startEmulator(environment = {}) {
  const { line } = await start(program, ["--port", "0", "--control", "0", "--ready-json", "--quiet"], environment);
  return JSON.parse(line);
}

// Lists the tables as a client does, signed with the public key.
function listTables(port) {
  const date = new Date().toUTCString();
  const signature = createHmac("sha256", Buffer.from(KEY, "base64"))
    .update(`${date}\n/devstoreaccount1/devstoreaccount1/Tables`).digest("base64");
  return fetch(`http://127.0.0.1:${port}/devstoreaccount1/Tables`,
    { headers: { "x-ms-date": date, "x-ms-version": "2019-02-02", Authorization: `SharedKeyLite devstoreaccount1:${signature}` } });
}

async function seed(control, table, rows, headers = {}) {
  const body = rows.map(row => JSON.stringify(row)).join("\n");
  assert.equal((await fetch(`${control}/tables/${table}`, { method: "POST", body, headers })).status, 200);
}

async function showsTablesRequestsAndFaults(page) {
  const { control, port } = await startEmulator();
  const orders = Array.from({ length: 250 }, (_, n) => ({ PartitionKey: "2026-11", RowKey: String(n + 1000), Customer: "Contoso",
    "Total@odata.type": "Edm.Int64", Total: String(n * 17), Note: n ? "" : "<img src=x onerror=document.title=1>" }));
  await seed(control, "Orders", orders);
  await seed(control, "Customers", [{ PartitionKey: "c", RowKey: "Contoso", City: "Zürich" },
    { PartitionKey: "c", RowKey: "Fabrikam", constructor: "a name of all objects" }]);
  await page.open(control);
  await page.shows("state", "ready");
  await page.shows("tables", "Orders");
  await page.shows("tables", "250");
  await page.click("tables", "Orders");
  await page.shows("rows", "<img src=x onerror=document.title=1>");
  await page.shows("table-note", "the first 200 of 250 rows");
  await page.click("tables", "Customers");
  await page.shows("rows", "a name of all objects");
  assert.doesNotMatch(await page.text("rows"), /native code/);

  assert.equal((await listTables(port)).status, 200);
  await page.shows("requests", "/devstoreaccount1/Tables");

  await page.evaluate(`document.getElementById("operation").value = "listTables"; document.getElementById("first").value = 1`);
  await page.click("add-fault", "Add");
  await page.shows("faults", "0 of 0 requests");
  assert.equal((await listTables(port)).status, 503);
  assert.equal((await listTables(port)).status, 200);
  await page.shows("faults", "1 of 2 requests");
  await page.shows("requests", "injected fault");
  await page.evaluate(`document.getElementById("fault").value = "loseResponse"; document.getElementById("first").value = ""`);
  await page.click("add-fault", "Add");
  await page.shows("faults", "loseResponse");
  await assert.rejects(listTables(port));
  await page.shows("requests", "closed");

  await page.click("clock-buttons", "+ 1 day");
  await page.shows("clock", "86,400 s ahead");
  await page.screenshot("light");
  await page.dark();
  await page.screenshot("dark");
  await page.click("faults", "Remove");
  await page.click("clock-buttons", "System's time");
  await page.shows("clock", "the system's time");
  assert.equal(await page.evaluate("document.title"), "azure-table-emulator");
  assert.deepEqual(page.faults, []);
}

async function asksForTheToken(page) {
  const { control } = await startEmulator({ AZURE_TABLE_EMULATOR_CONTROL_TOKEN: TOKEN });
  await seed(control, "Secrets", [{ PartitionKey: "p", RowKey: "r" }], { Authorization: `Bearer ${TOKEN}` });
  await page.open(control);
  await page.shows("state", "Authorization: missing");
  assert.equal(await page.evaluate(`document.getElementById("login").hidden`), false);
  for (const [token, id, text] of [["wrong", "error", "it is not the token"], [TOKEN, "tables", "Secrets"]]) {
    await page.evaluate(`document.getElementById("token").value = ${JSON.stringify(token)}`);
    await page.click("login", "Use");
    await page.shows(id, text);
  }
  await page.screenshot("token");
}

// Runs the curl lines of the guide one after the other. An indented line continues the one above. `?follow` ends by the
// time limit, as intended.
async function everyCurlOfTheGuideSucceeds() {
  const { control } = await startEmulator();
  const guide = readFileSync(new URL("../../../azure-table/src/guide/emulator.md", import.meta.url), "utf8");
  const commands = guide.replaceAll(/\\?\n {4}/g, "").split("\n").filter(line => /^(curl|echo) /.test(line));
  assert.ok(commands.length >= 13, `${commands.length} lines found`);
  const script = ["curl() { command curl -sS --fail-with-body --max-time 3 \"$@\" || [ $? = 28 ]; }", "set -e", ...commands].join("\n");
  execFileSync("bash", ["-c", script], { cwd: folder, env: { ...process.env, CONTROL: control }, stdio: "pipe", timeout: 60_000 });
}

await run([showsTablesRequestsAndFaults, asksForTheToken, everyCurlOfTheGuideSucceeds], browser, screenshots);
