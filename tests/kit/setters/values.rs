//! Options, signatures and other values that are built before a call.

use std::fmt::Debug;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, AccountServices};
use azure_table::emulator::{PageEnds, RangeSplits, ServiceModel};
use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::policy::{PolicyRequest, PolicyResult, RequestPolicy};
use azure_table::service::{Logging, Metrics, ServiceProperties};
use azure_table::testing::{FaultRule, Faults, ResponseTemplate};
use azure_table::transport::BoxFuture;
use azure_table::{
    AccountKey, AccountSas, CallOptions, DateTime, Error, ExponentialRetry, LinearRetry, LocationMode, TableClient,
    TableName, TablePermissions, TableSas, TableServiceClient,
};

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::builder::{Builder, Line, Setter, change, set};
use super::queries::result;
use super::world::{Thing, World};

pub(super) fn lines() -> Vec<Box<dyn Line>> {
    let name = || TableName::new("Things").unwrap();
    let all = || AccountSas::new(AccountPermissions::READ, AccountResources::ALL, time(9));
    vec![
        Builder::of("CallOptions", |_| CallOptions::new(), call_options(), get_and_query),
        Builder::of("TableServiceClient", rejecting_old, client(), calls),
        Builder::of(
            "TableClient",
            |world| world.service.table("Missing").unwrap(),
            table(),
            async |it, _| result(it.insert(&thing()).await),
        ),
        Builder::changing(
            "TableClient",
            |world| world.service.table("Missing").unwrap(),
            (
                table(),
                change("typed", |it: TableClient<Thing>| it.typed::<Thing>(), |_| true),
                table(),
            ),
            async |it, _| result(it.insert(&thing()).await),
        ),
        Builder::of(
            "TableSas",
            move |_| TableSas::new(&name()),
            table_sas(),
            async |it, _| result(it.sign(&key()).map(|token| token.expose().to_owned())),
        ),
        Builder::of(
            "AccountSas",
            move |_| all(),
            account_sas(),
            async |it, _| result(it.sign(&key()).map(|token| token.expose().to_owned())),
        ),
        Builder::of(
            "ServiceProperties",
            |_| ServiceProperties::default(),
            properties(),
            async |it, world| result(world.service.set_properties(it).await),
        ),
        Builder::of("ExponentialRetry", |_| ExponentialRetry::default(), retry(), debug),
        Builder::of(
            "FaultRule",
            |_| FaultRule::new(ResponseTemplate::internal_error()),
            rule(),
            parts,
        ),
        Builder::of("ResponseTemplate", |_| ResponseTemplate::new(409), template(), parts),
        Builder::of(
            "ServiceModel",
            |_| ServiceModel::azure_storage().splits(RangeSplits::new()),
            model(),
            debug,
        ),
        Builder::of("PageEnds", |_| PageEnds::new(), page_ends(), debug),
    ]
}

async fn debug<T: Debug>(value: T, _: Rc<World>) -> String {
    format!("{value:?}")
}

/// Sorts the parts: the order of headers is that of their setters, as is the order of kinds of requests.
async fn parts<T: Debug>(value: T, _: Rc<World>) -> String {
    let text = format!("{value:?}");
    let mut parts: Vec<&str> = text
        .split(['(', ')', '[', ']', ','])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    parts.sort_unstable();
    parts.join("\n")
}

fn time(hour: i64) -> DateTime {
    DateTime::from_unix_seconds(1_800_000_000 + hour * 3_600)
}

fn key() -> AccountKey {
    AccountKey::new("devstoreaccount1", "AAECAwQFBgc=").unwrap()
}

fn thing() -> Thing {
    Thing {
        shelf: "a".into(),
        id: "1".into(),
        count: 1,
    }
}

/// Returns a client whose first request is rejected because of its clock.
fn rejecting_old(world: &World) -> TableServiceClient {
    let old = ResponseTemplate::new(403)
        .code("AuthenticationFailed")
        .header("date", "Sat, 01 Jan 2000 00:00:00 GMT");
    world.faults.add(FaultRule::new(old).on(OperationKind::Get).nth(1));
    world.service.clone()
}

