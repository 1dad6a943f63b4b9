// The page of `aztable ui` in a browser, as its user sees it. Run by `tests/external/aztable_ui/run`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { folder, run, start } from "../browser/browser.mjs";

const [program, browser, screenshots] = process.argv.slice(2);
const tables = join(folder, "tables");
const aztable = (...words) => execFileSync(program, ["--quiet", "--local", tables, ...words], { encoding: "utf8" });

aztable("create", "Quakes");
aztable("create", "Stations");
for (const [network, id, magnitude, place] of [
  ["us", "7kdx", "5.1", "Banda Sea"], ["us", "7kdz", "4.7", "Kermadec Islands"], ["ak", "0231", "1.6", "12 km N of <b>Ester</b>, Alaska"],
]) aztable("put", "Quakes", network, id, `Magnitude:double=${magnitude}`, `Place=${place}`, "Felt:int64=5000000000");

const { child, line } = await start(program, ["--local", tables, "ui", "--price-per-10k-requests", "0.00036"], {}, line => line.includes("http://"));
const [site] = line.split("/#");

const status = page => page.evaluate(`performance.getEntriesByType("navigation")[0].responseStatus`);
const text = page => page.evaluate("document.body.innerText");
const open = (page, path) => page.leads(`location.href = ${JSON.stringify(site + path)}`);
const click = (page, label) => page.leads(`[...document.querySelectorAll("a, button")]
  .find(it => it.innerText === ${JSON.stringify(label)}).click()`);
const type = (page, selector, value) => page.evaluate(`{ const field = document.querySelector(${JSON.stringify(selector)});
  field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event("input", { bubbles: true })); } 0`);
const until = async (page, expression) => {
  for (let n = 0; n < 100; n++) {
    // There is no page to evaluate in while one follows the other.
    if (await page.evaluate(expression).catch(() => false)) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  assert.fail(`${expression} is not so within 5 s: ${await text(page)}`);
};

// Saves the first property of a row in another session, as another tab would.
async function saveElsewhere(value) {
  const headers = { origin: site };
  const session = await fetch(`${site}/session`, { method: "POST", body: line.split("#")[1], headers });
  headers.cookie = session.headers.get("set-cookie").split(";")[0];
  const form = await (await fetch(`${site}/tables/Quakes/row?partition=us&row=7kdx`, { headers })).text();
  const etag = form.match(/name="etag" value="([^>]*)">/)[1].replaceAll("&quot;", '"');
  const body = new URLSearchParams([["partition", "us"], ["row", "7kdx"], ["etag", etag], ["name", "Felt"], ["type", "int64"], ["value", value]]);
  assert.equal((await fetch(`${site}/tables/Quakes/row`, { method: "POST", body, headers, redirect: "manual" })).status, 303);
}

async function nobodyElseHasAccess() {
  for (const [path, options, expected] of [
    ["/", {}, 401],
    ["/tables/Quakes", { headers: { cookie: `aztable-${new URL(site).port}=guess` } }, 401],
    ["/session", { method: "POST", body: "guess", headers: { origin: site } }, 401],
    ["/session", { method: "POST", body: line.split("#")[1], headers: { origin: "http://evil.example" } }, 403],
    ["/session", { method: "POST", body: line.split("#")[1] }, 403],
  ]) {
    const response = await fetch(site + path, options);
    assert.equal(response.status, expected, path);
    assert.match(response.headers.get("content-security-policy"), /default-src 'none'/);
    assert.doesNotMatch(await response.text(), /Quakes/);
  }
}

async function addressWithTheTokenShowsTheTables(page) {
  await page.open(line);
  await until(page, `document.body.innerText.includes("Stations")`);
  assert.equal(await page.evaluate("location.href"), `${site}/`);
  assert.equal(await page.evaluate("document.cookie"), "");
  await click(page, "Quakes");
  assert.match(await text(page), /12 km N of <b>Ester<\/b>, Alaska/);
  await page.screenshot("rows");
}

async function planFollowsTheFilterAndAScanIsConfirmed(page) {
  await type(page, "[name=partition]", "us");
  await until(page, `document.getElementById("plan").innerText.includes("one partition")`);
  await type(page, "[name=partition]", "");
  await type(page, "[name=filter]", "Magnitude ge 4.5");
  await until(page, `document.getElementById("plan").innerText.includes("whole table")`);
  assert.match(await text(page), /0\.000036 for a million rows/);
  await click(page, "Show");
  assert.doesNotMatch(await text(page), /Banda Sea/);
  await click(page, "Read the whole table");
  assert.match(await text(page), /Banda Sea/);
  assert.doesNotMatch(await text(page), /Ester/);
  await type(page, "[name=filter]", "Magnitude gee 4.5");
  await until(page, `document.getElementById("plan").innerText.includes("gee")`);
}

async function editOfAChangedRowShowsBothVersions(page) {
  await open(page, "/tables/Quakes/row?partition=us&row=7kdx");
  await page.screenshot("row");
  await type(page, "textarea", "6");
  await saveElsewhere("7");
  await click(page, "Save");
  assert.equal(await status(page), 412);
  assert.match(await text(page), /Another writer was faster[^]*Felt int64\s*7/);
  assert.equal(await page.evaluate(`document.querySelector("textarea").value`), "6");
  await page.screenshot("conflict");
  await page.dark();
  await page.screenshot("conflict-dark");
  await page.narrow();
  await page.screenshot("conflict-dark-narrow");
  await click(page, "Save mine over the stored one");
  assert.equal(await page.evaluate(`document.querySelector("textarea").value`), "6");
  assert.match(await page.evaluate("location.href"), /row\?partition=us&row=7kdx$/);
}

async function rowsAreInsertedWithTypesAndDeleted(page) {
  await open(page, "/tables/Quakes/new");
  for (const [selector, value] of [["[name=partition]", "a &+ü"], ["[name=row]", "1"], ["[name=name]", "Depth"], ["[name=type]", "int32"], ["textarea", "7.5"]])
    await type(page, selector, value);
  await click(page, "Insert");
  assert.equal(await status(page), 400);
  assert.match(await text(page), /Depth: "7\.5" is no Edm\.Int32/);
  await type(page, "textarea", "7");
  await click(page, "Insert");
  assert.match(await text(page), /a &\+ü \/ 1/);
  await page.evaluate(`document.querySelector("summary").click(); 0`);
  await click(page, "Delete the row");
  assert.doesNotMatch(await text(page), /a &\+ü/);
}

async function logHasTheRequestsWithoutKeys(page) {
  await click(page, "Log");
  assert.match(await text(page), /PUT \S*Quakes\(…\) 412/);
  assert.doesNotMatch(await text(page), /7kdx/);
  await page.screenshot("log");
  assert.deepEqual(page.faults.filter(fault => !/status of 4(00|01|12)/.test(fault)), []);
}

async function interruptEndsThePage() {
  child.kill("SIGINT");
  const code = await new Promise(resolve => child.once("exit", resolve));
  assert.equal(code, 0);
}

await run([nobodyElseHasAccess, addressWithTheTokenShowsTheTables, planFollowsTheFilterAndAScanIsConfirmed,
  editOfAChangedRowShowsBothVersions, rowsAreInsertedWithTypesAndDeleted, logHasTheRequestsWithoutKeys, interruptEndsThePage],
  browser, screenshots);
