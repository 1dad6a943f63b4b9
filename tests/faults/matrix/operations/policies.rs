//! Stored access policies.

use azure_table::operation::Call;
use azure_table::service::StoredAccessPolicy;
use azure_table::{ErrorKind, TablePermissions};

use super::super::model::{State, Subject};
use super::super::operation::{Chosen, Entry, Given, On, Origin, Parts, Reported};

pub(super) const ENTRIES: &[Entry] = entries! {
    "access policies" ["TableClient::access_policies"] .on(Subject::Policies) => |_| {
        let view = |state: &State| state.policies.iter().map(|policy| format!("{policy:?}")).collect();
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let policies = on.table.access_policies().with(&on.call).await?;
            Ok(policies.iter().map(|policy| format!("{policy:?}")).collect())
        })
    };
    "set access policies" ["TableClient::set_access_policies"] .on(Subject::Policies) => |given| {
        let policies: Vec<_> = (0..fastrand::i64(1..=4)).map(|id| policy(id, given.value)).collect();
        let after = Ok(with(given, policies.clone()));
        change(after, |on| on.table.set_access_policies(policies).with(&on.call))
    };
    "revoke all access policies" ["TableClient::revoke_all_access_policies"]
    .on(Subject::Policies).calls(2) => |given| {
        let after = Ok(with(given, Vec::new()));
        change(after, |on| on.table.revoke_all_access_policies().with(&on.call))
    };
    "add access policy" ["TableClient::add_access_policy"] .on(Subject::Policies).calls(2) => |given| {
        let new = policy(fastrand::i64(0..5), given.value);
        let after = match at(given, &new.id) {
            Some(_) => Err(ErrorKind::AlreadyExists),
            None => Ok(with(given, [given.state.policies.clone(), vec![new.clone()]].concat())),
        };
        change(after, |on| on.table.add_access_policy(new).with(&on.call))
    };
    "replace access policy" ["TableClient::replace_access_policy"] .on(Subject::Policies).calls(2) => |given| {
        let new = policy(fastrand::i64(0..4), given.value);
        let after = at(given, &new.id).ok_or(ErrorKind::NotFound).map(|at| {
            let mut policies = given.state.policies.clone();
            policies[at] = new.clone();
            with(given, policies)
        });
        change(after, |on| on.table.replace_access_policy(new).with(&on.call))
    };
    "revoke access policy" ["TableClient::revoke_access_policy"] .on(Subject::Policies).calls(3) => |given| {
        let id = fastrand::i64(0..4).to_string();
        let after = at(given, &id).ok_or(ErrorKind::NotFound).map(|at| {
            let mut policies = given.state.policies.clone();
            policies.remove(at);
            with(given, policies)
        });
        change(after, |on| on.table.revoke_access_policy(id).with(&on.call))
    };
};

/// A policy of this id, with a distinct expiry.
pub(crate) fn policy(id: i64, value: i64) -> StoredAccessPolicy {
    let begin: azure_table::DateTime = "2030-01-01T00:00:00Z".parse().unwrap();
    StoredAccessPolicy {
        expiry: Some(begin + std::time::Duration::from_secs(value.unsigned_abs())),
        permissions: Some(TablePermissions::READ),
        ..StoredAccessPolicy::new(id.to_string())
    }
}

fn at(given: &Given<'_>, id: &str) -> Option<usize> {
    given.state.policies.iter().position(|policy| policy.id == id)
}

fn with(given: &Given<'_>, policies: Vec<StoredAccessPolicy>) -> State {
    State {
        policies,
        ..given.state.clone()
    }
}

fn change(after: Result<State, ErrorKind>, call: impl FnOnce(On) -> Call<Vec<StoredAccessPolicy>> + 'static) -> Chosen {
    let policies = after.as_ref().ok().map(|after| after.policies.clone());
    Chosen::change(after, false, true, |on| async move {
        Reported::of(call(on).await, |set| match Some(&set) == policies.as_ref() {
            true => Reported::Done,
            false => Reported::Seen(vec![format!("{set:?}")]),
        })
    })
}
