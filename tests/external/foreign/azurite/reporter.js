// Compares the failed tests with expected.txt, whose lines are `file: title | reason`. Fails if a test fails that is not listed, or one
// passes that is. A test with `? ` in front may fail or pass.

const fs = require("fs");
const path = require("path");

const lines = fs.readFileSync(path.join(__dirname, "expected.txt"), "utf8").split("\n");
const listed = lines.filter(line => line !== "" && !line.startsWith("#")).map(line => line.split(" | ", 2));
const mayPass = new Set(listed.filter(([name]) => name.startsWith("? ")).map(([name]) => name.slice(2)));
const expected = new Map(listed.map(([name, reason]) => [name.replace(/^\? /, ""), reason]));

const nameOf = test =>
  `${path.basename(test.file ?? test.parent.file)}: ${test.title.replace(/ @loki| @sql/g, "").replace(/,$/, "")}`;

module.exports = class {
  constructor(runner) {
    this.unexpected = 0;
    const passed = new Set();
    const failed = new Map();
    let skipped = 0;
    runner.on("pass", test => passed.add(nameOf(test)));
    runner.on("pending", () => skipped++);
    runner.on("fail", (test, error) => failed.set(nameOf(test), error));
    runner.once("end", () => {
      for (const [name, error] of failed) {
        const reason = expected.get(name);
        if (reason === undefined) {
          this.unexpected++;
          console.log(`FAILED    ${name}\n${error.stack ?? error}\n`);
        } else {
          console.log(`expected  ${name}\n          ${reason}`);
        }
      }
      for (const name of expected.keys()) {
        if (passed.has(name) && !failed.has(name) && !mayPass.has(name)) {
          this.unexpected++;
          console.log(`PASSED    ${name}, which expected.txt lists`);
        }
      }
      const known = failed.size - [...failed.keys()].filter(name => !expected.has(name)).length;
      console.log(`${passed.size} passed, ${failed.size} failed, of these ${known} with a reason; ${skipped} skipped by the suite`);
    });
  }

  done(_failures, end) {
    end(this.unexpected);
  }
};
