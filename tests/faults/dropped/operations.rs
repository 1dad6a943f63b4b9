//! Every operation that sends, on one small account, and the resulting state.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::LazyLock;
use std::time::Duration;

use azure_table::auth::AuthorizationContext;
use azure_table::service::{CorsRule, ServiceProperties, StoredAccessPolicy};
use azure_table::transport::{BoxFuture, Transport};
use azure_table::{
    CallOptions, Credential, DateTime, Emulator, Error, LinearRetry, Result, TableClient, TableEntity, TableOperation,
    TableServiceClient,
};
use azure_table_patterns::Changes;
use bytes::Bytes;
use futures::TryStreamExt;
use http::Request;

use super::super::doubts::doubt;

#[derive(TableEntity, Clone, Debug, PartialEq)]
pub(super) struct Thing {
    #[table(partition_key)]
    shelf: String,
    #[table(row_key)]
    id: u32,
    #[table(alias = "number")]
    count: i32,
}

fn thing(shelf: &str, id: u32, count: i32) -> Thing {
    let shelf = shelf.into();
    Thing { shelf, id, count }
}

fn many() -> impl Iterator<Item = Thing> {
    (10..16).map(|id| thing(if id % 2 == 0 { "a" } else { "b" }, id, 5))
}

/// The clients of an operation. Each waits 1 s before each retry, and has at most two attempts in flight.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) service: TableServiceClient,
    pub(super) things: TableClient<Thing>,
    /// Only this client can get delegation keys.
    pub(super) delegator: TableServiceClient,
}

impl Client {
    pub(super) fn over(transport: impl Transport + Clone) -> Self {
        let limited = |service: TableServiceClient| {
            let service = service.retry(LinearRetry::new(Duration::from_secs(1), 3));
            service.max_in_flight(2)
        };
        let service = limited(TableServiceClient::from_transport(transport.clone()));
        Self {
            things: service.table("Things").unwrap(),
            delegator: limited(DELEGATOR.transport(transport)),
            service,
        }
    }

    fn table(&self, name: &str) -> TableClient<Thing> {
        self.service.table(name).unwrap()
    }
}

/// Created once, because it reads the certificates of the machine.
static DELEGATOR: LazyLock<TableServiceClient> = LazyLock::new(|| {
    let endpoint = "https://devstoreaccount1.table.core.windows.net";
    TableServiceClient::new(endpoint, Token).unwrap()
});

/// A token of Entra ID that the emulator accepts.
const TOKEN: &str = "token";

#[derive(Debug)]
struct Token;

impl Credential for Token {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        let token = format!("Bearer {TOKEN}").parse().unwrap();
        request.headers_mut().insert("authorization", token);
        Box::pin(std::future::ready(Ok(())))
    }

    fn version(&self) -> &'static str {
        "2025-07-05"
    }
}

/// An account with the tables `Things` and `Other`, on pages of two rows.
pub(super) async fn account() -> Emulator {
    let emulator = Emulator::new().page_size(2).token(TOKEN);
    let service = TableServiceClient::from_transport(emulator.clone());
    for table in ["Things", "Other"] {
        let table = service.table::<Thing>(table).unwrap();
        table.create_table().await.unwrap();
        for (shelf, ids) in [("a", 0..3), ("b", 0..1)] {
            for id in ids {
                table.insert(&thing(shelf, id, 1)).await.unwrap();
            }
        }
        table
            .set_access_policies([StoredAccessPolicy::new("old")])
            .await
            .unwrap();
    }
    // A row of an older form.
    let mut old = azure_table::DynamicEntity::new("old", "0000000000");
    old.insert("number", 1);
    service.dynamic_table("Things").unwrap().insert(&old).await.unwrap();
    emulator
}

