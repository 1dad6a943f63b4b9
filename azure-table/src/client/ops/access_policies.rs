//! Reads and changes the stored access policies of a table.
//!
//! The service stores only the whole list: a change reads it, changes it and writes it back. The list has no ETag, so
//! one of two concurrent changes may be lost.

use std::sync::Arc;

use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};
use azure_table_core::model::name::TableName;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::access_policy::StoredAccessPolicy;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::table_acl;

use crate::client::ops::operation::operation;
use crate::client::ops::procedure::{Arguments, Procedure, Steps};
use crate::pipeline::Pipeline;

operation! {
    /// Changes the stored access policies of a table. Returns the policies after the change.
    ///
    /// See [`TableClient::add_access_policy`](crate::TableClient::add_access_policy) and its siblings.
    ChangeAccessPolicies -> Vec<StoredAccessPolicy>, Procedure<Changed>
}

struct Changed {
    table: TableName,
    change: Change,
}

/// A change of the list.
pub(crate) enum Change {
    Add(StoredAccessPolicy),
    Replace(StoredAccessPolicy),
    Revoke(String),
    /// Removes all policies, or replaces them.
    Set(Vec<StoredAccessPolicy>),
}

impl ChangeAccessPolicies {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, change: Change) -> Self {
        let table = table.clone();
        Self {
            operation: Procedure::new(pipeline, Changed { table, change }),
        }
    }
}

impl Arguments for Changed {
    type Output = Vec<StoredAccessPolicy>;

    const OPERATION: OperationKind = OperationKind::ChangeAccessPolicies;

    fn first(self, endpoint: &Endpoint) -> Result<Call> {
        match self.change {
            Change::Set(list) => set(endpoint, self.table.as_str(), &list),
            Change::Add(_) | Change::Replace(_) | Change::Revoke(_) => table_acl::get(endpoint, self.table.as_str()),
        }
    }

    async fn run(self, steps: Steps) -> Result<Vec<StoredAccessPolicy>> {
        let table = self.table.as_str();
        let list = match self.change {
            Change::Set(list) => list,
            change => {
                let call = table_acl::get(steps.endpoint(), table);
                let present = steps.call(call, |response, _| table_acl::policies(response)).await?;
                changed(present, change).map_err(|e| e.in_operation(OperationKind::SetAccessPolicies, Some(table)))?
            }
        };
        let call = set(steps.endpoint(), table, &list);
        steps.call(call, |response, _| table_acl::were_set(response)).await?;
        Ok(list)
    }
}

fn set(endpoint: &Endpoint, table: &str, list: &[StoredAccessPolicy]) -> Result<Call> {
    table_acl::set(endpoint, table, list).map_err(|e| e.in_operation(OperationKind::SetAccessPolicies, Some(table)))
}

fn changed(mut list: Vec<StoredAccessPolicy>, change: Change) -> Result<Vec<StoredAccessPolicy>> {
    let position = |id: &str| list.iter().position(|policy| policy.id == id);
    let missing = |id: &str| {
        let ids: Vec<&str> = list.iter().map(|policy| policy.id.as_str()).collect();
        Error::new(
            ErrorKind::NotFound,
            format!("the table has no access policy {id:?}, it has {ids:?}"),
        )
    };
    match change {
        Change::Add(policy) => match position(&policy.id) {
            Some(_) => {
                let why = format!("the table already has an access policy {:?}: replace it", policy.id);
                return Err(Error::new(ErrorKind::AlreadyExists, why));
            }
            None => list.push(policy),
        },
        Change::Replace(policy) => {
            let at = position(&policy.id).ok_or_else(|| missing(&policy.id))?;
            list[at] = policy;
        }
        Change::Revoke(id) => {
            let at = position(&id).ok_or_else(|| missing(&id))?;
            list.remove(at);
        }
        Change::Set(new) => list = new,
    }
    Ok(list)
}
