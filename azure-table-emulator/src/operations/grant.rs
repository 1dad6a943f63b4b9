//! Grants: the operations and rows that a credential permits.
//!
//! Compares a grant with the permissions that each operation needs (`error/operation_kind.rs`), and with the range of
//! rows of a table's signature. `access.rs` identifies the sender and verifies signatures. Nothing here is secret. A
//! service signature permits operations on rows only. The service rejects anything else with AuthorizationFailure,
//! which was seen live for a list of tables (sling-cli issue 635, 2025).
//!
//! Not confirmed: the error code for a token without permission (a user saw AuthorizationMismatch); that a data role
//! suffices for the service's properties and statistics, which recorded tokens read and write; that a request for a
//! user delegation key signed with an account key is rejected like one with a wrong signature (documented is only
//! that it needs a token); that a table other than the signature's gets the same error; that the resource type is
//! checked before the letters; that reading one table by name needs the permission for a list of tables.
//!
//! Source: REST "Create a service SAS", "Create an account SAS", both tables of permissions; "Authorize with Microsoft
//! Entra ID", permissions for Table service operations.

use azure_table_wire::error::operation_kind::{self, OperationKind, Subject};
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::value::ordinal;

use crate::rules::service_error::{Result, ServiceError};
use crate::rules::version::USER_DELEGATION;
use crate::store::row::RowId;

/// The permissions of a request.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) rights: Rights,
    pub(crate) rows: RowRange,
}

#[derive(Debug)]
pub(crate) enum Rights {
    /// An account key: everything except user delegation keys.
    Key,
    /// A token: the roles Storage Table Data Contributor and Storage Table Delegator, and the service's properties and
    /// statistics. Access policies are hidden from it.
    Token,
    /// A table's signature.
    Table { table: String, letters: String },
    /// An account's signature: resource types and letters.
    Account { types: String, letters: String },
    /// A preflight request, which has no credential. It permits nothing else.
    Preflight,
}

/// Returns the resource type of an operation in an account's signature, or `None` if no signature permits it.
const fn resource_type(operation: OperationKind) -> Option<char> {
    match operation_kind::facts(operation).subject {
        _ if operation_kind::facts(operation).sas_letters.is_empty() => None,
        Subject::Service => Some('s'),
        Subject::Table => Some('c'),
        Subject::Entity => Some(ENTITY),
        Subject::Policies | Subject::Batch => None,
    }
}

/// The resource type of entities.
const ENTITY: char = 'o';

impl Grant {
    /// Creates a grant for all rows.
    pub(crate) fn of(rights: Rights) -> Self {
        Self {
            rights,
            rows: RowRange {
                start: RowId::new("", ""),
                end: RowId::new("", ""),
            },
        }
    }

    /// Checks that the operation is permitted, apart from its rows. An unconditional replace or merge may insert and
    /// needs both permissions. Reading one table counts as listing tables.
    pub(crate) fn check(&self, request: &Inbound<'_>, table: Option<&str>) -> Result<()> {
        let operation = match (request.kind(), &self.rights) {
            // An unknown operation is reported when it is executed.
            (None | Some(OperationKind::Batch), Rights::Key) => return Ok(()),
            (None | Some(OperationKind::Batch), _) => return Err(ServiceError::METHOD_NOT_ALLOWED),
            (Some(OperationKind::GetTable), _) => OperationKind::ListTables,
            (Some(operation), _) => operation,
        };
        let kind = resource_type(operation).ok_or(ServiceError::AUTHORIZATION_FAILURE);
        let (letters, kind) = match &self.rights {
            Rights::Key if operation == OperationKind::GetUserDelegationKey => {
                return Err(ServiceError::AUTHENTICATION_FAILED);
            }
            Rights::Key => return Ok(()),
            // As if the table were missing, also if it exists (recorded of Python, 2022 and 2026, and of C++, 2024).
            Rights::Token if operation_kind::facts(operation).subject == Subject::Policies => {
                let version = request.headers.get("x-ms-version").unwrap_or_default();
                return Err(if *version < *USER_DELEGATION {
                    ServiceError::RESOURCE_NOT_FOUND
                } else {
                    ServiceError::TABLE_NOT_FOUND
                });
            }
            Rights::Token => return Ok(()),
            Rights::Table { letters, .. } | Rights::Account { letters, .. } => (letters, kind?),
            Rights::Preflight => return Err(ServiceError::AUTHORIZATION_FAILURE),
        };
        match &self.rights {
            // On Cosmos DB too, although its tables differ by case (the Go client signs the name in lower case).
            Rights::Table { table: granted, .. }
                if kind != ENTITY || !table.is_some_and(|table| table.eq_ignore_ascii_case(granted)) =>
            {
                return Err(ServiceError::AUTHORIZATION_FAILURE);
            }
            Rights::Account { types, .. } if !types.contains(kind) => return Err(ServiceError::RESOURCE_TYPE_MISMATCH),
            _ => {}
        }
        let has_all = |needed: &&str| needed.chars().all(|letter| letters.contains(letter));
        if operation_kind::facts(operation).sas_letters.iter().any(has_all) {
            Ok(())
        } else {
            Err(ServiceError::PERMISSION_MISMATCH)
        }
    }
}

/// A range of rows, inclusive at both ends. An empty text means no limit: the string to sign does not distinguish them.
#[derive(Debug)]
pub(crate) struct RowRange {
    pub(crate) start: RowId,
    pub(crate) end: RowId,
}

impl RowRange {
    /// Returns `true` if this row and all after it are outside.
    pub(crate) fn is_past(&self, id: &RowId) -> bool {
        match (&*self.end.partition_key, &*self.end.row_key) {
            ("", _) => false,
            (partition, "") => ordinal::compare(&id.partition_key, partition).is_gt(),
            _ => *id > self.end,
        }
    }

    pub(crate) fn contains(&self, id: &RowId) -> bool {
        *id >= self.start && !self.is_past(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_has_the_rows_of_the_documented_table() {
        let rows = [("a", "9"), ("b", "1"), ("b", "2"), ("b", "3"), ("c", "0")];
        for ((spk, srk, epk, erk), inside) in [
            (("", "", "", ""), [true, true, true, true, true]),
            (("b", "", "", ""), [false, true, true, true, true]),
            (("", "", "b", ""), [true, true, true, true, false]),
            (("b", "", "b", ""), [false, true, true, true, false]),
            (("b", "2", "", ""), [false, false, true, true, true]),
            (("", "", "b", "2"), [true, true, true, false, false]),
            (("b", "2", "b", "2"), [false, false, true, false, false]),
            (("a", "95", "b", "2"), [false, true, true, false, false]),
            (("c", "", "a", ""), [false, false, false, false, false]),
        ] {
            let range = RowRange {
                start: RowId::new(spk, srk),
                end: RowId::new(epk, erk),
            };
            assert_eq!(
                rows.map(|(p, r)| range.contains(&RowId::new(p, r))),
                inside,
                "{range:?}"
            );
        }
    }
}
