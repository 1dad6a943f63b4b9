//! One Python process for all scripts, which writes and reads files as other programs do.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

/// A Python process that answers requests, a JSON line each.
pub(crate) struct Python {
    process: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
    has_parquet: bool,
}

impl Python {
    pub(crate) fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts/files.py");
        let mut child = Command::new("python3")
            .args(["-u", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        let mut python = Self {
            process: Mutex::new((child, input, BufReader::new(output))),
            has_parquet: false,
        };
        python.has_parquet = python.ask(&json!({ "do": "begin" })) == Ok(json!(true));
        let is_required = std::env::var_os("AZTABLE_SCRIPTS_REQUIRE_PYARROW").is_some();
        assert!(python.has_parquet || !is_required, "python3 has no pyarrow");
        if !python.has_parquet {
            eprintln!("python3 has no pyarrow: Parquet of other programs is left out");
        }
        python
    }

    /// Returns whether Parquet can be written and read.
    pub(crate) fn has_parquet(&self) -> bool {
        self.has_parquet
    }

    /// Sends a request, and returns its result.
    ///
    /// # Errors
    /// The file cannot be written or read.
    pub(crate) fn ask(&self, request: &Value) -> Result<Value, String> {
        let mut line = String::new();
        {
            let mut process = self.process.lock().unwrap();
            let (_, input, output) = &mut *process;
            writeln!(input, "{request}").unwrap();
            output.read_line(&mut line).unwrap();
        }
        let reply: Value = serde_json::from_str(&line).unwrap();
        match reply["error"].as_str() {
            Some(error) => Err(format!("{error} of {request:.300}")),
            None => Ok(reply["result"].clone()),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let (child, ..) = self.process.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