/// Gets a row, which may be sent in a batch, and queries, which cannot.
async fn get_and_query(options: CallOptions, world: Rc<World>) -> String {
    let got = result(world.things.get(("a", "101")).with(&options).await);
    let query = world.good().partition("a").limit(1).with(&options);
    format!("{got}\n{}", result(query.all().await))
}

/// Gets rows, one and then several concurrently, queries, and inserts.
async fn calls(service: TableServiceClient, _: Rc<World>) -> String {
    let things = service.table::<Thing>("Things").unwrap();
    // The error says how far the clocks are apart.
    let first = result(things.get(("a", "101")).await.map_err(|error| match error.code() {
        Some(code @ "AuthenticationFailed") => Error::other(code.to_owned()),
        _ => error,
    }));
    let others = ["102", "103", "104", "106"].map(|id| things.get(("a", id)).into_future());
    let others = result(Ok(futures::future::join_all(others).await));
    let queried = result(things.query().partition("a").limit(1).all().await);
    let inserted = result(things.insert(&thing()).await);
    [first, others, queried, inserted].join("\n")
}

/// Sets a header of each call.
#[derive(Debug)]
struct Stamp;

impl RequestPolicy for Stamp {
    fn call<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        Box::pin(async { Ok(request.set_header("x-stamp", "1")?) })
    }
}

const S: fn(u64) -> Duration = Duration::from_secs;

#[rustfmt::skip] // a line each
fn call_options() -> Vec<Setter<CallOptions>> {
    vec![
        set("timeout", |it: CallOptions, _| it.timeout(S(7)), |seen| seen.contains("`timeout` of 7s")),
        set("attempt_timeout", |it: CallOptions, _| it.attempt_timeout(S(3)), |seen| seen.contains("(after 2 attempts)")),
        set("retry", |it: CallOptions, _| it.retry(LinearRetry::new(S(1), 9)), |seen| seen.contains("(after 2 attempts)")),
        set("location_mode", |it: CallOptions, _| it.location_mode(LocationMode::SecondaryThenPrimary), |seen| seen.contains("secondary: true")),
        set("via_batch", |it: CallOptions, _| it.via_batch(), |seen| seen.contains("/$batch")),
        set("client_request_id", |it: CallOptions, _| it.client_request_id("own-1"), |seen| seen.contains("Some(\"own-1\")")),
        set("header", |it: CallOptions, _| it.header("x-own", "1"), |seen| seen.contains("x-own: (hidden)")),
        set("policy", |it: CallOptions, _| it.policy(Stamp), |seen| seen.contains("x-stamp: (hidden)")),
        set("context", |it: CallOptions, world| it.context(&world.context), |seen| !seen.contains("recorded 0 attempts")),
        set("with", |it: CallOptions, _| it.with(&CallOptions::new().header("x-other", "1")), |seen| seen.contains("x-other: (hidden)")),
    ]
}

