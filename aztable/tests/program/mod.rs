//! The program itself, run in a fresh folder.
#![allow(dead_code, reason = "each test uses a part")]
#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh folder, deleted at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("aztable-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs the program on the tables in the folder `tables`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(&[&["--local", "tables"], arguments].concat(), &[])
    }

    /// Runs the program with variables of the environment.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        Ran::in_folder(&self.0, arguments, variables)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) notes: String,
    pub(crate) code: i32,
}

impl Ran {
    /// Runs the program in a folder, with variables of the environment.
    pub(crate) fn in_folder(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aztable"));
        command
            .current_dir(folder)
            .env_remove("AZURE_STORAGE_CONNECTION_STRING");
        command.args(arguments).envs(variables.iter().copied());
        Self::of(command.output().unwrap())
    }

    fn of(output: Output) -> Self {
        Self {
            output: String::from_utf8(output.stdout).unwrap(),
            notes: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }

    /// Returns the results of a run that succeeded.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.output
    }

    /// Returns the error of a run that failed.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.notes
    }
}
