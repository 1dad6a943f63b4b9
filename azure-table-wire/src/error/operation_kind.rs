//! The operations of the client.
//!
//! Defines [`OperationKind`], and the facts about each operation that are known before any call. The requests and
//! builders of operations are in `azure-table`.

/// An operation of the client.
///
/// Some operations, such as [`Modify`](Self::Modify) and [`DeleteWhere`](Self::DeleteWhere), send several requests,
/// each with its own kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
// One word wide: copying whole words is faster than copying a byte and its surroundings.
#[repr(usize)]
pub enum OperationKind {
    /// Inserts an entity. Fails if its key exists.
    Insert,
    /// Replaces an entity. Fails if it does not exist.
    Replace,
    /// Merges properties into an entity. Fails if it does not exist.
    Merge,
    /// Inserts the entity, or replaces the stored one.
    InsertOrReplace,
    /// Inserts the entity, or merges its properties into the stored one.
    InsertOrMerge,
    /// Deletes an entity. Fails if it does not exist.
    Delete,
    /// Reads one entity.
    Get,
    /// Reads a page of entities.
    Query,
    /// Sends an entity group transaction.
    Batch,
    /// Creates a table.
    CreateTable,
    /// Deletes a table.
    DeleteTable,
    /// Checks that a table exists.
    GetTable,
    /// Reads a page of table names.
    ListTables,
    /// Reads the stored access policies of a table.
    GetAccessPolicies,
    /// Writes the stored access policies of a table.
    SetAccessPolicies,
    /// Reads the properties of the service.
    GetServiceProperties,
    /// Writes the properties of the service.
    SetServiceProperties,
    /// Reads the state of the geo-replication.
    GetServiceStatistics,
    /// Checks that the service is reachable and accepts the credential.
    Ping,
    /// Requests a user delegation key.
    GetUserDelegationKey,
    // From here on, operations that send requests of other kinds.
    /// Writes any number of entities, not atomically.
    Bulk,
    /// Reads an entity, changes it and writes it back.
    Modify,
    /// Rereads an entity that the caller holds.
    Refresh,
    /// Deletes the entities that a query finds.
    DeleteWhere,
    /// Patches the entities that a query finds.
    PatchWhere,
    /// Changes the entities that a query finds.
    UpdateWhere,
    /// Rewrites stored entities in the form of the current struct.
    Upgrade,
    /// Creates those tables of a list that are missing.
    EnsureTables,
    /// Deletes a table and creates it again.
    RecreateTable,
    /// Reads the stored access policies of a table, changes them and writes them back.
    ChangeAccessPolicies,
}

/// The effect of an operation on stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads. A repetition changes nothing.
    Read,
    /// It writes. A repetition may fail or apply twice.
    Write,
}

/// The kind of resource that an operation is about.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Service,
    Table,
    /// The stored access policies of a table.
    Policies,
    Entity,
    /// The resource of its operations.
    Batch,
}

/// The right that a token of Entra ID needs for an operation on Storage.
///
/// Source: "Assign an Azure role for access to table data"; REST "Authorize with Microsoft Entra ID" (actions); REST
/// "Get User Delegation Key".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRight {
    /// In the role Storage Table Data Reader.
    Read,
    /// In the role Storage Table Data Contributor.
    Write,
    /// In the role Storage Table Delegator.
    Delegate,
    /// In no data role: an action below `Microsoft.Storage/storageAccounts/tableServices`.
    Action(&'static str),
}

/// The facts about an operation that are known before any call.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    name: &'static str,
    pub subject: Subject,
    pub effect: Effect,
    /// `true` if the operation is idempotent by itself: see `OperationRequest::is_idempotent`.
    pub is_idempotent: bool,
    /// The status of a rejection that is a result, such as the 404 of a read.
    pub expected_status: Option<u16>,
    /// The letters that a shared access signature needs: all letters in one of these alternatives. Empty if no
    /// signature suffices, or if the letters depend on the request.
    pub sas_letters: &'static [&'static str],
}

