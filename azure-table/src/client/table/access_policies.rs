//! The stored access policies of the table.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::service::access_policy::StoredAccessPolicy;

use crate::client::ops::access_policies::{PolicyChange, change_access_policies};
use crate::client::ops::call::Call;
use crate::client::table_handle::TableClient;
use crate::request::table_acl;

/// Stored access policies: the permissions and lifetime of shared access signatures.
///
/// The service stores only the whole list, without an ETag. A change overwrites changes that others make between its
/// read and its write, or before the client sends it again.
impl<E> TableClient<E> {
    /// Reads the stored access policies of the table.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unsupported`: Cosmos DB has no access policies.
    /// - `Forbidden`: the credential is a shared access signature, which cannot read them.
    ///
    /// Source: REST "Get Table ACL".
    #[doc(alias("GetPermissions", "GetAccessPolicies"))]
    pub fn access_policies(&self) -> Call<Vec<StoredAccessPolicy>> {
        self.request(OperationKind::GetAccessPolicies, table_acl::get, |response, _| {
            table_acl::policies(response)
        })
    }

    /// Adds a stored access policy. A table has at most 5. The policy takes effect within 30 s.
    ///
    /// Of two concurrent changes, one may be lost: change a table's policies from one process only.
    ///
    /// Requests: 2. Lost response: [repeated](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`access_policies`](Self::access_policies).
    /// - `AlreadyExists`: a policy has this id.
    /// - `InvalidInput`: the table already has 5 policies, or the id is not 1 to 64 characters long.
    ///
    /// Source: REST "Set Table ACL".
    pub fn add_access_policy(&self, policy: StoredAccessPolicy) -> Call<Vec<StoredAccessPolicy>> {
        self.change_access_policies(PolicyChange::Add(policy))
    }

    /// Replaces the stored access policy with the same id.
    ///
    /// All signatures that name it change too. The service does not document how soon.
    ///
    /// Of two concurrent changes, one may be lost: change a table's policies from one process only.
    ///
    /// Requests: 2. Lost response: [repeated](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`access_policies`](Self::access_policies).
    /// - `NotFound`: no policy has this id.
    ///
    /// Source: REST "Set Table ACL".
    pub fn replace_access_policy(&self, policy: StoredAccessPolicy) -> Call<Vec<StoredAccessPolicy>> {
        self.change_access_policies(PolicyChange::Replace(policy))
    }

    /// Removes a stored access policy, and revokes all signatures that name it. The service does not document how soon.
    ///
    /// The other policies stay. In case a concurrent change restored the policy, the client reads the list again, and
    /// repeats its write up to three times until the policy is gone. A later change can still restore it, so change a
    /// table's policies from one process only.
    ///
    /// Requests: 3, and 2 more after each undo. Lost response: [repeated](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`replace_access_policy`](Self::replace_access_policy).
    /// - `Conflict`: other changes restored the policy after each of four writes.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt): the policy was removed, but the client could not read the list again.
    ///
    /// Source: REST "Set Table ACL".
    pub fn revoke_access_policy(&self, id: impl Into<String>) -> Call<Vec<StoredAccessPolicy>> {
        self.change_access_policies(PolicyChange::Revoke(id.into()))
    }

    /// Removes all stored access policies, and revokes all signatures that name one.
    ///
    /// The client verifies it as [`revoke_access_policy`](Self::revoke_access_policy) does.
    ///
    /// Requests: 2, and 2 more after each undo. Lost response: [repeated](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`revoke_access_policy`](Self::revoke_access_policy), except `NotFound`.
    ///
    /// Source: REST "Set Table ACL".
    pub fn revoke_all_access_policies(&self) -> Call<Vec<StoredAccessPolicy>> {
        self.change_access_policies(PolicyChange::RevokeAll)
    }

    /// Replaces all stored access policies with `policies`, at most 5.
    ///
    /// Of two concurrent changes, one may be lost: change a table's policies from one process only.
    ///
    /// Requests: 1. Lost response: [repeated](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`add_access_policy`](Self::add_access_policy).
    ///
    /// Source: REST "Set Table ACL".
    #[doc(alias("SetPermissions", "SetAccessPolicy"))]
    pub fn set_access_policies(
        &self,
        policies: impl IntoIterator<Item = StoredAccessPolicy>,
    ) -> Call<Vec<StoredAccessPolicy>> {
        self.change_access_policies(PolicyChange::Set(policies.into_iter().collect()))
    }

    fn change_access_policies(&self, change: PolicyChange) -> Call<Vec<StoredAccessPolicy>> {
        change_access_policies(&self.pipeline, &self.table, change)
    }
}
