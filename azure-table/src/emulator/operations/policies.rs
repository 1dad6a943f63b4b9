//! A table's stored access policies.
//!
//! Owns their reading and setting; what they do is `sas.rs`, their document and limits `protocol/access_policy.rs`.
//! Not confirmed: that two policies of one name are refused.
//!
//! Source: REST "Get Table ACL", "Set Table ACL"; recorded answers.

use crate::emulator::operations::call::Call;
use crate::emulator::response::answer::Answer;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::Store;
use crate::protocol::access_policy::StoredAccessPolicy;

/// `GET /table?comp=acl`.
pub(crate) fn get(store: &Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let table = store.table(call.site(), table).ok_or(Refusal::TABLE_NOT_FOUND)?;
    Ok(Answer::xml(&StoredAccessPolicy::list_to_answer(&table.policies)))
}

/// `PUT /table?comp=acl`.
pub(crate) fn set(store: &mut Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let policies = match call.xml() {
        // No body means no policies (recorded).
        [] => Vec::new(),
        document => StoredAccessPolicy::list_from_xml(document).map_err(|_| Refusal::INVALID_XML)?,
    };
    StoredAccessPolicy::check_list(&policies).map_err(|_| Refusal::INVALID_XML)?;
    store.set_policies(call.site(), table, policies, call.caller.now)?;
    Ok(Answer::set(204))
}
