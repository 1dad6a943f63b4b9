"use strict";
// Finds the program in the package of this platform, which npm installs as an optional dependency.

const { optionalDependencies } = require("./package.json");

/** Returns the path of the program. */
exports.program = function program() {
  const platform = `${process.platform}-${process.arch}`;
  const packages = Object.keys(optionalDependencies);
  const name = packages.find((name) => name.endsWith(`/${platform}`));
  if (name === undefined) {
    const known = packages.map((name) => name.split("/").pop()).join(", ");
    throw new Error(
      `azure-table-emulator has no program for ${platform}, only for ${known}; build one with ` +
        '"cargo install azure-table-emulator" and pass its path to start() as "program"',
    );
  }
  try {
    return require.resolve(`${name}/azure-table-emulator${process.platform === "win32" ? ".exe" : ""}`);
  } catch (cause) {
    throw new Error(
      `the package ${name} with the program for ${platform} is missing; install azure-table-emulator on this ` +
        "platform, without --omit=optional",
      { cause },
    );
  }
};
