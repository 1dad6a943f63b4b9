//! Builders that read.

use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use azure_table::operation::{GetEntity, ListTables};
use azure_table::query::{EntityStream, FanOut, GetMany, PageStream, Scan};

use azure_table::{CallOptions, KeyPrefix, Projection, Result, TableName, TableQuery};
use futures::StreamExt as _;

use super::builder::{Builder, Change, Line, Setter, change, set, unseen_here};
use super::world::{Thing, World};

#[derive(Projection, Debug)]
#[table(of = Thing)]
struct Counted {
    count: i32,
}

pub(super) fn lines() -> Vec<Box<dyn Line>> {
    let new = |world: &World| world.things.query();
    let all = &["skip_bad_rows"];
    let parts = |world: &World| world.good().fan_out();
    let scanned = |world: &World| world.good().scan();
    vec![
        Builder::of("TableQuery", new, query(&[]), read),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(&[]),
                change("versioned", TableQuery::versioned, |seen| seen.contains("etag: ")),
                query(&[]),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(&[]),
                change("project", TableQuery::project::<Counted>, |seen| {
                    seen.contains("\nCounted {")
                }),
                query(&[]),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(all),
                change("keys", TableQuery::keys, |seen| seen.contains("\nKey(\"a\", \"1")),
                query(all),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(all),
                change(
                    "select_names",
                    |query: TableQuery<Thing>| query.select_names(["count"]),
                    |seen| seen.contains("\nDynamicEntity"),
                ),
                query(all),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(&[]),
                change(
                    "select",
                    |query: TableQuery<Thing>| query.select((Thing::COUNT,)),
                    |seen| seen.contains("\n(10"),
                ),
                query(&[]),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(all),
                change(
                    "resolve",
                    |query: TableQuery<Thing>| query.resolve(|row| Ok(row.row_key()? == "105")),
                    |seen| seen.contains("\nfalse"),
                ),
                query(all),
            ),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (
                query(all),
                change("lenient", TableQuery::lenient, |seen| seen.contains("\nOk(Thing")),
                query(all),
            ),
            read,
        ),
        Builder::of("FanOut", parts, fan_out(), async |it, _| rows_of(it.stream()).await),
        Builder::of(
            "FanOut",
            parts,
            unseen_here(&["unordered"], fan_out()),
            async |it, _| result(it.count().await),
        ),
        Builder::of("Scan", scanned, scan(|seen| !seen.contains("shelf: \"a\"")), read_scan),
        Builder::resuming(
            "Scan",
            scanned,
            // The ranges of the position replace the others.
            unseen_here(&["ranges"], scan(|seen| seen.contains("\nrows\n29\n"))),
            async |it, _| result(it.count().await),
            async |world| {
                let mut rows = world.good().scan().ranges(["a5", "a7"]).concurrency(1).stream();
                rows.try_next_page().await.unwrap();
                rows.position().to_string()
            },
        ),
        Builder::of("GetMany", many, get_many(), async |it, _| result(it.all().await)),
        Builder::changing(
            "GetMany",
            many,
            (
                get_many(),
                change("versioned", GetMany::versioned, |seen| seen.contains("etag: ")),
                get_many(),
            ),
            async |it, _| result(it.all().await),
        ),
        Builder::of(
            "ListTables",
            |world| world.service.list_tables(),
            list_tables(),
            read_tables,
        ),
        Builder::of("GetEntity", one, get(), async |it, _| result(it.await)),
        got(change("versioned", GetEntity::versioned, |seen| {
            seen.contains("etag: ")
        })),
        got(change("project", GetEntity::project::<Counted>, |seen| {
            seen.contains("Some(Counted")
        })),
        got(change(
            "select",
            |it: GetEntity<Thing>| it.select((Thing::COUNT,)),
            |seen| seen.contains("Some((101"),
        )),
        got(change(
            "resolve",
            |it: GetEntity<Thing>| it.resolve(|row| Ok(row.row_key()? == "101")),
            |seen| seen.contains("Some(true"),
        )),
        got(change(
            "select_names",
            |it: GetEntity<Thing>| it.select_names(["count"]),
            |seen| seen.contains("Some(DynamicEntity"),
        )),
    ]
}

/// Returns the line of a get whose rows have another type.
fn got<Q: Debug + 'static>(change: Change<GetEntity<Thing>, GetEntity<Thing, Q>>) -> Box<dyn Line> {
    Builder::changing("GetEntity", one, (get(), change, get()), async |it, _| result(it.await))
}

fn one(world: &World) -> GetEntity<Thing> {
    world.things.get(("a", "101"))
}

