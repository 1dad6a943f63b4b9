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
    match command {
        Command::Ls(list) => list.run(session).await,
        Command::Create(create) => create.run(session).await,
        Command::Rm(remove) => remove.run(session).await,
        Command::Get(get) => get.run(session).await,
        Command::Put(put) => put.run(session).await,
        Command::Set(set) => set.run(session).await,
        Command::Del(delete) => delete.run(session).await,
        Command::Query(query) => query.run(session).await,
        Command::Export(export) => export.run(session).await,
        Command::Import(import) => import.run(session).await,
        Command::Copy(copy) => copy.run(session).await,
        Command::Diff(diff) => diff.run(session).await,
        Command::Sync(sync) => sync.run(session).await,
        Command::Delete(delete) => delete.run(session).await,
        Command::Patch(patch) => patch.run(session).await,
        Command::Ui(ui) => ui.run(session).await,
        Command::Schema(schema) => schema.run(session).await,
        Command::Stats(stats) => stats.run(session).await,
        Command::Sas(sas) => sas.run(session).await,
        Command::Policies(policies) => policies.run(session).await,
        Command::Cors(cors) => cors.run(session).await,
        Command::Properties(properties) => properties.run(session).await,
        Command::Backup(backup) => backup.run(session).await,
        Command::Restore(restore) => restore.run(session).await,
        Command::VerifyBackup(verify) => verify.run(session),
        Command::Backups(backups) => backups.run(session),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}
