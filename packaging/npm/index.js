"use strict";
// Starts the program for tests. It stops with the process that started it, since that holds its standard input.

const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { createInterface } = require("node:readline");
const { program } = require("./program.js");

/** Returns the options of the program: `{ strictVersions: true, port: 0 }` are `--strict-versions --port=0`. */
function argumentsOf(options) {
  return Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === undefined || value === false) return [];
    return value === true ? option : [value].flat().map((value) => `${option}=${value}`);
  });
}

exports.start = async function start({ program: path = program(), ...options } = {}) {
  const given = argumentsOf({ ...options, port: options.port ?? 0, readyJson: true, quiet: true, stopOnEof: true });
  const child = spawn(path, given, { windowsHide: true });
  const { stdin, stdout, stderr } = child;
  let errors = "";
  stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  // A program that has ended no longer reads it.
  stdin.on("error", () => {});
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => {
      const [, reason] = /^error: (.*)/ms.exec(errors) ?? [, `it ended with ${signal ?? code}`];
      resolve(code === 0 ? "" : reason.trim());
    });
  });

  const [line] = await Promise.race([once(createInterface(stdout), "line"), ended.then((why) => [undefined, why])]);
  if (line === undefined) throw new Error(`azure-table-emulator did not start: ${await ended}`);
  const { port, control, accounts } = JSON.parse(line);
  const { connectionString } = accounts.find(({ name }) => name === "devstoreaccount1");
  const [, url] = /TableEndpoint=([^;]*[^;/])/.exec(connectionString);

  // A test that forgets `stop` ends all the same.
  const handles = [child, stdin, stdout, stderr];
  handles.forEach((handle) => handle.unref());
  let stopped;
  async function stop() {
    handles.forEach((handle) => handle.ref());
    stdin.end();
    const why = await ended;
    if (why !== "") throw new Error(`azure-table-emulator: ${why}`);
  }
  return { connectionString, url, port, control, stop: () => (stopped ??= stop()) };
};
