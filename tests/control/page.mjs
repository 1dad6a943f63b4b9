// The page of the control port in a browser, as a person uses it. Run by `tests/control/run`.
//
// A pipe and the protocol of the browser control it, so this needs no package.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [program, browser, screenshots] = process.argv.slice(2);
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const TOKEN = "a-token-for-the-tests";
const children = [];
const profile = mkdtempSync(join(tmpdir(), "azure-table-control-"));

async function startEmulator(environment = {}) {
  const child = spawn(program, ["--port", "0", "--control", "0", "--ready-json", "--quiet"],
    { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const [line] = await new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", line => resolve([line]));
    child.once("exit", code => reject(new Error(`the emulator ended with ${code}`)));
  });
  return JSON.parse(line);
}

async function startBrowser() {
  const child = spawn(browser, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", `--user-data-dir=${profile}`, "--window-size=1280,900", "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  children.push(child);
  const waiting = new Map(), faults = [];
  let last = 0, rest = "", session;
  child.stdio[4].on("data", data => {
    const messages = (rest + data).split("\0");
    rest = messages.pop();
    for (const { id, result, error, method, params } of messages.map(text => JSON.parse(text))) {
      if (method === "Runtime.exceptionThrown") faults.push(params.exceptionDetails.exception?.description ?? "exception");
      if (method === "Log.entryAdded" && params.entry.level === "error") faults.push(`${params.entry.text} ${params.entry.url ?? ""}`);
      if (id) (error ? waiting.get(id)[1](new Error(error.message)) : waiting.get(id)[0](result));
    }
  });
  const send = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++last, [resolve, reject]);
    child.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId: session })}\0`);
  });
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  const evaluate = async expression => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true });
    assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
    return result.value;
  };
  return {
    faults, evaluate,
    open: url => send("Page.navigate", { url }),
    dark: () => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] }),
    // Empty until the page is loaded.
    text: id => evaluate(`document.getElementById(${JSON.stringify(id)})?.innerText ?? ""`),
    async shows(id, text) {
      for (let n = 0; n < 100; n++) {
        if ((await this.text(id)).includes(text)) return;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
      assert.fail(`#${id} does not show ${JSON.stringify(text)} within 10 s: ${await this.text(id)}`);
    },
    click: (id, text) => evaluate(`[...document.querySelectorAll("#${id} button")]
      .find(it => it.textContent === ${JSON.stringify(text)}).click()`),
    async screenshot(name) {
      if (!screenshots) return;
      const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
      mkdirSync(screenshots, { recursive: true });
      writeFileSync(join(screenshots, `${name}.png`), Buffer.from(data, "base64"));
    },
  };
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

// Runs the curl lines of the guide one after the other. `?follow` ends by the time limit, as intended.
async function everyCurlOfTheGuideSucceeds() {
  const { control } = await startEmulator();
  const guide = readFileSync(new URL("../../azure-table/docs/emulator.md", import.meta.url), "utf8");
  const commands = guide.split("\n").filter(line => /^(curl|echo) /.test(line));
  assert.ok(commands.length > 20, `${commands.length} lines found`);
  const script = ["curl() { command curl -sS --fail-with-body --max-time 3 \"$@\" || [ $? = 28 ]; }", "set -e", ...commands].join("\n");
  execFileSync("bash", ["-c", script], { cwd: profile, env: { ...process.env, CONTROL: control }, stdio: "pipe" });
}

const limit = setTimeout(() => { console.error("control: not done after 90 s"); process.exit(1); }, 90_000);
process.on("exit", () => {
  children.forEach(child => child.kill("SIGKILL"));
  try { rmSync(profile, { recursive: true, force: true, maxRetries: 5 }); } catch { /* The browser still ends. */ }
});
const page = await startBrowser();
for (const test of [showsTablesRequestsAndFaults, asksForTheToken, everyCurlOfTheGuideSucceeds]) {
  await test(page);
  console.log(`ok ${test.name}`);
}
clearTimeout(limit);
process.exit(0);
