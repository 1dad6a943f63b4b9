// A headless browser for tests of pages. It is driven over a pipe by its own protocol, so this needs no package.
//
// Owns the browser, the time limit of a run, the processes started for it and a folder for its files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const children = [];
// The run ends after the limit, and names what it waits for.
let waitsFor = "its start";
setTimeout(() => { console.error(`${waitsFor}: not done 90 s after the start`); process.exit(1); }, 90_000);
process.on("exit", () => {
  children.forEach(child => child.kill("SIGKILL"));
  try { rmSync(folder, { recursive: true, force: true, maxRetries: 5 }); } catch { /* The browser still ends. */ }
});

// Deleted at the end.
export const folder = mkdtempSync(join(tmpdir(), "azure-table-page-"));

// Starts a program that ends with the run, and returns it with the first line of its output that `finds` accepts.
export async function start(program, parameters, environment, finds = () => true) {
  const child = spawn(program, parameters, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const line = await new Promise((resolve, reject) => {
    createInterface(child.stdout).on("line", line => finds(line) && resolve(line));
    child.once("exit", code => reject(new Error(`${program} ended with ${code}`)));
  });
  return { child, line };
}

// Runs tests one after the other in one tab. Screenshots go to a folder, or nowhere.
export async function run(tests, browser, screenshots) {
  waitsFor = "the browser";
  const page = await startBrowser(browser, screenshots);
  for (const test of tests) {
    waitsFor = test.name;
    await test(page);
    console.log(`ok ${test.name}`);
  }
  process.exit(0);
}

async function startBrowser(browser, screenshots) {
  const child = spawn(browser, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", `--user-data-dir=${join(folder, "profile")}`, "--window-size=1280,900", "about:blank"],
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
    // Evaluates what leads to another page, and waits for that.
    async leads(expression) {
      await evaluate(`window.isLeft = true; ${expression}; 0`);
      for (let n = 0; n < 100; n++) {
        // There is no page to evaluate in while one follows the other.
        const isThere = await evaluate(`!window.isLeft && document.readyState === "complete"`).catch(() => false);
        if (isThere) return;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
      assert.fail(`${expression} leads nowhere within 10 s`);
    },
    dark: () => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] }),
    light: () => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] }),
    wide: () => send("Emulation.clearDeviceMetricsOverride"),
    narrow: () => send("Emulation.setDeviceMetricsOverride", { width: 390, height: 800, deviceScaleFactor: 1, mobile: true }),
    // Empty until the page is there.
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
    // The whole page, or the part in the window.
    async screenshot(name, isWhole = true) {
      if (!screenshots) return;
      const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: isWhole });
      mkdirSync(screenshots, { recursive: true });
      writeFileSync(join(screenshots, `${name}.png`), Buffer.from(data, "base64"));
    },
  };
}
