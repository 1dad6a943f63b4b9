#!/usr/bin/env node
"use strict";
// Runs the program: the options, the output, the signals and the exit code are its own.

const { spawn } = require("node:child_process");
const { program } = require("./program.js");

function fail(error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}

function run() {
  const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
  let watch;
  function pass(signal) {
    // A signal after half a second would stop the program at once, without its snapshot.
    clearInterval(watch);
    child.kill(signal);
  }
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
    // On Windows, Ctrl-C reaches the program by itself, and `kill` would end it at once.
    process.on(signal, () => process.platform === "win32" || pass(signal));
  }
  // npm passes a signal on to its shell, which ends and leaves its children.
  const parent = process.ppid;
  if (process.env.npm_command !== undefined) {
    watch = setInterval(() => process.ppid === parent || pass("SIGTERM"), 200).unref();
  }
  child.on("error", fail);
  child.on("exit", (code, signal) => {
    process.exitCode = code;
    if (signal !== null) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
}

try {
  run();
} catch (error) {
  fail(error);
}
