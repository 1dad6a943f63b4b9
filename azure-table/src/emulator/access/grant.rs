//! Grants: the operations and rows that a credential opens.
//!
//! Owns the rights that each operation needs, and the range of rows that a table's signature opens. Who the sender is,
//! and whether a signature is good, is `access.rs`. Holds nothing secret.
//! A service signature is for rows alone: what else is asked with it is refused as AuthorizationFailure, which was seen
//! live for a list of tables (sling-cli issue 635, 2025).
//! Not confirmed: what a token's refusal is called (a user saw AuthorizationMismatch), that no account key gets a key of Entra
//! ID as if it were wrong (documented is only that a token is needed); that another table than the signature's gets the same; that the
//! resource type is looked at before the letters; that reading one table by name needs what a list of tables needs.
//!
//! Source: REST "Create a service SAS", "Create an account SAS", both tables of permissions; "Authorize with Microsoft Entra
//! ID", permissions for Table service operations.

use crate::emulator::request::Verb;
use crate::emulator::request::address::{Resource, Site};
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::row::RowId;
use crate::model::ordinal;

/// The rights of a request.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) rights: Rights,
    pub(crate) rows: RowRange,
}

#[derive(Debug)]
pub(crate) enum Rights {
    /// Those of the account's key: all, but for a key of Entra ID.
    Key,
    /// Those of a token: the roles Storage Table Data Contributor and Storage Table Delegator. The service's settings and
    /// access policies are in neither of them.
    Token,
    /// Those of a table's signature.
    Table { table: String, letters: String },
    /// Those of an account's signature: types of resources, and letters.
    Account { types: String, letters: String },
}

/// An operation, as far as rights differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    ReadService,
    WriteService,
    ListTables,
    CreateTable,
    DeleteTable,
    Policies,
    DelegationKey,
    Query,
    Insert,
    Update,
    Upsert,
    Delete,
}

impl Operation {
    fn of(resource: &Resource, verb: Verb, is_conditional: bool) -> Option<Self> {
        Some(match (resource, verb) {
            (Resource::Policies(_), _) => Self::Policies,
            (Resource::DelegationKey, Verb::Post) => Self::DelegationKey,
            (Resource::Properties | Resource::Statistics, Verb::Get) => Self::ReadService,
            (Resource::Properties, Verb::Put) => Self::WriteService,
            (Resource::Tables | Resource::Table(_), Verb::Get) => Self::ListTables,
            (Resource::Tables, Verb::Post) => Self::CreateTable,
            (Resource::Table(_), Verb::Delete) => Self::DeleteTable,
            (Resource::Entities(_) | Resource::Entity(..), Verb::Get) => Self::Query,
            (Resource::Entities(_), Verb::Post) => Self::Insert,
            (Resource::Entity(..), Verb::Put | Verb::Merge) if is_conditional => Self::Update,
            (Resource::Entity(..), Verb::Put | Verb::Merge) => Self::Upsert,
            (Resource::Entity(..), Verb::Delete) => Self::Delete,
            _ => return None,
        })
    }

    /// The type of resource in an account's signature, and the letters: all of one of the texts. `None` where no
    /// signature will do.
    const fn needs(self) -> Option<(char, &'static [&'static str])> {
        Some(match self {
            Self::ReadService => ('s', &["r"]),
            Self::WriteService => ('s', &["w"]),
            Self::ListTables => ('c', &["l"]),
            // The second was seen live (.NET's test of account permissions, 2021).
            Self::CreateTable => ('c', &["c", "w"]),
            Self::DeleteTable => ('c', &["d"]),
            Self::Policies | Self::DelegationKey => return None,
            Self::Query => (ROW, &["r"]),
            Self::Insert => (ROW, &["a"]),
            Self::Update => (ROW, &["u"]),
            Self::Upsert => (ROW, &["au"]),
            Self::Delete => (ROW, &["d"]),
        })
    }

    /// Whether a token's roles have it: Storage Table Data Contributor, and for keys Storage Table Delegator.
    const fn is_in_the_roles(self) -> bool {
        !matches!(self, Self::ReadService | Self::WriteService | Self::Policies)
    }
}

/// The type of resource of entities.
const ROW: char = 'o';

impl Grant {
    /// Those of all rows.
    pub(crate) fn of(rights: Rights) -> Self {
        Self {
            rights,
            rows: RowRange::default(),
        }
    }

    /// Whether an operation is allowed, its rows aside. Without an If-Match (`is_conditional`) a replace or a merge may
    /// insert, and needs both rights.
    pub(crate) fn check(&self, site: &Site, resource: &Resource, verb: Verb, is_conditional: bool) -> Result<()> {
        let operation = match (Operation::of(resource, verb, is_conditional), &self.rights) {
            (Some(operation), _) => operation,
            // What it is not is said where it is looked for.
            (None, Rights::Key) => return Ok(()),
            (None, _) => return Err(Refusal::METHOD_NOT_ALLOWED),
        };
        let needs = operation.needs().ok_or(Refusal::AUTHORIZATION_FAILURE);
        let (letters, (kind, enough)) = match &self.rights {
            Rights::Key if operation == Operation::DelegationKey => return Err(Refusal::AUTHENTICATION_FAILED),
            Rights::Key => return Ok(()),
            Rights::Token if operation.is_in_the_roles() => return Ok(()),
            Rights::Token => return Err(Refusal::PERMISSION_MISMATCH),
            Rights::Table { letters, .. } | Rights::Account { letters, .. } => (letters, needs?),
        };
        match &self.rights {
            Rights::Table { table, .. } if kind != ROW || !resource.is_in(table, site) => {
                return Err(Refusal::AUTHORIZATION_FAILURE);
            }
            Rights::Account { types, .. } if !types.contains(kind) => return Err(Refusal::RESOURCE_TYPE_MISMATCH),
            _ => {}
        }
        let has_all = |needed: &&str| needed.chars().all(|letter| letters.contains(letter));
        if enough.iter().any(has_all) {
            Ok(())
        } else {
            Err(Refusal::PERMISSION_MISMATCH)
        }
    }
}

/// A range of rows, both ends inside. An empty text is no limit: the string to sign does not tell it from none.
#[derive(Debug, Default)]
pub(crate) struct RowRange {
    pub(crate) start_partition: String,
    pub(crate) start_row: String,
    pub(crate) end_partition: String,
    pub(crate) end_row: String,
}

impl RowRange {
    /// The least keys of the range.
    pub(crate) fn start(&self) -> RowId {
        RowId::new(self.start_partition.as_str(), self.start_row.as_str())
    }

    /// Whether a row, and so all behind it, are outside.
    pub(crate) fn is_past(&self, id: &RowId) -> bool {
        if self.end_partition.is_empty() {
            return false;
        }
        ordinal::compare(&id.partition_key, &self.end_partition)
            .then_with(|| {
                if self.end_row.is_empty() {
                    std::cmp::Ordering::Equal
                } else {
                    ordinal::compare(&id.row_key, &self.end_row)
                }
            })
            .is_gt()
    }

    pub(crate) fn contains(&self, id: &RowId) -> bool {
        let from_start = ordinal::compare(&id.partition_key, &self.start_partition)
            .then_with(|| ordinal::compare(&id.row_key, &self.start_row));
        from_start.is_ge() && !self.is_past(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_rows_of_the_documentations_table() {
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
                start_partition: spk.into(),
                start_row: srk.into(),
                end_partition: epk.into(),
                end_row: erk.into(),
            };
            assert_eq!(
                rows.map(|(p, r)| range.contains(&RowId::new(p, r))),
                inside,
                "{range:?}"
            );
        }
    }
}