/// Everything stored, by name.
pub(super) async fn state(emulator: &Emulator) -> BTreeMap<String, String> {
    let service = TableServiceClient::from_transport(emulator.clone());
    let mut state = BTreeMap::new();
    state.insert(
        "properties".to_owned(),
        format!("{:?}", service.properties().await.unwrap()),
    );
    for name in service.list_tables().await.unwrap() {
        let table = service.dynamic_table(&name).unwrap();
        let policies = table.access_policies().await.unwrap();
        let ids = policies.iter().map(|policy| policy.id.as_str());
        state.insert(format!("table {name}"), ids.collect::<Vec<_>>().join(","));
        for row in table.query().all().await.unwrap() {
            let key = format!("row {name} {} {}", row.partition_key, row.row_key);
            state.insert(key, format!("{:?}", row.properties));
        }
    }
    state
}

pub(super) type Running = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// The atomicity of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// All of it or nothing.
    Yes,
    /// Any of its rows and tables.
    No,
}

pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) is_whole: Whole,
    pub(super) start: fn(Client) -> Running,
}

/// Creates the future before it is polled.
fn running<T, X: Display>(future: impl Future<Output = Result<T, X>> + 'static) -> Running {
    Box::pin(async move { future.await.map(drop).map_err(|e| e.to_string()) })
}

macro_rules! operations {
    ($($whole:ident $name:literal => |$client:ident| $future:expr;)+) => {
        pub(super) const OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            is_whole: Whole::$whole,
            start: |$client| running($future),
        }),+];
    };
}