#[rustfmt::skip] // a line each
fn client() -> Vec<Setter<TableServiceClient>> {
    type Client = TableServiceClient;
    vec![
        set("timeout", |it: Client, _| it.timeout(S(7)), |seen| seen.contains("`timeout` of 7s")),
        set("attempt_timeout", |it: Client, _| it.attempt_timeout(S(3)), |seen| seen.contains("(after 2 attempts)")),
        set("retry", |it: Client, _| it.retry(LinearRetry::new(S(1), 9)), |seen| seen.contains("(after 2 attempts)")),
        set("location_mode", |it: Client, _| it.location_mode(LocationMode::SecondaryOnly), |seen| seen.contains("secondary: true")),
        set("with", |it: Client, _| it.with(&CallOptions::new().header("x-own", "1")), |seen| seen.contains("x-own: (hidden)")),
        set("application_id", |it: Client, _| it.application_id("shop"), |seen| seen.contains("user-agent: shop")).one_of("agent"),
        set("user_agent", |it: Client, _| it.user_agent("mine/1"), |seen| seen.contains("user-agent: mine/1")).one_of("agent"),
        set("service_version", |it: Client, _| it.service_version("2020-12-06"), |seen| seen.contains("x-ms-version: 2020-12-06")),
        set("deny_access", |it: Client, _| it.deny_access(AccessPath::TableScan), |seen| !seen.contains("which this client denies")),
        set("max_in_flight", |it: Client, _| it.max_in_flight(2), |seen| !seen.contains("at most 4 in flight")),
        set("read_only", |it: Client, _| it.read_only(), |seen| seen.contains("this client is read-only")),
        set("without_clock_correction", |it: Client, _| it.without_clock_correction(), |seen| seen.contains("AuthenticationFailed")),
    ]
}

#[rustfmt::skip] // a line each
fn table() -> Vec<Setter<TableClient<Thing>>> {
    vec![
        set("create_missing_table", |it: TableClient<Thing>, _| it.create_missing_table(), |seen| seen.contains("/Tables")),
        set("with", |it: TableClient<Thing>, _| it.with(&CallOptions::new().header("x-own", "1")), |seen| seen.contains("x-own: (hidden)")),
    ]
}

#[rustfmt::skip] // a line each
fn table_sas() -> Vec<Setter<TableSas>> {
    vec![
        set("permissions", |it: TableSas, _| it.permissions(TablePermissions::READ), |seen| seen.contains("sp=r")),
        set("first", |it: TableSas, _| it.first("p", "q"), |seen| seen.contains("spk=p&srk=q")),
        set("last", |it: TableSas, _| it.last("r", "s"), |seen| seen.contains("epk=r&erk=s")),
        set("start", |it: TableSas, _| it.start(time(1)), |seen| seen.contains("st=2027")),
        set("expiry", |it: TableSas, _| it.expiry(time(2)), |seen| seen.contains("se=2027")),
        set("ip", |it: TableSas, _| it.ip("10.0.0.1"), |seen| seen.contains("sip=10.0.0.1")),
        set("version", |it: TableSas, _| it.version("2018-03-28"), |seen| seen.contains("sv=2018-03-28")),
        set("https_only", |it: TableSas, _| it.https_only(), |seen| seen.contains("spr=https&")),
        set("policy", |it: TableSas, _| it.policy("readers"), |seen| seen.contains("si=readers")),
    ]
}

#[rustfmt::skip] // a line each
fn account_sas() -> Vec<Setter<AccountSas>> {
    vec![
        set("services", |it: AccountSas, _| it.services(AccountServices::ALL), |seen| seen.contains("ss=bqtf")),
        set("start", |it: AccountSas, _| it.start(time(1)), |seen| seen.contains("st=2027")),
        set("expiry", |it: AccountSas, _| it.expiry(time(24)), |seen| seen.contains("se=2027-01-16")),
        set("ip", |it: AccountSas, _| it.ip("10.0.0.1"), |seen| seen.contains("sip=10.0.0.1")),
        set("version", |it: AccountSas, _| it.version("2018-03-28"), |seen| seen.contains("sv=2018-03-28")),
        set("https_only", |it: AccountSas, _| it.https_only(), |seen| seen.contains("spr=https&")),
    ]
}

#[rustfmt::skip] // a line each
fn properties() -> Vec<Setter<ServiceProperties>> {
    vec![
        set("logging", |it: ServiceProperties, _| it.logging(Logging { delete: true, ..Logging::default() }), |seen| seen.contains("<Delete>true")),
        set("hour_metrics", |it: ServiceProperties, _| it.hour_metrics(Metrics { enabled: true, ..Metrics::default() }), |seen| seen.contains("<HourMetrics>")),
        set("minute_metrics", |it: ServiceProperties, _| it.minute_metrics(Metrics { enabled: true, ..Metrics::default() }), |seen| seen.contains("<MinuteMetrics>")),
        set("cors", |it: ServiceProperties, _| it.cors([]), |seen| seen.contains("<Cors")),
    ]
}

