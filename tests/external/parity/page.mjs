// The pages of `table-parity` in a browser: light, dark and on a phone. Run by `tests/external/parity/run`.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { run } from "../browser/browser.mjs";

const [folder, browser, screenshots] = process.argv.slice(2);
const names = readdirSync(folder).filter(name => name.endsWith(".html")).map(name => name.slice(0, -5));
const overflow = page => page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

const tests = names.map(name => Object.defineProperty(async page => {
  await page.light();
  await page.wide();
  await page.open(pathToFileURL(join(folder, `${name}.html`)).href);
  await page.shows("end", "table-parity");
  await page.screenshot(`${name}-light`, false);
  // A fact opens, and its request and source are there.
  await page.evaluate(`(document.querySelector("details.different, details.close") ?? document.querySelector("details")).open = true; 0`);
  assert.ok(await page.evaluate(`document.querySelector("details[open] .request").getClientRects().length > 0`));
  await page.evaluate(`document.querySelectorAll("details.different, details.close").forEach((it, n) => it.open = n < 6); 0`);
  await page.evaluate(`document.querySelector("main").scrollIntoView(); 0`);
  await page.screenshot(`${name}-open`, false);
  await page.dark();
  await page.screenshot(`${name}-dark`, false);
  await page.narrow();
  assert.ok(await overflow(page) <= 0, "the page is wider than a phone");
  await page.evaluate("scrollTo(0, 0); 0");
  await page.screenshot(`${name}-dark-narrow`, false);
  await page.evaluate(`document.querySelector("main").scrollIntoView(); 0`);
  await page.screenshot(`${name}-dark-narrow-open`, false);
  assert.deepEqual(page.faults, []);
}, "name", { value: name }));

assert.ok(tests.length > 1, `no pages in ${folder}`);
await run(tests, browser, screenshots);
