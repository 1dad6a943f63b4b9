//! `verify-backup` and `backups`: what a folder of backups has, and whether it is undamaged.

use std::path::PathBuf;

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::backup::manifest::Manifest;
use crate::backup::stored_backup::{StoredBackup, names};
use crate::backup::verification::verify;
use crate::failure::{Done, Failure};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct VerifyBackup {
    /// The folder of the backups
    folder: PathBuf,
}

impl VerifyBackup {
    pub(crate) fn run(self, session: &Session) -> Done<()> {
        let (mut backups, mut tables, mut problems) = (0_u64, 0_u64, 0_u64);
        let mut report = |backup: &str, failure: Failure| {
            problems += 1;
            let json = json!({ "backup": backup, "problem": failure.to_string() });
            session.terminal.either(json, format!("{backup}: {failure}"))
        };
        for name in names(&self.folder)? {
            if !Manifest::is_in(&self.folder.join(&name)) {
                report(&name, Failure::new("unfinished, or without its manifest"))?;
                continue;
            }
            let backup = match StoredBackup::open(&self.folder, &name) {
                Ok(backup) => backup,
                Err(failure) => {
                    report(&name, failure)?;
                    continue;
                }
            };
            backups += 1;
            for entry in &backup.manifest.tables {
                tables += 1;
                if let Err(failure) = verify(&backup, entry) {
                    report(&name, failure)?;
                }
            }
        }
        let checked = format!("{} backups, {} tables", HumanCount(backups), HumanCount(tables));
        match problems {
            0 if backups == 0 => return Err(Failure::of_file(&self.folder, "it has no backups")),
            0 => session.terminal.note(&format!("{checked}: undamaged")),
            _ => return Err(Failure::new(format!("{checked}: {problems} problems"))),
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
    pub(crate) fn run(self, session: &Session) -> Done<()> {
        for name in names(&self.folder)? {
            let folder = self.folder.join(&name);
            if !Manifest::is_in(&folder) {
                session.terminal.note(&format!("{name}: unfinished"));
                continue;
            }
            let (manifest, _) = Manifest::load(&folder)?;
            if session.terminal.json {
                session.terminal.result(serde_json::to_string(&manifest)?)?;
                continue;
            }
            for entry in manifest.tables {
                let (rows, stored) = (HumanCount(entry.rows), HumanCount(entry.stored_rows));
                let size = HumanBytes(entry.rows_file.bytes + entry.keys_file.bytes);
                let base = entry
                    .base
                    .map_or("full".into(), |base| format!("since {}", base.backup));
                let line = format!(
                    "{name}  {}  {rows} rows, {stored} stored in {size}, {base}",
                    entry.table
                );
                session.terminal.result(line)?;
            }
        }
        Ok(())
    }
}