#[rustfmt::skip] // a line each
fn retry() -> Vec<Setter<ExponentialRetry>> {
    vec![
        set("delay", |it: ExponentialRetry, _| it.delay(S(77)), |seen| seen.contains("min: 77s")),
        set("max_delay", |it: ExponentialRetry, _| it.max_delay(S(88)), |seen| seen.contains("max: 88s")),
        set("retries", |it: ExponentialRetry, _| it.retries(99), |seen| seen.contains("retries: 99")),
    ]
}

#[rustfmt::skip] // a line each
fn rule() -> Vec<Setter<FaultRule>> {
    vec![
        set("on", |it: FaultRule, _| it.on(OperationKind::SetAccessPolicies), |seen| seen.contains("SetAccessPolicies")),
        set("on_reads", |it: FaultRule, _| it.on_reads(), |seen| seen.contains("ListTables")),
        set("on_writes", |it: FaultRule, _| it.on_writes(), |seen| seen.contains("DeleteTable")),
        set("table", |it: FaultRule, _| it.table("Things"), |seen| seen.contains("\"Things\"")),
        set("nth", |it: FaultRule, _| it.nth(3), |seen| seen.contains("Nth\n")).one_of("when"),
        set("first", |it: FaultRule, _| it.first(3), |seen| seen.contains("First\n")).one_of("when"),
        set("every", |it: FaultRule, _| it.every(3), |seen| seen.contains("Every\n")).one_of("when"),
        set("probability", |it: FaultRule, _| it.probability(0.25), |seen| seen.contains("0.25")).one_of("when"),
        set("at_most", |it: FaultRule, _| it.at_most(77), |seen| seen.contains("max_hits: 77")),
    ]
}

#[rustfmt::skip] // a line each
fn template() -> Vec<Setter<ResponseTemplate>> {
    vec![
        set("code", |it: ResponseTemplate, _| it.code("Own"), |seen| seen.contains("code: \"Own\"")),
        set("message", |it: ResponseTemplate, _| it.message("text"), |seen| seen.contains("message: \"text\"")),
        set("header", |it: ResponseTemplate, _| it.header("x-own", "1"), |seen| seen.contains("x-own")),
        set("etag", |it: ResponseTemplate, _| it.etag("own-etag"), |seen| seen.contains("own-etag")),
        set("continuation", |it: ResponseTemplate, _| it.continuation("next", "row"), |seen| seen.contains("next")),
    ]
}

#[rustfmt::skip] // a line each
fn model() -> Vec<Setter<ServiceModel>> {
    type Model = ServiceModel;
    vec![
        set("write_latency", |it: Model, _| it.write_latency(S(71)), |seen| seen.contains("71s")),
        set("write_latency_per_entity", |it: Model, _| it.write_latency_per_entity(S(72)), |seen| seen.contains("72s")),
        set("read_latency", |it: Model, _| it.read_latency(S(73)), |seen| seen.contains("73s")),
        set("time_per_request", |it: Model, _| it.time_per_request(S(74)), |seen| seen.contains("74s")),
        set("time_per_entity", |it: Model, _| it.time_per_entity(S(75)), |seen| seen.contains("75s")),
        set("time_per_entity_read", |it: Model, _| it.time_per_entity_read(S(76)), |seen| seen.contains("76s")),
        set("max_wait", |it: Model, _| it.max_wait(S(77)), |seen| seen.contains("77s")),
        set("shedding", |it: Model, _| it.shedding(0.25, S(78), S(79)), |seen| seen.contains("78s")),
        set("queue_chance", |it: Model, _| it.queue_chance(704), |seen| seen.contains("704")),
        set("partition_entities_per_second", |it: Model, _| it.partition_entities_per_second(701), |seen| seen.contains("701")),
        set("account_entities_per_second", |it: Model, _| it.account_entities_per_second(702), |seen| seen.contains("702")),
        set("burst", |it: Model, _| it.burst(S(80)), |seen| seen.contains("80s")),
        set("without_splits", |it: Model, _| it.without_splits(), |seen| seen.contains("splits: None")),
        set("seed", |it: Model, _| it.seed(703), |seen| seen.contains("703")),
    ]
}

