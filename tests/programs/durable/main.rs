//! The emulator in a folder, as a process that is killed, and its figures next to the emulator in memory.
//!
//! `cargo program durable -- kill 200` kills an emulator with SIGKILL this many
//! times while eight clients write, and checks the folder. `-- start 1000000` prints the time to open a folder of this
//! many entities, `-- rates` the inserts per second under each policy.
//!
//! A kill does not lose or tear unsynced writes. Crashes that do are in
//! `azure-table-emulator/src/tests/durable/crash.rs`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that says what failed by panicking"
)]

mod figures;
mod kill;

use std::path::{Path, PathBuf};

/// A folder that is removed when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Below the folder of the program, because `/tmp` may not be a disk.
    pub(crate) fn new() -> Self {
        let beside = std::env::current_exe().unwrap();
        let name = format!("durable-{}-{:x}", std::process::id(), fastrand::u64(..));
        Self(beside.with_file_name(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After a failed check, the folder shows the reason.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kill", times] => kill::run(times.parse().unwrap()).await,
        ["start", entities] => figures::start(entities.parse().unwrap()).await,
        ["rates"] => figures::rates().await,
        [kill::SERVE, folder] => kill::serve(folder).await,
        _ => panic!("usage: durable kill TIMES | start ENTITIES | rates"),
    }
}