impl Facts {
    const fn read(name: &'static str, subject: Subject, letters: &'static [&'static str]) -> Self {
        Self {
            name,
            subject,
            effect: Effect::Read,
            is_idempotent: true,
            expected_status: None,
            sas_letters: letters,
        }
    }

    const fn write(name: &'static str, subject: Subject, letters: &'static [&'static str]) -> Self {
        Self {
            effect: Effect::Write,
            is_idempotent: false,
            ..Self::read(name, subject, letters)
        }
    }

    const fn idempotent(self) -> Self {
        Self {
            is_idempotent: true,
            ..self
        }
    }

    const fn expecting(self, status: u16) -> Self {
        Self {
            expected_status: Some(status),
            ..self
        }
    }
}

impl OperationKind {
    /// Returns the facts from a table with one row for each operation.
    ///
    /// Source of the letters: REST "Create a service SAS", "Create an account SAS", the tables of permissions. That `w`
    /// suffices to create a table was seen live (.NET's test of account permissions, 2021). Idempotent is as in RFC
    /// 9110, section 9.2.2.
    const fn facts(self) -> Facts {
        use Subject::{Batch, Entity, Policies, Service, Table};
        match self {
            Self::Insert => Facts::write("insert", Entity, &["a"]),
            Self::Replace => Facts::write("replace", Entity, &["u"]).idempotent(),
            Self::Merge => Facts::write("merge", Entity, &["u"]).idempotent(),
            Self::InsertOrReplace => Facts::write("insert or replace", Entity, &["au"]).idempotent(),
            Self::InsertOrMerge => Facts::write("insert or merge", Entity, &["au"]).idempotent(),
            Self::Delete => Facts::write("delete", Entity, &["d"]).idempotent(),
            Self::Get => Facts::read("get", Entity, &["r"]).expecting(404),
            Self::Query => Facts::read("query", Entity, &["r"]),
            Self::Batch => Facts::write("batch", Batch, &[]),
            Self::CreateTable => Facts::write("create table", Table, &["c", "w"]),
            Self::DeleteTable => Facts::write("delete table", Table, &["d"]).idempotent(),
            Self::GetTable => Facts::read("get table", Table, &[]).expecting(404),
            Self::ListTables => Facts::read("list tables", Table, &["l"]),
            Self::GetAccessPolicies => Facts::read("get access policies", Policies, &[]),
            Self::SetAccessPolicies => Facts::write("set access policies", Policies, &[]).idempotent(),
            Self::GetServiceProperties => Facts::read("get service properties", Service, &["r"]),
            Self::SetServiceProperties => Facts::write("set service properties", Service, &["w"]).idempotent(),
            Self::GetServiceStatistics => Facts::read("get service statistics", Service, &["r"]),
            Self::Ping => Facts::read("ping", Service, &[]),
            Self::GetUserDelegationKey => Facts::read("get user delegation key", Service, &[]),
            Self::Bulk => Facts::write("bulk", Entity, &[]),
            Self::Modify => Facts::write("modify", Entity, &[]),
            Self::Refresh => Facts::read("refresh", Entity, &[]),
            Self::DeleteWhere => Facts::write("delete where", Entity, &[]),
            Self::PatchWhere => Facts::write("patch where", Entity, &[]),
            Self::UpdateWhere => Facts::write("update where", Entity, &[]),
            Self::Upgrade => Facts::write("upgrade", Entity, &[]),
            Self::EnsureTables => Facts::write("ensure tables", Table, &[]),
            Self::RecreateTable => Facts::write("recreate table", Table, &[]),
            Self::ChangeAccessPolicies => Facts::write("change access policies", Policies, &[]),
        }
    }

    /// Returns the name in errors, logs and telemetry, such as `insert or merge`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }
}

/// Returns `true` if a request can be of this kind. A ping is a list of tables.
#[doc(hidden)]
pub fn is_request(operation: OperationKind) -> bool {
    operation < OperationKind::Bulk && operation != OperationKind::Ping
}

#[doc(hidden)]
pub const fn facts(operation: OperationKind) -> Facts {
    operation.facts()
}

/// Returns `true` if a missing resource can only be the table.
pub(crate) const fn needs_no_row(operation: OperationKind) -> bool {
    use OperationKind::{
        DeleteTable, GetAccessPolicies, GetTable, Insert, InsertOrMerge, InsertOrReplace, Query, SetAccessPolicies,
    };
    matches!(
        operation,
        DeleteTable
            | GetAccessPolicies
            | GetTable
            | Insert
            | InsertOrMerge
            | InsertOrReplace
            | Query
            | SetAccessPolicies
    )
}

/// Returns the right that a token needs. The data roles divide entities and tables by effect.
pub const fn token_right(operation: OperationKind) -> TokenRight {
    match operation {
        OperationKind::GetUserDelegationKey => TokenRight::Delegate,
        OperationKind::GetAccessPolicies => TokenRight::Action("tables/getAcl/action"),
        OperationKind::SetAccessPolicies | OperationKind::ChangeAccessPolicies => {
            TokenRight::Action("tables/setAcl/action")
        }
        OperationKind::GetServiceProperties | OperationKind::GetServiceStatistics => TokenRight::Action("read"),
        OperationKind::SetServiceProperties => TokenRight::Action("write"),
        _ => match operation.facts().effect {
            Effect::Read => TokenRight::Read,
            Effect::Write => TokenRight::Write,
        },
    }
}
