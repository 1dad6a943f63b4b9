//! Table names: the valid names of each service, and its errors for all others.
//!
//! Checks a name in a body and in a URL. `rules.rs` decides which names refer to the same table.
//!
//! Source: REST "Understanding the Table service data model"; recordings of azure-data-tables (2024 and 2026),
//! `table_name_errors*` of both services, `create_table_underscore_name` and `create_table_unicode_name` of Cosmos DB.
//! Not confirmed: which of two faults of a name is reported; the response to a reserved name (InvalidInput); that
//! Cosmos DB accepts a name of one character and rejects control characters.

use azure_table_wire::value::name::{storage_table_name_fault, table_name_fault};

use crate::rules::service_error::{RaisedBy, Result, ServiceError};

/// The names that a service accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableNames {
    /// 3 to 63 ASCII letters and digits, a letter first.
    Alphanumeric,
    /// Any name shorter than 255 characters without `\ / # ?` and control characters that does not end with a space.
    AnyScript,
}

/// The characters that no name of [`TableNames::AnyScript`] contains.
const FORBIDDEN: [char; 4] = ['\\', '/', '#', '?'];
/// The length from which such a name is too long.
const TOO_LONG: usize = 255;

impl TableNames {
    /// Returns the fault in the name of a new table in the client's words, which are more specific.
    pub(crate) fn fault(self, name: &str) -> Option<String> {
        let service_error = self.check_new(name).err()?;
        let of_storage = match self {
            Self::Alphanumeric => storage_table_name_fault(name),
            Self::AnyScript => None,
        };
        Some(of_storage.unwrap_or_else(|| service_error.message.into_owned()))
    }

    /// Checks the name of a new table.
    pub(crate) fn check_new(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric if name.eq_ignore_ascii_case("tables") => Err(ServiceError::INVALID_INPUT),
            // Names with a dollar sign belong to the service.
            Self::Alphanumeric if name.len() >= 3 && name.starts_with('$') => Err(ServiceError::INVALID_TABLE_NAME),
            Self::Alphanumeric => check_alphanumeric(name),
            Self::AnyScript => check_any_script(name),
        }
    }

    /// Checks the name of the table that an operation on entities or policies addresses. Its error has no
    /// `Cache-Control`, unlike the error for a new table (recorded).
    pub(crate) fn check_addressed(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric => check_alphanumeric(name).map_err(|service_error| ServiceError {
                raised_by: RaisedBy::Parsing,
                ..service_error
            }),
            // Such a table counts as missing (recorded in 2026).
            Self::AnyScript => Ok(()),
        }
    }

    /// Checks the name of a table to be deleted.
    pub(crate) fn check_deleted(self, name: &str) -> Result<()> {
        match self {
            Self::Alphanumeric => Ok(()),
            Self::AnyScript if name.contains('/') => Err(ServiceError::INVALID_ADDRESS),
            Self::AnyScript if name.contains(FORBIDDEN) => Err(ServiceError::NO_SUCH_HANDLER),
            Self::AnyScript => Ok(()),
        }
    }
}

fn check_alphanumeric(name: &str) -> Result<()> {
    if !(3..=63).contains(&name.chars().count()) {
        return Err(ServiceError::TABLE_NAME_LENGTH);
    }
    let is_reserved = name.eq_ignore_ascii_case("tables");
    if !is_reserved && storage_table_name_fault(name).is_some() {
        return Err(ServiceError::INVALID_TABLE_NAME);
    }
    Ok(())
}

fn check_any_script(name: &str) -> Result<()> {
    if let Some(wrong) = name.chars().find(|c| FORBIDDEN.contains(c) || c.is_control()) {
        return Err(ServiceError::character_of_table_name(wrong));
    }
    if name.ends_with(' ') {
        return Err(ServiceError::TABLE_NAME_ENDS_WITH_SPACE);
    }
    if !(1..TOO_LONG).contains(&name.chars().count()) {
        return Err(ServiceError::TABLE_NAME_TOO_LONG);
    }
    // Of all invalid names, only the names of other resources remain.
    table_name_fault(name).map_or(Ok(()), |_| Err(ServiceError::INVALID_INPUT))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cosmos_accepts_the_names_that_the_client_accepts(name in "(\\PC|[/ #?.$\\\\\n]){0,4}|.{250,258}") {
            let accepted = TableNames::AnyScript.check_new(&name).is_ok();
            prop_assert_eq!(accepted, table_name_fault(&name).is_none(), "{:?}", name);
        }
    }
}
