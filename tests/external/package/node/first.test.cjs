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

/** Sends a request that is never answered, which keeps the program from ending for 3 s. */
async function pend({ port, control }) {
  await fetch(`${control}/faults`, { method: "PUT", body: '{"fault":"hangRequest"}' });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\n\r\n");
  await new Promise((resolve) => setTimeout(resolve, 200));
}

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

test("options that are undefined are absent", async () => {
  const other = await start({ port: undefined, program: undefined });
  assert.notEqual(other.port, 10002);
  await other.stop();
});

test("a further account and a key of one's own leave the account", async () => {
  const account = ["a:c2VjcmV0", "devstoreaccount1:c2VjcmV0"];
  const { connectionString, url, stop } = await start({ account });
  assert.match(connectionString, /AccountName=devstoreaccount1;AccountKey=<the key you gave>;/);
  assert.match(url, /\/devstoreaccount1$/);
  await stop();
});

test("a stop after SIGTERM is no error, and one after a kill is", async () => {
  for (const [signal, why] of [["SIGTERM", ""], ["SIGKILL", "azure-table-emulator: it ended with SIGKILL"]]) {
    const { port, stop } = await start();
    const newest = execFileSync("pgrep", ["-n", "-P", process.pid], { encoding: "utf8" });
    process.kill(Number(newest), signal);
    await isClosed(port);
    assert.equal(await stop().then(() => "", (error) => error.message), why);
  }
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
    const child = spawn(...npx("--port=0", "--control=0", "--ready-json", `--snapshot=${snapshot}`), { detached: true });
    const [line] = await once(child.stdout, "data");
    const { port, control } = JSON.parse(line);
    await pend({ port, control });
    let said = "";
    child.stderr.on("data", (text) => (said += text));
    process.kill(group ? -child.pid : child.pid, signal);
    await once(child.stderr, "end");
    assert.match(said, /snapshot .* written, 1 table/);
    assert.match(said, /stopped\n$/);
    await isClosed(port);
  });
}

test("the types name the program's options", () => {
  const help = spawnSync(...npx("--help"), { encoding: "utf8" }).stdout;
  const own = ["help", "quiet", "ready-json", "stop-on-eof", "version"];
  const options = [...help.matchAll(/^ {2,6}(?:-\w, +)?--([a-z-]+)/gm)].map(([, name]) => name);
  const types = readFileSync(require.resolve("azure-table-emulator").replace(".js", ".d.ts"), "utf8");
  const typed = [...types.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`));
  assert.deepEqual(typed.sort(), [...options.filter((name) => !own.includes(name)), "program"].sort());
});