operations! {
    Yes "insert" => |c| c.things.insert(&thing("a", 9, 5));
    Yes "insert_returning" => |c| c.things.insert_returning(&thing("a", 9, 5));
    Yes "insert_or_replace" => |c| c.things.insert_or_replace(&thing("a", 0, 5));
    Yes "insert_or_merge" => |c| c.things.insert_or_merge(&thing("a", 0, 5));
    Yes "replace" => |c| c.things.replace(&thing("a", 0, 5));
    Yes "save" => |c| async move {
        let mut read = c.things.get(("a", 0)).versioned().await?.ok_or_else(|| Error::other("the account has it"))?;
        read.entity = thing("a", 0, 5);
        c.things.save(&mut read).await
    };
    Yes "merge" => |c| c.things.merge(&thing("a", 0, 5));
    Yes "patch" => |c| c.things.patch(("a", 0), [Thing::COUNT.set(5)]);
    Yes "delete" => |c| c.things.delete(("a", 0));
    Yes "execute" => |c| c.things.execute(TableOperation::insert(&thing("a", 9, 5)));
    Yes "via_batch" => |c| c.things.insert(&thing("a", 9, 5)).with(&CallOptions::new().via_batch());
    Yes "insert_if_not_exists" => |c| c.things.insert_if_not_exists(&thing("a", 9, 5));
    Yes "delete_if_exists" => |c| c.things.delete_if_exists(("a", 0));
    Yes "batch" => |c| {
        let mut batch = c.things.batch();
        for id in 9..12 {
            batch.insert(&thing("a", id, 5)).unwrap();
        }
        batch.delete(("a", 0)).unwrap();
        batch.submit()
    };
    Yes "modify" => |c| c.things.modify(("a", 0), |thing| thing.count += 1);
    Yes "modify or_insert" => |c| c.things.modify(("a", 9), |thing| thing.count += 1).or_insert(|| thing("a", 9, 0));
    No "create_missing_table" => |c| c.table("Missing").create_missing_table().insert(&thing("a", 9, 5));
    Yes "get" => |c| c.things.get(("a", 0));
    Yes "exists" => |c| c.things.exists(("a", 0));
    Yes "refresh" => |c| async move {
        let mut read = c.things.get(("a", 0)).versioned().await?.unwrap();
        c.things.refresh(&mut read).await
    };
    Yes "get_many" => |c| c.things.get_many((0..3).map(|id| ("a", id))).all();
    Yes "query all" => |c| c.things.query().all();
    Yes "query count" => |c| c.things.query().count();
    Yes "query first" => |c| c.things.query().first();
    Yes "stream" => |c| c.things.query().prefetch(0).stream().try_collect::<Vec<_>>();
    Yes "pages" => |c| c.things.query().prefetch(1).pages().try_collect::<Vec<_>>();
    Yes "fan_out" => |c| c.things.query().fan_out().partitions(["a", "b"]).all();
    Yes "scan" => |c| c.things.query().scan().ranges(["b"]).stream().try_collect::<Vec<_>>();
    Yes "pages of a scan" => |c| async move {
        let mut pages = c.things.query().scan().ranges(["b"]).stream();
        while pages.try_next_page().await?.is_some() {}
        Ok::<_, azure_table::Error>(())
    };
    Yes "scan that finds its ranges" => |c| c.things.query().scan().stream().try_collect::<Vec<_>>();
    Yes "partition_keys" => |c| c.things.query().scan().partition_keys().try_collect::<Vec<_>>();
    Yes "changes" => |c| async move {
        Changes::new(c.things.query()).max_polls(1).stream()?.try_collect::<Vec<_>>().await
    };
    No "bulk" => |c| c.things.bulk().batch_size(2).insert(many());
    No "bulk outcomes" => |c| {
        let mut outcomes = c.things.bulk().insert(many()).outcomes();
        async move {
            while outcomes.next().await.is_some() {}
            outcomes.finish()
        }
    };
    No "writer" => |c| async move {
        let mut writer = c.things.bulk().batch_size(2).writer();
        for thing in many() {
            writer.insert(&thing).await?;
        }
        writer.close().await.map_err(azure_table::Error::from)
    };
    No "delete_where" => |c| c.things.delete_where(c.things.query());
    No "patch_where" => |c| c.things.patch_where(c.things.query(), [Thing::COUNT.set(5)]);
    No "update_where" => |c| c.things.update_where(c.things.query(), |thing| thing.count += 1);
    No "upgrade_where" => |c| c.things.upgrade_where(c.things.query().partition("old"));
    No "upgrade_where" => |c| c.things.upgrade_where(c.things.query());
    Yes "create_table" => |c| c.table("Missing").create_table();
    Yes "create_table_if_not_exists" => |c| c.table("Missing").create_table_if_not_exists();
    No "delete_table" => |c| c.table("Other").delete_table();
    No "delete_table_if_exists" => |c| c.table("Other").delete_table_if_exists();
    No "recreate_table" => |c| c.table("Other").recreate_table(Duration::from_secs(60));
    Yes "table_exists" => |c| c.things.table_exists();
    Yes "access_policies" => |c| c.things.access_policies();
    Yes "set_access_policies" => |c| c.things.set_access_policies([StoredAccessPolicy::new("new")]);
    Yes "add_access_policy" => |c| c.things.add_access_policy(StoredAccessPolicy::new("new"));
    Yes "replace_access_policy" => |c| c.things.replace_access_policy(StoredAccessPolicy::new("old"));
    Yes "revoke_access_policy" => |c| c.things.revoke_access_policy("old");
    Yes "revoke_all_access_policies" => |c| c.things.revoke_all_access_policies();
    Yes "list_tables" => |c| c.service.list_tables().page_size(1);
    No "ensure_tables" => |c| c.service.ensure_tables(["Things", "Missing", "Lost"]);
    Yes "ping" => |c| c.service.ping();
    Yes "resolve_doubt" => |c| c.service.resolve_doubt(&doubt("Things", ("a", "0000000000")));
    Yes "properties" => |c| c.service.properties();
    Yes "set_properties" => |c| c.service.set_properties(ServiceProperties::default().cors(Vec::<CorsRule>::new()));
    Yes "statistics" => |c| c.service.statistics();
    Yes "user_delegation_key" => |c| {
        let now = DateTime::now().unix_seconds();
        c.delegator.user_delegation_key(DateTime::from_unix_seconds(now + 3_600))
    };
}
