//! The text of a snapshot: which lines it has, and in which order.
//!
//! Owns the version of the format, and the places of faults. What a line says is `head.rs` and `entity.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use crate::emulator::row::RowId;
use crate::emulator::snapshot::head::{AccountLine, FirstLine, TableLine, VERSION};
use crate::emulator::snapshot::{EmulatorSnapshot, entity};
use crate::emulator::store::{Account, Table};
use crate::model::datetime::DateTime;
use crate::model::error::{Error, Result};
use crate::model::error_text::{OneLine, Shown};
use crate::protocol::profile::Profile;

/// What is wrong with a line, and at which byte of it, if that is known.
#[derive(Debug)]
pub(super) struct Fault {
    at: Option<usize>,
    what: String,
}

impl Fault {
    pub(super) fn at(byte: usize, what: String) -> Self {
        Self { at: Some(byte), what }
    }

    pub(super) fn of_line(what: String) -> Self {
        Self { at: None, what }
    }

    /// The same fault in other words.
    pub(super) fn instead(mut self, what: &str) -> Self {
        self.what = what.to_owned();
        self
    }

    pub(super) fn of_entity(mut self, partition_key: &str, row_key: &str) -> Self {
        self.what = format!("entity ({}, {}): {}", Shown(partition_key), Shown(row_key), self.what);
        self
    }

    /// Of a line that serde_json read: it names line and column at the end of its words.
    pub(super) fn of_json(line: &str, error: &serde_json::Error) -> Self {
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        let byte = error.column().saturating_sub(1).min(line.len());
        Self::at(byte, what.to_owned())
    }

    fn in_line(self, number: usize, line: &str) -> Error {
        let what = OneLine(&self.what);
        Error::invalid_input(match self.at {
            Some(byte) => format!("line {number}, column {}: {what}", column(line, byte)),
            None => format!("line {number}: {what}"),
        })
    }
}

/// Counted from 1, in characters, as editors do.
fn column(line: &str, byte: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

pub(super) fn write(snapshot: &EmulatorSnapshot, out: &mut dyn Write) -> io::Result<()> {
    json(out, &FirstLine::of(snapshot.profile, snapshot.last_write))?;
    for (name, account) in &snapshot.accounts {
        json(out, &AccountLine::of(name, account))?;
        for (key, table) in &account.tables {
            json(out, &TableLine::of(key, table, snapshot.profile))?;
            for (id, row) in table.rows.iter() {
                out.write_all(&entity::write(id, row))?;
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

fn json(out: &mut dyn Write, line: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

pub(super) fn read(text: &str) -> Result<EmulatorSnapshot> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line))
        .filter(|(_, line)| !line.trim().is_empty());
    let no_snapshot = || {
        Error::invalid_input(format!(
            "line 1: expected {{\"azure-table-snapshot\":{VERSION}}}, it is empty"
        ))
    };
    let (number, first) = lines.next().ok_or_else(no_snapshot)?;
    let first = FirstLine::read(first).map_err(|fault| fault.in_line(number, first))?;
    let mut reading = Reading {
        profile: first.profile,
        last_write: first.last_write,
        now: DateTime::now(),
        accounts: BTreeMap::new(),
        account: None,
        table: None,
    };
    for (number, line) in lines {
        reading.line(line).map_err(|fault| fault.in_line(number, line))?;
    }
    reading.end_account();
    Ok(EmulatorSnapshot {
        profile: reading.profile,
        last_write: reading.last_write,
        accounts: reading.accounts,
    })
}

/// What was read so far: the account and the table that the next line belongs to are not yet put away.
struct Reading {
    profile: Profile,
    last_write: DateTime,
    /// The time of what has none, later for each.
    now: DateTime,
    accounts: BTreeMap<String, Account>,
    account: Option<(String, Account)>,
    table: Option<(String, Profile, Table)>,
}

impl Reading {
    fn line(&mut self, line: &str) -> std::result::Result<(), Fault> {
        match kind(line) {
            Kind::Account => {
                let (name, account) = AccountLine::read(line)?;
                self.end_account();
                if self.accounts.contains_key(&name) {
                    return Err(twice("account", &name));
                }
                self.account = Some((name, account));
            }
            Kind::Table => {
                self.end_table();
                let Some((_, account)) = &self.account else {
                    return Err(Fault::of_line("a table, but no account before it".to_owned()));
                };
                let (key, profile, table) = TableLine::read(line, self.profile, || tick(&mut self.now))?;
                if account.tables.contains_key(&key) {
                    return Err(twice("table", &table.name));
                }
                self.table = Some((key, profile, table));
            }
            Kind::Entity => {
                let (_, profile, _) = self
                    .table
                    .as_ref()
                    .ok_or_else(|| Fault::of_line("an entity, but no table of the account before it".to_owned()))?;
                let (id, row) = entity::read(line, *profile, || tick(&mut self.now))?;
                self.last_write = self.last_write.max(row.timestamp);
                self.put(id, row)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, id: RowId, row: crate::emulator::row::Row) -> std::result::Result<(), Fault> {
        let Some((_, _, table)) = &mut self.table else {
            return Ok(());
        };
        if table.rows.contains_key(&id) {
            let fault = Fault::of_line("it stands there twice".to_owned());
            return Err(fault.of_entity(&id.partition_key, &id.row_key));
        }
        table.rows.set(id, Some(row));
        Ok(())
    }

    fn end_table(&mut self) {
        if let (Some((_, account)), Some((key, _, table))) = (&mut self.account, self.table.take()) {
            account.tables.insert(key, table);
        }
    }

    fn end_account(&mut self) {
        self.end_table();
        if let Some((name, account)) = self.account.take() {
            self.accounts.insert(name, account);
        }
    }
}

fn tick(now: &mut DateTime) -> DateTime {
    let time = *now;
    *now = DateTime::from_ticks(time.ticks() + 1).unwrap_or(DateTime::MAX);
    time
}

fn twice(what: &str, name: &dyn fmt::Debug) -> Fault {
    Fault::of_line(format!("{what} {name:?}: it stands there twice"))
}

enum Kind {
    Account,
    Table,
    Entity,
}

/// By the first member's name; what is none of the three is read, and refused, as an entity.
fn kind(line: &str) -> Kind {
    let begins = |name: &str| {
        let rest = line.trim_start().strip_prefix('{').map(str::trim_start);
        rest.and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    if begins("\"account\"") {
        Kind::Account
    } else if begins("\"table\"") {
        Kind::Table
    } else {
        Kind::Entity
    }
}
