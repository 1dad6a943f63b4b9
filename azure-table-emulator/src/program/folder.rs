//! Folders of `--data`: opens a folder to serve it, and runs the commands for a folder that is not being served.

use std::path::Path;

use azure_table_emulator::Emulator;
use azure_table_emulator::{EmulatorFolder, EmulatorSnapshot, SyncPolicy};
use azure_table_wire::account::profile::Profile;

use crate::options::FolderCommand;
use crate::output::{Result, because, contents, of, print};

/// Opens a folder. Creates it if it is missing.
pub(crate) fn open(folder: &Path, sync: SyncPolicy, profile: Profile) -> Result<Emulator> {
    // The system's error would only say that the file exists.
    if folder.is_file() {
        return Err(format!("data: {}: it is a file, --data needs a folder", folder.display()).into());
    }
    let opened = match profile {
        Profile::Cosmos => Emulator::open_cosmos(folder, sync),
        _ => Emulator::open(folder, sync),
    };
    Ok(opened.map_err(|e| because("data", &e))?)
}

/// Runs a command, and prints the contents of the folder.
pub(crate) async fn run(command: FolderCommand, folder: &Path, profile: Profile) -> Result<()> {
    match command {
        FolderCommand::Check => tell(&EmulatorFolder::check(folder)?, folder),
        FolderCommand::Upgrade => tell(&EmulatorFolder::upgrade(folder)?, folder),
        FolderCommand::Import(file) => {
            let snapshot = EmulatorSnapshot::read(&file).map_err(|e| format!("snapshot {e}"))?;
            let emulator = open(folder, SyncPolicy::Always, profile)?;
            emulator.restore(&snapshot)?;
            emulator.flush().await?;
            print(format_args!("{}: {} imported", folder.display(), of(&snapshot)));
        }
        FolderCommand::Export(file) => {
            // A missing folder is an error instead of an empty one.
            EmulatorFolder::check(folder)?;
            let snapshot = open(folder, SyncPolicy::Always, profile)?.snapshot();
            snapshot.write(&file).map_err(|e| format!("snapshot {e}"))?;
            print(format_args!("{}: {} exported", file.display(), of(&snapshot)));
        }
    }
    Ok(())
}

fn tell(found: &EmulatorFolder, folder: &Path) {
    let accounts: Vec<&str> = found.accounts().collect();
    print(format_args!(
        "{}: format {}, {}, {:.1} MiB; {}",
        folder.display(),
        found.format(),
        contents(found.table_count(), found.entity_count()),
        found.bytes() as f64 / (1_u64 << 20) as f64,
        match &accounts[..] {
            [] => "no account".to_owned(),
            [account] => format!("account {account}"),
            accounts => format!("accounts {}", accounts.join(", ")),
        }
    ));
}
