// The npm package in an empty project: its program by npx, its module from CommonJS and ESM, and how each ends.
// tests/external/package/run installs it beside this file.
const assert = require("node:assert/strict");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const { once } = require("node:events");
const { mkdirSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { connect } = require("node:net");
const { after, before, test } = require("node:test");
const { TableClient } = require("@azure/data-tables");
const { start } = require("azure-table-emulator");

const npx = (...options) => ["npx", ["--no-install", "azure-table-emulator", ...options]];
let emulator;
before(async () => (emulator = await start({ control: 0, strictVersions: true })));
after(() => emulator.stop());

/** Resolves once nothing listens on the port any more. */
async function isClosed(port) {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const closed = await once(socket, "connect").then(() => false, () => true);
    socket.destroy();
    if (closed) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("the official client stores an entity", async () => {
  const options = { allowInsecureConnection: true };
  const products = TableClient.fromConnectionString(emulator.connectionString, "Products", options);
  await products.createTable();
  await products.createEntity({ partitionKey: "S1", rowKey: "7", price: 1.5 });
  assert.equal((await products.getEntity("S1", "7")).price, 1.5);
  assert.equal(emulator.url, `http://127.0.0.1:${emulator.port}/devstoreaccount1`);
  assert.equal((await fetch(`${emulator.control}/health`)).status, 200);
});

test("a module imports it", async () => {
  const module = await import("azure-table-emulator");
  const other = await module.start();
  assert.notEqual(other.port, emulator.port);
  await Promise.all([other.stop(), other.stop()]);
  await isClosed(other.port);
});

test("a start that fails says why", async () => {
  await assert.rejects(start({ port: emulator.port }), /did not start: port \d+ is in use/);
  await assert.rejects(start({ prot: 1 }), /did not start: unexpected argument '--prot'/);
  await assert.rejects(start({ program: "/missing" }), /did not start: spawn \/missing ENOENT/);
});

test("a snapshot that could not be written fails the stop", async () => {
  const { stop, port } = await start({ snapshot: "tables.json" });
  rmSync("tables.json");
  mkdirSync("tables.json");
  await assert.rejects(stop(), /tables.json.* could not be written/);
  await isClosed(port);
});

test("a process that is killed leaves no emulator", async () => {
  const code = 'require("azure-table-emulator").start().then(({ port }) => { console.log(port); setInterval(() => {}, 9999) })';
  const child = spawn(process.execPath, ["--eval", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  child.kill("SIGKILL");
  await isClosed(Number(port));
});

test("a process that forgets to stop it ends", () => {
  execFileSync(process.execPath, ["--eval", 'require("azure-table-emulator").start()'], { timeout: 10_000 });
});

test("a platform without a program is named", () => {
  const bin = require.resolve("azure-table-emulator").replace("index.js", "bin.js");
  const code = `Object.defineProperty(process, "platform", { value: "sunos" }); require(${JSON.stringify(bin)})`;
  const { status, stderr } = spawnSync(process.execPath, ["--eval", code], { encoding: "utf8" });
  assert.match(stderr, /^error: azure-table-emulator has no program for sunos-\w+, only for .*linux-x64/);
  assert.equal(status, 1);
});

test("npx passes options and exit codes", () => {
  const version = spawnSync(...npx("--version"), { encoding: "utf8" });
  assert.match(version.stdout, /^azure-table-emulator \d/);
  assert.equal(version.status, 0);
  const wrong = spawnSync(...npx("--prot"), { encoding: "utf8" });
  assert.match(wrong.stderr, /'--port'/);
  assert.equal(wrong.status, 2);
});

for (const [what, signal, group] of [
  ["a signal", "SIGTERM", false],
  // A terminal sends Ctrl-C to all, and npm passes it on to its children once more.
  ["Ctrl-C", "SIGINT", true],
]) {
  test(`npx passes ${what}, and the tables are stored`, async () => {
    const snapshot = `${signal}.json`;
    writeFileSync(snapshot, '{"azure-table-snapshot":1}\n{"account":"a"}\n{"table":"Blogs"}\n');
    const child = spawn(...npx("--port=0", "--ready-json", `--snapshot=${snapshot}`), { detached: true });
    const [line] = await once(child.stdout, "data");
    let said = "";
    child.stderr.on("data", (text) => (said += text));
    process.kill(group ? -child.pid : child.pid, signal);
    await once(child.stderr, "end");
    assert.match(said, /snapshot .* written, 1 table/);
    assert.match(said, /stopped\n$/);
    await isClosed(JSON.parse(line).port);
  });
}

test("the types name the program's options", () => {
  const help = spawnSync(...npx("--help"), { encoding: "utf8" }).stdout;
  const own = ["help", "quiet", "ready-json", "stop-on-eof", "version"];
  const options = [...help.matchAll(/^ +(?:-\w, +)?--([a-z-]+)/gm)].map(([, name]) => name);
  const types = readFileSync(require.resolve("azure-table-emulator").replace(".js", ".d.ts"), "utf8");
  const typed = [...types.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`));
  assert.deepEqual(typed.sort(), [...options.filter((name) => !own.includes(name)), "program"].sort());
});
