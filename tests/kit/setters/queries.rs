//! Builders that read.

use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use azure_table::operation::{GetEntity, ListTables};
use azure_table::query::{EntityStream, FanOut, GetMany, PageStream, Scan};

use azure_table::{CallOptions, KeyPrefix, Projection, Result, TableName, TableQuery};
use futures::StreamExt as _;

use super::builder::{Builder, Line, Setter, Thing, World, set};

#[derive(Projection, Debug)]
#[table(of = Thing)]
struct Counted {
    count: i32,
}

pub(super) fn lines() -> Vec<Box<dyn Line>> {
    let new = |world: &World| world.things.query();
    let all = &["skip_bad_rows"];
    vec![
        Builder::of("TableQuery", new, query(&[]), read),
        Builder::changing("TableQuery", new, (query(&[]), TableQuery::versioned, query(&[])), read),
        Builder::changing(
            "TableQuery",
            new,
            (query(&[]), TableQuery::project::<Counted>, query(&[])),
            read,
        ),
        Builder::changing("TableQuery", new, (query(all), TableQuery::keys, query(all)), read),
        Builder::changing(
            "TableQuery",
            new,
            (query(all), |query| query.select_names(["count"]), query(all)),
            read,
        ),
        Builder::changing(
            "TableQuery",
            new,
            (query(&[]), |query| query.select((Thing::COUNT,)), query(&[])),
            read,
        ),
        Builder::changing("TableQuery", new, (query(all), TableQuery::lenient, query(all)), read),
        Builder::of(
            "FanOut",
            |world| world.good().allow_table_scan().fan_out(),
            fan_out(),
            async |it, _| rows_of(it.stream()).await,
        ),
        Builder::of(
            "Scan",
            |world| world.good().allow_table_scan().scan(),
            scan(),
            read_scan,
        ),
        Builder::of("GetMany", many, get_many(), async |it, _| result(it.all().await)),
        Builder::changing(
            "GetMany",
            many,
            (get_many(), GetMany::versioned, get_many()),
            async |it, _| result(it.all().await),
        ),
        Builder::of(
            "ListTables",
            |world| world.service.list_tables(),
            list_tables(),
            read_tables,
        ),
        Builder::of("GetEntity", one, get(), async |it, _| result(it.await)),
        Builder::changing("GetEntity", one, (get(), GetEntity::versioned, get()), async |it, _| {
            result(it.await)
        }),
        Builder::changing(
            "GetEntity",
            one,
            (get(), |it| it.select_names(["count"]), get()),
            async |it, _| result(it.await),
        ),
    ]
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
        set("partitions", |it: FanOut<Thing>, _| it.partitions(["a", "b"]), |seen| seen.contains("=PartitionKey eq 'a' and RowKey ne")),
        set("each_prefix", move |it: FanOut<Thing>, _| it.each_prefix([prefix("c"), prefix("d")]), |seen| seen.contains("PartitionKey eq 'c' and RowKey ge '11'")),
        set("concurrency", |it: FanOut<Thing>, _| it.concurrency(2), |seen| seen.contains("after 30ms\nSlow")),
        set("unordered", |it: FanOut<Thing>, _| it.unordered(), |seen| seen.contains("rows\nThing { shelf: \"b\"")),
        set("with", |it: FanOut<Thing>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: FanOut<Thing>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
        set("total_timeout", |it: FanOut<Thing>, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
    ]
}

#[rustfmt::skip] // a line each
fn scan() -> Vec<Setter<Scan<Thing>>> {
    vec![
        set("ranges", |it: Scan<Thing>, _| it.ranges(["a5", "b"]), |seen| seen.contains("PartitionKey ge 'a5'")),
        set("resume_from", |it: Scan<Thing>, world| it.resume_from(world.position()), |seen| !seen.contains("shelf: \"a\"")),
        set("concurrency", |it: Scan<Thing>, _| it.concurrency(1), |seen| seen.contains("after 35ms\nSlow")),
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
        set("concurrency", |it: Many<P>, _| it.concurrency(2), |seen| seen.contains("after 30ms\nSlow")),
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
        set("resume_from", |it: ListTables, world| it.resume_from(world.position()), |seen| seen.contains("NextTableName") && !seen.contains("\n\"Thing1\"")),
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
        set("partition", |it: Query<P>, _| it.partition("a"), |seen| seen.contains("=PartitionKey eq 'a' and RowKey ne")).one_of("keys"),
        set("key_prefix", move |it: Query<P>, _| it.key_prefix(text("a", "1")), |seen| seen.contains("RowKey ge '1'")).one_of("keys"),
        set("key_prefixes", move |it: Query<P>, _| it.key_prefixes(two()), |seen| seen.contains("PartitionKey le 'b'")).one_of("keys"),
        set("between", move |it: Query<P>, _| it.between(text("a", "102"), text("b", "118")), |seen| seen.contains("RowKey ge '102'")).one_of("keys"),
        set("filter", |it: Query<P>, _| it.filter(Thing::ID.ne("129")), |seen| seen.contains("RowKey ne '129'")),
        set("page_size", |it: Query<P>, _| it.page_size(3), |seen| seen.contains("$top=3")),
        set("limit", |it: Query<P>, _| it.limit(7), |seen| seen.contains("\n7 rows")),
        set("prefetch", |it: Query<P>, _| it.prefetch(1), |seen| seen.contains("\n2 requests before the second page")),
        set("allow_table_scan", |it: Query<P>, _| it.allow_table_scan(), |seen| !seen.contains("which this client denies")),
        set("resume_from", |it: Query<P>, world| it.resume_from(world.position()), is_resumed),
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
