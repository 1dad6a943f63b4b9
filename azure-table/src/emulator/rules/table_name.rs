//! Table names: those that each service takes, and its refusals of all others.
//!
//! Owns the checks of a name in a body and of one in an address. Which of two names is one table is `rules.rs`.
//!
//! Source: REST "Understanding the Table service data model"; recordings of azure-data-tables (2024 and 2026),
//! `table_name_errors*` of both services, `create_table_underscore_name` and `create_table_unicode_name` of Cosmos DB.
//! Not confirmed: which of two faults of a name is said; the answer to a reserved name (InvalidInput); that Cosmos DB
//! takes a name of one character.

use crate::emulator::rules::refusal::{RaisedBy, Refusal, Result};
use crate::model::name::TableName;

/// The names that a service takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableNames {
    /// 3 to 63 ASCII letters and digits, a letter first.
    Alphanumeric,
    /// All that is shorter than 255 characters, has none of `\ / # ?` and does not end with a space.
    AnyScript,
}

/// The characters that no name of [`TableNames::AnyScript`] has.
const FORBIDDEN: [char; 4] = ['\\', '/', '#', '?'];
/// The length that such a name does not reach.
const TOO_LONG: usize = 255;

impl TableNames {
    /// Checks the name of a new table.
    pub(crate) fn check_new(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric if name.eq_ignore_ascii_case("tables") => Err(Refusal::INVALID_INPUT),
            // Names with a dollar sign are the service's own.
            Self::Alphanumeric if name.len() >= 3 && name.starts_with('$') => Err(Refusal::INVALID_TABLE_NAME),
            Self::Alphanumeric => check_alphanumeric(name),
            Self::AnyScript => check_any_script(name),
        }
    }

    /// Checks the name of the table that an operation on entities or policies addresses. A refusal comes without
    /// `Cache-Control`, which that of a new table has (recorded).
    pub(crate) fn check_addressed(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric => check_alphanumeric(name).map_err(|refusal| Refusal {
                raised_by: RaisedBy::Parsing,
                ..refusal
            }),
            // Such a table is not there (recorded of 2026).
            Self::AnyScript => Ok(()),
        }
    }

    /// Checks the name of a table to be deleted.
    pub(crate) fn check_deleted(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric => Ok(()),
            Self::AnyScript if name.contains('/') => Err(Refusal::INVALID_ADDRESS),
            Self::AnyScript if name.contains(FORBIDDEN) => Err(Refusal::NO_SUCH_HANDLER),
            Self::AnyScript => Ok(()),
        }
    }
}

fn check_alphanumeric(name: &str) -> Result<()> {
    if !(3..=63).contains(&name.chars().count()) {
        return Err(Refusal::TABLE_NAME_LENGTH);
    }
    let is_reserved = name.eq_ignore_ascii_case("tables");
    if !is_reserved && TableName::new(name).is_err() {
        return Err(Refusal::INVALID_TABLE_NAME);
    }
    Ok(())
}

fn check_any_script(name: &str) -> Result<()> {
    if let Some(wrong) = name.chars().find(|c| FORBIDDEN.contains(c)) {
        return Err(Refusal::character_of_table_name(wrong));
    }
    if name.ends_with(' ') {
        return Err(Refusal::TABLE_NAME_ENDS_WITH_SPACE);
    }
    if !(1..TOO_LONG).contains(&name.chars().count()) {
        return Err(Refusal::TABLE_NAME_TOO_LONG);
    }
    Ok(())
}
