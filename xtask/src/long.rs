//! `cargo xtask long`: the checks that take too long for `.ci/run`. The workflow `long.yml` runs each of them weekly.
//!
//! A step is a command that prints its cases. Fewer of them than expected is a failure, so no list can shrink unseen.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::sources::root;

/// The number of explorations of operations, and of patterns.
pub const OPERATIONS: usize = 13;
/// See [`OPERATIONS`].
pub const PATTERNS: usize = 96;

/// A check that takes long.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its name on the command line.
    pub name: &'static str,
    /// The words of the command, which runs in the root of the repository.
    command: &'static str,
    /// A line of its output with this text is a case, or as many as the number before the text.
    marker: &'static str,
    /// The least number of cases.
    pub cases: usize,
}

/// Every step, the cheapest first.
pub const STEPS: [Step; 18] = [
    Step {
        name: "kills",
        command: "cargo program durable -- kill 200",
        marker: " kills: ",
        cases: 200,
    },
    Step {
        name: "curves",
        command: "cargo bench -p azure-table-tests --features programs --bench curves",
        marker: " | held",
        cases: 49,
    },
    Step {
        name: "polls",
        command: "cargo test --release -p azure-table-tests --no-default-features --features claims --test faults -- --ignored --nocapture longest_polls",
        marker: "LongestPoll {",
        cases: 10,
    },
    Step {
        name: "peers",
        command: "cargo check --locked --manifest-path azure-table/benches/peers/Cargo.toml --workspace",
        // Cargo prints no cases: each member is checked, or the command fails.
        marker: "error",
        cases: 0,
    },
    Step {
        name: "windows",
        // Signals and modes of files differ on Windows. Nothing is linked, so `true` stands for the compiler of ring's and
        // zstd's C.
        command: "env CC_x86_64_pc_windows_gnu=true AR_x86_64_pc_windows_gnu=true cargo check --target-dir target/windows --target x86_64-pc-windows-gnu -p azure-table-emulator -p aztable",
        marker: "error",
        cases: 0,
    },
    Step {
        name: "collector",
        command: "cargo test --locked --manifest-path tests/external/collector/Cargo.toml",
        marker: " ... ok",
        cases: 1,
    },
    Step {
        name: "providers",
        command: "tests/external/providers/run",
        marker: ": inserted and read",
        cases: 4,
    },
    Step {
        name: "fuzzing",
        command: "tests/fuzz/run 60",
        marker: " kinds were fuzzed",
        cases: 6,
    },
    Step {
        name: "bytes",
        command: "env PROPTEST_CASES=1200000 cargo test --profile long -p azure-table-tests --no-default-features --features claims --test raw_bytes",
        marker: " ... ok",
        cases: 33,
    },
    Step {
        name: "lost-writes",
        command: "cargo test --profile long -p azure-table-tests --no-default-features --features claims --test faults -- --ignored --nocapture lost_writes",
        marker: " histories of lost writes",
        cases: 4_438_477,
    },
    Step {
        name: "operations",
        command: "cargo program explorations -- operations",
        marker: " | all seen",
        cases: 2 * OPERATIONS,
    },
    Step {
        name: "patterns",
        command: "cargo program explorations -- patterns",
        marker: " ms | ",
        cases: 2 * PATTERNS,
    },
    Step {
        name: "clients",
        command: "tests/external/clients/run --matrix all",
        marker: " http",
        cases: 40,
    },
    Step {
        name: "release",
        command: "packaging/rehearse",
        marker: ": ok, ",
        cases: 10,
    },
    Step {
        name: "mistakes",
        command: "tests/programs/explorations/mutants/run",
        marker: " | found",
        cases: 92,
    },
    Step {
        name: "mistakes-of-systems",
        command: "tests/systems/mutants/run",
        marker: " | found",
        cases: 93,
    },
    Step {
        name: "faults",
        command: "env AZURE_TABLE_ADVERSE_SEEDS=10000 tests/faults/run 1000",
        marker: " cases of the matrix",
        cases: 2_178_144,
    },
    Step {
        name: "scripts",
        command: "aztable/tests/scripts/run 20000",
        marker: " scripts, ",
        cases: 20_000,
    },
];

impl Step {
    /// Runs the command, shows its output, and returns the cases, or why it failed.
    fn run(&self) -> Result<usize, String> {
        let mut words = self.command.split(' ');
        let program = words.next().unwrap();
        let mut command = Command::new(program);
        let running = command.args(words).current_dir(root()).stdout(Stdio::piped()).spawn();
        let mut running = running.map_err(|e| format!("{program}: {e}"))?;
        let mut cases = 0;
        for line in BufReader::new(running.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            println!("{line}");
            cases += self.cases_of(&line);
        }
        let status = running.wait().unwrap();
        if !status.success() {
            return Err(format!("{status}, {cases} cases"));
        }
        if cases < self.cases {
            return Err(format!("{cases} cases, {} are expected", self.cases));
        }
        Ok(cases)
    }

    fn cases_of(&self, line: &str) -> usize {
        let before = line.split_once(self.marker).map(|(before, _)| before.trim());
        before.map_or(0, |number| number.parse().unwrap_or(1))
    }
}

/// Runs the steps of these names, all of them without a name. Returns `true` if none failed.
///
/// # Errors
/// A name that no step has.
pub fn run(names: &[String]) -> Result<bool, String> {
    if let Some(name) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known = STEPS.map(|step| step.name).join(", ");
        return Err(format!("{name:?} is not a step: expected {known}"));
    }
    let chosen = STEPS
        .iter()
        .filter(|step| names.is_empty() || names.iter().any(|name| name == step.name));
    let mut summary = Vec::new();
    for step in chosen {
        println!("\n==> {}: {}", step.name, step.command);
        let started = Instant::now();
        let found = step.run();
        let (verdict, is_ok) = match found {
            Ok(cases) => (format!("ok, {cases} cases"), true),
            Err(why) => (format!("FAILED: {why}"), false),
        };
        summary.push((
            is_ok,
            format!("{:6} s  {}: {verdict}", started.elapsed().as_secs(), step.name),
        ));
    }
    println!("\n==> summary");
    for (_, line) in &summary {
        println!("{line}");
    }
    Ok(summary.iter().all(|(is_ok, _)| *is_ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_fails_with_its_command_or_with_fewer_cases() {
        let step = |command, cases| Step {
            name: "x",
            command,
            marker: " kills",
            cases,
        };
        assert_eq!(step("echo 3 kills", 3).run(), Ok(3));
        assert_eq!(step("echo many kills", 1).run(), Ok(1));
        assert_eq!(step("echo 3 kills", 4).run().unwrap_err(), "3 cases, 4 are expected");
        assert!(step("false", 0).run().unwrap_err().contains("exit status: 1"));
        assert!(run(&["unknown".to_owned()]).unwrap_err().contains("is not a step"));
    }
}