fn many(world: &World) -> GetMany<Thing> {
    world.things.get_many(["100", "101", "102", "103"].map(|id| ("a", id)))
}

fn own() -> CallOptions {
    CallOptions::new().header("x-own", "1")
}

const SHORT: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(9);

#[rustfmt::skip] // a line each
fn fan_out() -> Vec<Setter<FanOut<Thing>>> {
    let prefix = |shelf| KeyPrefix::from_text(shelf, "11").unwrap();
    vec![
        set("partitions", |it: FanOut<Thing>, _| it.partitions(["a", "b"]), |seen| seen.contains("=PartitionKey eq 'a' and (count lt 105 or count gt 105)")),
        set("each_prefix", move |it: FanOut<Thing>, _| it.each_prefix([prefix("c"), prefix("d")]), |seen| seen.contains("=PartitionKey eq 'c' and RowKey ge '11' and RowKey lt '12' and (count lt 105 or count gt 105)")),
        set("concurrency", |it: FanOut<Thing>, _| it.concurrency(2), |seen| seen.contains("at most 2 in flight")),
        set("unordered", |it: FanOut<Thing>, _| it.unordered(), |seen| seen.contains("rows\nThing { shelf: \"b\"")),
        set("with", |it: FanOut<Thing>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: FanOut<Thing>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: FanOut<Thing>, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
    ]
}

#[rustfmt::skip] // a line each
fn scan(is_resumed: fn(&str) -> bool) -> Vec<Setter<Scan<Thing>>> {
    vec![
        set("ranges", |it: Scan<Thing>, _| it.ranges(["a5", "b"]), |seen| seen.contains("=PartitionKey ge 'a5' and PartitionKey lt 'b' and (count lt 105 or count gt 105)")),
        set("resume_from", |it: Scan<Thing>, world| it.resume_from(world.position().unwrap_or_default()), is_resumed),
        set("concurrency", |it: Scan<Thing>, _| it.concurrency(1), |seen| seen.contains("after 35 ms\nSlow")),
        set("on_progress", |it: Scan<Thing>, world| { let note = world.noted("progress was made"); it.on_progress(move |progress, _| note(progress)) }, |seen| seen.contains("progress was made")),
        set("with", |it: Scan<Thing>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Scan<Thing>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: Scan<Thing>, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
    ]
}

#[rustfmt::skip] // a line each
fn get_many<P: 'static>() -> Vec<Setter<GetMany<Thing, P>>> {
    type Many<P> = GetMany<Thing, P>;
    vec![
        set("concurrency", |it: Many<P>, _| it.concurrency(2), |seen| seen.contains("at most 2 in flight")),
        set("unordered", |it: Many<P>, _| it.unordered(), |seen| seen.contains("rows\n[(Key(\"a\", \"101\"")),
        set("with", |it: Many<P>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Many<P>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: Many<P>, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
    ]
}

#[rustfmt::skip] // a line each
fn list_tables() -> Vec<Setter<ListTables>> {
    vec![
        set("starting_with", |it: ListTables, _| it.starting_with("T"), |seen| seen.contains("TableName ge 'T'")),
        set("filter", |it: ListTables, _| it.filter(TableName::NAME.ge("Thing")), |seen| seen.contains("TableName ge 'Thing'")),
        set("page_size", |it: ListTables, _| it.page_size(1), |seen| seen.contains("$top=1")),
        set("limit", |it: ListTables, _| it.limit(3), |seen| seen.contains("\n3 rows")),
        set("prefetch", |it: ListTables, _| it.prefetch(1), |seen| seen.contains("\n2 requests before the second page")),
        set("resume_from", |it: ListTables, world| it.resume_from(world.position().unwrap_or_default()), |seen| seen.contains("NextTableName") && !seen.contains("\n\"Thing1\"")),
        set("with", |it: ListTables, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: ListTables, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: ListTables, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
    ]
}

#[rustfmt::skip] // a line each
fn get<P: 'static>() -> Vec<Setter<GetEntity<Thing, P>>> {
    vec![
        set("with", |it: GetEntity<Thing, P>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: GetEntity<Thing, P>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
    ]
}

async fn rows_of(mut rows: EntityStream<Thing>) -> String {
    let mut shown = Vec::new();
    while let Some(row) = rows.next().await {
        shown.push(row.map_or_else(|error| error.to_string(), |row| format!("{row:?}")));
    }
    format!("rows\n{}", shown.join("\n"))
}

async fn read_scan(scan: Scan<Thing>, _: Rc<World>) -> String {
    let (mut rows, mut shown) = (scan.stream(), Vec::new());
    let mut position = None;
    loop {
        match rows.try_next_page().await {
            Ok(Some(page)) => shown.extend(page.into_iter().map(|row| format!("{row:?}"))),
            Ok(None) => break,
            Err(error) => {
                shown.push(error.to_string());
                break;
            }
        }
        position.get_or_insert_with(|| rows.position().to_string());
    }
    shown.sort();
    format!("position: {}\nrows\n{}", position.unwrap_or_default(), shown.join("\n"))
}

async fn read_tables(tables: ListTables, world: Rc<World>) -> String {
    pages_of(tables.pages(), world).await
}

pub(super) fn result<T: Debug>(result: Result<T>) -> String {
    result.map_or_else(|error| error.to_string(), |result| format!("rows\n{result:?}"))
}

/// The setters of a query, whatever it reads.
#[rustfmt::skip] // a line each
fn query<P: 'static>(without: &[&str]) -> Vec<Setter<TableQuery<Thing, P>>> {
    type Query<P> = TableQuery<Thing, P>;
    let text = |shelf: &str, id: &str| KeyPrefix::from_text(shelf, id).unwrap();
    let two = move || [text("a", "1"), text("b", "1")];
    let own = CallOptions::new().header("x-own", "1");
    let mut setters: Vec<Setter<Query<P>>> = vec![
        set("partition", |it: Query<P>, _| it.partition("a"), |seen| seen.contains("=PartitionKey eq 'a' and")).one_of("keys"),
        set("key_prefix", move |it: Query<P>, _| it.key_prefix(text("a", "1")), |seen| seen.contains("RowKey ge '1'")).one_of("keys"),
        set("key_prefixes", move |it: Query<P>, _| it.key_prefixes(two()), |seen| seen.contains("PartitionKey le 'b'")).one_of("keys"),
        set("between", move |it: Query<P>, _| it.between(text("a", "102"), text("b", "118")), |seen| seen.contains("RowKey ge '102'")).one_of("keys"),
        set("filter", |it: Query<P>, _| it.filter(Thing::ID.lt("120").or(Thing::ID.gt("124"))), |seen| seen.contains(" and (RowKey lt '120' or RowKey gt '124')")),
        set("page_size", |it: Query<P>, _| it.page_size(3), |seen| seen.contains("$top=3")),
        set("limit", |it: Query<P>, _| it.limit(7), |seen| seen.contains("\n7 rows")),
        set("prefetch", |it: Query<P>, _| it.prefetch(1), |seen| seen.contains("\n2 requests before the second page")),
        set("allow_table_scan", |it: Query<P>, _| it.allow_table_scan(), |seen| !seen.contains("which this client denies")),
        set("resume_from", |it: Query<P>, world| it.resume_from(world.position().unwrap_or_default()), is_resumed),
        set("skip_bad_rows", |it: Query<P>, world| it.skip_bad_rows(world.noted("skipped")), |seen| seen.contains("skipped")),
        set("without_row_keys", |it: Query<P>, _| it.without_row_keys("100"), |seen| seen.contains("RowKey lt '100'")),
        set("with", move |it: Query<P>, _| it.with(&own), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Query<P>, _| it.timeout(Duration::from_secs(7)), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: Query<P>, _| it.total_timeout(Duration::from_secs(9)), |seen| seen.contains("`total_timeout` of 9s")),
    ];
    setters.retain(|setter| !without.contains(&setter.name()));
    setters
}

/// Returns `true` if no query begins at its first row.
fn is_resumed(seen: &str) -> bool {
    let mut requests = seen.lines().filter(|line| line.starts_with("GET"));
    requests.all(|line| line.contains("NextPartitionKey="))
}

/// Reads the first page, waits for one that is prefetched, and reads the others.
async fn read<P: Debug>(query: TableQuery<Thing, P>, world: Rc<World>) -> String {
    pages_of(query.pages(), world).await
}

async fn pages_of<P: Debug>(mut pages: PageStream<P>, world: Rc<World>) -> String {
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    loop {
        match pages.try_next().await {
            Ok(Some(page)) => {
                if rows.is_empty() {
                    ends.push(format!("position: {}", page.continuation()));
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    ends.push(format!("{} requests before the second page", world.spy.requests()));
                }
                rows.extend(page.into_items().into_iter().map(|row| format!("{row:?}")));
            }
            Ok(None) => break,
            Err(error) => {
                ends.push(format!("{error}"));
                break;
            }
        }
    }
    format!("{}\n{} rows\n{}", ends.join("\n"), rows.len(), rows.join("\n"))
}
