//! `verify-backup` and `backups`: what a folder of backups has, and whether it is undamaged.

use std::path::PathBuf;

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::backup::manifest::{Manifest, lacks};
use crate::backup::stored_backup::{StoredBackup, names};
use crate::backup::verification::verify;
use crate::failure::{Done, Failure, fail};
use crate::session::Session;
use crate::terminal::counted;

#[derive(Args)]
pub(crate) struct VerifyBackup {
    /// The folder of the backups
    folder: PathBuf,
}

impl VerifyBackup {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let (mut backups, mut tables, mut problems, mut missing) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut report = |backup: &str, failure: Failure| {
            problems += 1;
            let json = json!({ "backup": backup, "problem": failure.to_string() });
            session.terminal.either(json, format!("{backup}: {failure}"))
        };
        for name in names(&self.folder)? {
            let backup = match Manifest::is_in(&self.folder.join(&name)) {
                true => StoredBackup::open(&self.folder, &name),
                false => Err(Failure::new("unfinished, or without its manifest")),
            };
            match backup {
                Err(failure) => report(&name, failure)?,
                Ok(backup) => {
                    backups += 1;
                    for entry in &backup.manifest.tables {
                        tables += 1;
                        missing += entry.rejected;
                        if let Err(failure) = verify(&backup, entry) {
                            report(&name, failure)?;
                        }
                    }
                }
            }
        }
        let checked = format!("{}, {}", counted(backups, "backup"), counted(tables, "table"));
        match (problems, missing) {
            (0, _) if backups == 0 => return Err(Failure::of_file(&self.folder, "it has no backups")),
            (0, 0) => session.note(&format!("{checked}: undamaged")),
            (0, missing) => fail!("{checked}: undamaged{}", lacks(missing)),
            _ => fail!("{checked}: {problems} problems"),
        }
        Ok(())
    }
}

#[derive(Args)]
pub(crate) struct Backups {
    /// The folder of the backups
    folder: PathBuf,
}

impl Backups {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        for StoredBackup { manifest, .. } in StoredBackup::all(&self.folder, session.terminal)?.0 {
            let name = &manifest.name;
            if session.terminal.json {
                session.terminal.result(serde_json::to_string(&manifest)?)?;
                continue;
            }
            for entry in manifest.tables {
                let (rows, stored) = (counted(entry.rows, "row"), HumanCount(entry.stored_rows));
                let size = HumanBytes(entry.rows_file.bytes + entry.keys_file.bytes);
                let base = entry
                    .base
                    .map_or("full".into(), |base| format!("since {}", base.backup));
                let (table, end, lacks) = (entry.table, manifest.end, lacks(entry.rejected));
                let line = format!("{name}  {table}  {rows}, {stored} stored in {size}, {base}, ended {end}{lacks}");
                session.terminal.result(line)?;
            }
        }
        Ok(())
    }
}
