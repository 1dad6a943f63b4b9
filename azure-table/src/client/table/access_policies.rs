//! The stored access policies of the table.

use crate::client::ops::access_policies::{Change, ChangeAccessPolicies};
use crate::client::ops::table_operations::GetAccessPolicies;
use crate::client::table::TableClient;
use crate::protocol::access_policy::StoredAccessPolicy;

/// Stored access policies: what shared access signatures allow, and until when.
impl<E> TableClient<E> {
    /// The stored access policies of the table.
    ///
    /// # Errors
    /// `Unsupported` — Cosmos DB has none. `Forbidden` — asked with a shared access signature, which cannot.
    ///
    /// Source: REST "Get Table ACL".
    pub fn access_policies(&self) -> GetAccessPolicies {
        GetAccessPolicies::new(&self.pipeline, &self.table)
    }

    /// Adds a stored access policy to those of the table, of at most 5; it works after up to 30 s. The service knows
    /// only the whole list and no ETag of it: of two changes at once one may be lost.
    ///
    /// # Errors
    /// As [`access_policies`](Self::access_policies). `AlreadyExists` — there is one of this id. `InvalidInput` — there
    /// are 5, or the id has not 1 to 64 characters.
    ///
    /// Source: REST "Set Table ACL".
    pub fn add_access_policy(&self, policy: StoredAccessPolicy) -> ChangeAccessPolicies {
        self.change_access_policies(Change::Add(policy))
    }

    /// Puts a stored access policy in the place of the one of the same id: all signatures that name it change with it,
    /// within 30 s.
    ///
    /// # Errors
    /// As [`access_policies`](Self::access_policies). `NotFound` — there is none of this id.
    ///
    /// Source: REST "Set Table ACL".
    pub fn replace_access_policy(&self, policy: StoredAccessPolicy) -> ChangeAccessPolicies {
        self.change_access_policies(Change::Replace(policy))
    }

    /// Takes a stored access policy away, and with it all signatures that name it, within 30 s. The others stay.
    ///
    /// # Errors
    /// As [`replace_access_policy`](Self::replace_access_policy).
    ///
    /// Source: REST "Set Table ACL".
    pub fn revoke_access_policy(&self, id: impl Into<String>) -> ChangeAccessPolicies {
        self.change_access_policies(Change::Revoke(id.into()))
    }

    /// Takes all stored access policies away, and with them all signatures that name one.
    ///
    /// # Errors
    /// As [`access_policies`](Self::access_policies).
    ///
    /// Source: REST "Set Table ACL".
    pub fn revoke_all_access_policies(&self) -> ChangeAccessPolicies {
        self.change_access_policies(Change::Set(Vec::new()))
    }

    /// Puts these stored access policies, at most 5, in the place of all that there are.
    ///
    /// # Errors
    /// As [`add_access_policy`](Self::add_access_policy).
    ///
    /// Source: REST "Set Table ACL".
    pub fn set_access_policies(&self, policies: impl IntoIterator<Item = StoredAccessPolicy>) -> ChangeAccessPolicies {
        self.change_access_policies(Change::Set(policies.into_iter().collect()))
    }

    fn change_access_policies(&self, change: Change) -> ChangeAccessPolicies {
        ChangeAccessPolicies::new(&self.pipeline, &self.table, change)
    }
}