#[rustfmt::skip] // a line each
fn page_ends() -> Vec<Setter<PageEnds>> {
    vec![
        set("examined", |it: PageEnds, _| it.examined(71), |seen| seen.contains("71")),
        set("bytes", |it: PageEnds, _| it.bytes(72), |seen| seen.contains("72")),
        set("at_partitions", |it: PageEnds, _| it.at_partitions(), |seen| seen.contains("true")),
    ]
}

/// Each kind of request fires a rule, and no other kind makes one.
#[azure_table::test]
async fn rule_of_a_kind_that_no_request_has_is_refused(faults: Faults, service: TableServiceClient) {
    use OperationKind::*;
    let things = service.table::<Thing>("Things").unwrap();
    let key = || ("a", "1");
    let policies = || things.set_access_policies([]);
    let calls: [(OperationKind, LocalBoxFuture<'_, bool>); 18] = [
        (Insert, async { things.insert(&thing()).await.is_err() }.boxed_local()),
        (Replace, async { things.replace(&thing()).await.is_err() }.boxed_local()),
        (Merge, async { things.merge(&thing()).await.is_err() }.boxed_local()),
        (
            InsertOrReplace,
            async { things.insert_or_replace(&thing()).await.is_err() }.boxed_local(),
        ),
        (
            InsertOrMerge,
            async { things.insert_or_merge(&thing()).await.is_err() }.boxed_local(),
        ),
        (Delete, async { things.delete(key()).await.is_err() }.boxed_local()),
        (Get, async { things.get(key()).await.is_err() }.boxed_local()),
        (Query, async { things.query().all().await.is_err() }.boxed_local()),
        (
            Batch,
            async { things.get(key()).with(&CallOptions::new().via_batch()).await.is_err() }.boxed_local(),
        ),
        (
            CreateTable,
            async { things.create_table().await.is_err() }.boxed_local(),
        ),
        (
            DeleteTable,
            async { things.delete_table().await.is_err() }.boxed_local(),
        ),
        (GetTable, async { things.table_exists().await.is_err() }.boxed_local()),
        (
            ListTables,
            async { service.list_tables().all().await.is_err() }.boxed_local(),
        ),
        (
            GetAccessPolicies,
            async { things.access_policies().await.is_err() }.boxed_local(),
        ),
        (SetAccessPolicies, async { policies().await.is_err() }.boxed_local()),
        (
            GetServiceProperties,
            async { service.properties().await.is_err() }.boxed_local(),
        ),
        (
            SetServiceProperties,
            async { service.set_properties(ServiceProperties::default()).await.is_err() }.boxed_local(),
        ),
        (
            GetServiceStatistics,
            async { service.statistics().await.is_err() }.boxed_local(),
        ),
    ];
    for (kind, call) in calls {
        let rule = faults.add(FaultRule::new(ResponseTemplate::new(400)).on(kind));
        assert!(call.await && rule.hits() > 0, "{kind:?}");
        faults.clear();
    }
    for kind in [
        Ping,
        Bulk,
        Modify,
        Refresh,
        DeleteWhere,
        PatchWhere,
        UpdateWhere,
        Upgrade,
        EnsureTables,
        RecreateTable,
        ChangeAccessPolicies,
    ] {
        let refused = catch_unwind(|| FaultRule::new(ResponseTemplate::new(400)).on(kind)).unwrap_err();
        assert!(
            refused
                .downcast_ref::<String>()
                .unwrap()
                .contains("no request is of the kind")
        );
    }
}
