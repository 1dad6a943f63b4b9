//! The commands, one file for each idea.

pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod diff;
pub(crate) mod entity;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod policies;
pub(crate) mod query;
pub(crate) mod restore;
pub(crate) mod sas;
pub(crate) mod schema;
pub(crate) mod selected;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod sync;
pub(crate) mod tables;
pub(crate) mod ui;
pub(crate) mod verify_backup;

use crate::arguments::Command;
use crate::failure::Done;
use crate::session::Session;

/// Runs a command.
///
/// # Errors
/// The error of the command.
pub(crate) async fn run(command: Command, session: &Session) -> Done<()> {
    macro_rules! run {
        ($($name:ident)*) => {
            match command {
                $(Command::$name(options) => options.run(session).await,)*
            }
        };
    }
    run!(Ls Create Rm Get Put Set Del Query Export Import Copy Diff Sync Delete Patch Ui Schema Stats Sas Policies Cors
         Properties Backup Restore VerifyBackup Backups Completions Man)
}
