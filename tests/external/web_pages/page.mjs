// The pages of the example `web_pages` in a browser, as a visitor uses them. Run by `tests/external/web_pages/run`.
import assert from "node:assert/strict";
import { run, start } from "../browser/browser.mjs";

const [program, browser, screenshots] = process.argv.slice(2);
const { child, line } = await start(program, ["127.0.0.1:0"], { AZURE_STORAGE_CONNECTION_STRING: undefined }, line => line.includes("http://"));
const site = line.match(/http:\/\/\S+:\d+/)[0];

const status = page => page.evaluate(`performance.getEntriesByType("navigation")[0].responseStatus`);
const text = page => page.evaluate("document.body.innerText");
const days = page => page.evaluate(`[...document.querySelectorAll("time")].map(time => time.innerText)`);
const open = (page, path) => page.leads(`location.href = ${JSON.stringify(site + path)}`);
const click = (page, label) => page.leads(`[...document.querySelectorAll("a, button")]
  .find(it => it.innerText === ${JSON.stringify(label)}).click()`);
const type = (page, name, value) => page.evaluate(`document.querySelector("[name=${name}]").value = ${JSON.stringify(value)}; 0`);

async function olderLinksLeadToEveryBlogOnce(page) {
  await page.open(site);
  await page.shows("next", "Older");
  await page.screenshot("list");
  const first = await days(page), seen = [...first];
  while (await page.evaluate(`document.getElementById("next") !== null`)) {
    await click(page, "Older");
    seen.push(...await days(page));
  }
  assert.equal(seen.length, 52);
  assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
  await click(page, "Latest");
  assert.deepEqual(await days(page), first);
}

async function conflictShowsBothTextsAndLosesNone(page) {
  await open(page, "/2026-11-20");
  await page.screenshot("edit");
  // Somebody else opens and saves the same blog meanwhile.
  const form = await (await fetch(`${site}/2026-11-20`)).text();
  const etag = form.match(/name="etag" value="([^>]*)">/)[1].replaceAll("&quot;", '"');
  const body = new URLSearchParams({ title: "Kick-off", text: "Two goals before the break.", etag });
  assert.equal((await fetch(`${site}/2026-11-20`, { method: "POST", body, redirect: "manual" })).status, 303);

  await type(page, "text", "Two goals, and <b>rain</b>.");
  await click(page, "Save");
  assert.equal(await status(page), 412);
  assert.match(await text(page), /Two goals before the break\./);
  assert.equal(await page.evaluate(`document.querySelector("[name=text]").value`), "Two goals, and <b>rain</b>.");
  await page.screenshot("conflict");
  await page.dark();
  await page.narrow();
  await page.screenshot("conflict-dark-narrow");
  await click(page, "Save mine over theirs");
  assert.match(await text(page), /Two goals, and <b>rain<\/b>\./);
}

async function newBlogIsFirstAndADayIsTakenOnce(page) {
  for (const [day, expected] of [["2026-11-20", 409], ["2026-11-30", 200]]) {
    if (expected === 409) await click(page, "New blog");
    await type(page, "day", day);
    await type(page, "title", "Penalties");
    await type(page, "text", "First line\nSecond line");
    await click(page, "Publish");
    assert.equal(await status(page), expected);
    await page.screenshot(`publish-${expected}`);
  }
  assert.equal((await days(page))[0], "2026-11-30");
  assert.match(await text(page), /First line\nSecond line/);
}

async function mistakesHaveAPage(page) {
  for (const [path, expected, part] of [
    ["/2026-10-31", 404, "There is no blog of 2026-10-31."],
    ["/?after=none", 400, "This link does not lead to a page of blogs"],
  ]) {
    await open(page, path);
    assert.equal(await status(page), expected);
    assert.match(await text(page), new RegExp(part));
  }
  await page.screenshot("mistake");
  // The browser notes each status of 400 and above, and nothing else went wrong.
  assert.deepEqual(page.faults.filter(fault => !/status of 4(00|04|09|12)/.test(fault)), []);
}

async function interruptEndsTheService() {
  child.kill("SIGINT");
  const code = await new Promise(resolve => child.once("exit", resolve));
  assert.equal(code, 0);
}

await run([olderLinksLeadToEveryBlogOnce, conflictShowsBothTextsAndLosesNone, newBlogIsFirstAndADayIsTakenOnce,
  mistakesHaveAPage, interruptEndsTheService], browser, screenshots);
