//! Reads and changes the stored access policies of a table.
//!
//! The service stores only the whole list: a change reads it, changes it and writes it back. The list has no ETag, so
//! one of two concurrent changes may be lost. A revocation must not be lost: it reads the list again, and repeats its
//! write if another write has restored the policy.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::service::access_policy::StoredAccessPolicy;

use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::pipeline::Pipeline;
use crate::request::table_acl;
use crate::write::operation_request::OperationRequest;

/// The maximum number of writes of a revocation, if others undo it each time.
const WRITES: usize = 4;

/// A change of the list.
pub(crate) enum PolicyChange {
    Add(StoredAccessPolicy),
    Replace(StoredAccessPolicy),
    Revoke(String),
    RevokeAll,
    Set(Vec<StoredAccessPolicy>),
}

impl PolicyChange {
    fn revokes(&self, policy: &StoredAccessPolicy) -> bool {
        match self {
            Self::Revoke(id) => policy.id == *id,
            Self::RevokeAll => true,
            Self::Add(_) | Self::Replace(_) | Self::Set(_) => false,
        }
    }
}

/// Returns the call that changes the policies, and returns them after the change.
pub(crate) fn change_access_policies(
    pipeline: &Arc<Pipeline>,
    table: &TableName,
    change: PolicyChange,
) -> Call<Vec<StoredAccessPolicy>> {
    let table = table.clone();
    Call::steps(pipeline, OperationKind::ChangeAccessPolicies, async move |steps| {
        let (table, change) = (table.as_str(), &change);
        let read = async || {
            let get = table_acl::get(steps.endpoint(), table);
            steps.call(get, |response, _| table_acl::policies(response)).await
        };
        let named = |e: Error| e.in_operation(OperationKind::SetAccessPolicies, Some(table));
        let stored = match change {
            PolicyChange::Set(_) | PolicyChange::RevokeAll => Vec::new(),
            PolicyChange::Add(_) | PolicyChange::Replace(_) | PolicyChange::Revoke(_) => read().await?,
        };
        let mut list = changed(stored, change).map_err(named)?;
        let mut restored = Vec::new();
        for earlier in 0..WRITES {
            let set = self::set(steps.endpoint(), table, &list);
            let written = steps.call(set, |response, _| table_acl::were_set(response)).await;
            written.map_err(|e| if earlier > 0 { e.maybe_applied(true) } else { e })?;
            if matches!(
                change,
                PolicyChange::Add(_) | PolicyChange::Replace(_) | PolicyChange::Set(_)
            ) {
                return Ok(list);
            }
            list = read().await.map_err(|e| e.maybe_applied(true))?;
            restored = list.extract_if(.., |policy| change.revokes(policy)).collect();
            if restored.is_empty() {
                return Ok(list);
            }
        }
        let ids: Vec<&str> = restored.iter().map(|policy| policy.id.as_str()).collect();
        let why = format!(
            "the table has the access policies {ids:?} again after {WRITES} writes without them: stop other changes of \
             its policies, then revoke again"
        );
        Err(named(Error::new(ErrorKind::Conflict, why)))
    })
}

fn set(endpoint: &Endpoint, table: &str, list: &[StoredAccessPolicy]) -> Result<OperationRequest> {
    table_acl::set(endpoint, table, list).map_err(|e| e.in_operation(OperationKind::SetAccessPolicies, Some(table)))
}

fn changed(mut list: Vec<StoredAccessPolicy>, change: &PolicyChange) -> Result<Vec<StoredAccessPolicy>> {
    let position = |id: &str| list.iter().position(|policy| policy.id == id);
    let missing = |id: &str| {
        let ids: Vec<&str> = list.iter().map(|policy| policy.id.as_str()).collect();
        Error::new(
            ErrorKind::NotFound,
            format!("the table has no access policy {id:?}, it has {ids:?}"),
        )
    };
    match change {
        PolicyChange::Add(policy) => match position(&policy.id) {
            Some(_) => {
                let why = format!("the table already has an access policy {:?}: replace it", policy.id);
                return Err(Error::new(ErrorKind::AlreadyExists, why));
            }
            None => list.push(policy.clone()),
        },
        PolicyChange::Replace(policy) => {
            let at = position(&policy.id).ok_or_else(|| missing(&policy.id))?;
            list[at] = policy.clone();
        }
        PolicyChange::Revoke(id) => {
            let at = position(id).ok_or_else(|| missing(id))?;
            list.remove(at);
        }
        PolicyChange::RevokeAll => list.clear(),
        PolicyChange::Set(new) => list.clone_from(new),
    }
    Ok(list)
}
