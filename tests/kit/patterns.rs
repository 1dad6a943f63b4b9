//! The patterns: the costs that their pages state, measured by a spy.

use std::pin::pin;
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Exchange, Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{
    DateTime, DynamicEntity, Emulator, ErrorKind, LocationMode, Result, TableClient, TableEntity, TableOperation,
};
use azure_table::{TableQuery, TableServiceClient, Versioned};
use azure_table_patterns::{Changes, Expiring, Fence, Leases, Log, Queue, Revision, Sequence};
use azure_table_patterns::{TablePerPeriod, UniqueInTable};
use azure_table_tests::entities::Session;
use azure_table_tests::errors::assert_error;
use futures::future::join;
use futures::{FutureExt as _, TryStreamExt};
use tokio::time::Instant;
use xtask::sources::root;

const MINUTE: Duration = Duration::from_secs(60);

fn row(id: &str) -> Session {
    Session {
        group: "g".into(),
        id: id.into(),
        expires: DateTime::from_unix_seconds(0),
        write: None,
    }
}

/// A client whose requests are counted, and the lines of their table.
struct Costs {
    spy: Spy,
    rows: TableClient<Session>,
    lines: Vec<String>,
}

impl Costs {
    async fn new() -> Result<Self> {
        let spy = Spy::new(Emulator::new());
        let rows = TableServiceClient::from_transport(spy.clone()).table("Rows")?;
        rows.create_table().await?;
        Ok(Self {
            spy,
            rows,
            lines: Vec::new(),
        })
    }

    fn table(&self) -> TableClient<DynamicEntity> {
        TableServiceClient::from_transport(self.spy.clone())
            .dynamic_table("Rows")
            .unwrap()
    }

    /// Adds a line for a call: its requests, and the entities sent and received.
    async fn of<T>(&mut self, call: &str, running: impl Future<Output = Result<T>>) -> Result<T> {
        self.spy.clear();
        let output = running.await?;
        let exchanges = self.spy.exchanges();
        let kinds: Vec<String> = exchanges
            .iter()
            .map(|it| it.kind().map_or("?".to_owned(), |kind| format!("{kind:?}")))
            .collect();
        let kinds = if kinds.is_empty() {
            "none".to_owned()
        } else {
            kinds.join(", ")
        };
        let entities: usize = exchanges.iter().map(entities).sum();
        self.lines.push(format!("| {call} | {kinds} | {entities} |"));
        Ok(output)
    }

    /// Checks that the page of a file has exactly these lines.
    fn check(self, file: &str) {
        let path = root().join("azure-table-patterns/src").join(file);
        let page = std::fs::read_to_string(path).unwrap();
        let lines = page.lines().filter_map(|line| line.strip_prefix("/// "));
        let written: Vec<&str> = lines.filter(|line| line.starts_with("| `")).collect();
        assert_eq!(written, self.lines, "the costs of {file}:\n{}\n", self.lines.join("\n"));
    }
}

fn entities(exchange: &Exchange) -> usize {
    use OperationKind::{Batch, CreateTable, DeleteTable, Get, ListTables, Query};
    match exchange.kind() {
        Some(Batch) => exchange.body().matches(" HTTP/1.1").count(),
        Some(Query) => exchange
            .response_body()
            .map_or(0, |body| body.matches("\"PartitionKey\":").count()),
        Some(Get) => usize::from(exchange.status() == Some(200)),
        Some(CreateTable | DeleteTable | ListTables) => 0,
        _ => 1,
    }
}

#[tokio::test]
async fn fence_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let rows = costs.rows.clone();
    let mut fence = costs.of("`open`, new header", Fence::open(&rows, &row("$h"))).await?;
    let mut other = costs.of("`open`", Fence::open(&rows, &row("$h"))).await?;
    let insert = |id: &'static str| move |_: &mut Session| Ok(vec![TableOperation::insert(&row(id))]);
    costs
        .of("`transact`, one operation", fence.transact(insert("a")))
        .await?;
    let lone = Session {
        group: "other".into(),
        ..row("$h")
    };
    let mut new = Fence::with_new_header(&rows, lone);
    let beside = |header: &mut Session| {
        let line = Session {
            group: header.group.clone(),
            ..row("a")
        };
        Ok(vec![TableOperation::insert(&line)])
    };
    costs
        .of("`transact`, one operation and a new header", new.transact(beside))
        .await?;
    costs
        .of("`transact` after a conflict", other.transact(insert("b")))
        .await?;
    costs.check("fence.rs");
    Ok(())
}

#[tokio::test]
async fn revision_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let rows = costs.rows.clone();
    let revision = Revision::new(&rows, "g", "$r");
    let mut batch = rows.batch();
    batch.push(revision.operation())?.insert(&row("a"))?;
    costs
        .of("`operation` in a batch of 2", async { batch.submit().await })
        .await?;
    rows.insert(&row("b")).await?;
    let query = rows.query();
    let read = costs.of("`snapshot`, 2 rows", revision.snapshot(query.clone()));
    assert_eq!(read.await?.len(), 2);
    let read = costs.of("`snapshot`, 2 pages of 1 row", revision.snapshot(query.page_size(1)));
    assert_eq!(read.await?.len(), 2);
    let header = Fence::open(&rows, &row("$h")).await?.revision()?;
    let query = rows.query().without_row_keys("$r");
    let read = costs.of(
        "`snapshot_with_row`, 2 rows",
        header.snapshot_with_row::<Session, _, _>(query),
    );
    assert_eq!(read.await?.1.len(), 2);
    costs.check("revision.rs");
    Ok(())
}

#[tokio::test]
async fn log_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let table = costs.table();
    let events = ["a".to_owned(), "b".to_owned()];
    let mut log = costs.of("`open`, new log", Log::open(&table, "g")).await?;
    let mut other: Log<String> = costs.of("`open`", Log::open(&table, "g")).await?;
    costs.of("`append`, 2 events", log.append(&events)).await?;
    costs.of("`append` after a conflict", other.append(&events)).await?;
    log.position().await?;
    costs.of("`append_at`, 2 events", log.append_at(4, &events)).await?;
    costs
        .of("`append_once`, 2 events", log.append_once("k", &events))
        .await?;
    costs.of("`append_once` again", log.append_once("k", &events)).await?;
    costs.of("`position`", log.position()).await?;
    let read = costs.of("`read_from`, 8 events", log.read_from(0).try_collect::<Vec<_>>());
    assert_eq!(read.await?.len(), 8);
    let reader = Log::<String>::reader(&table, "g");
    let read = costs.of(
        "`reader`, `read_from`, 8 events",
        reader.read_from(0).try_collect::<Vec<_>>(),
    );
    assert_eq!(read.await?.len(), 8);
    assert_eq!(costs.of("`reader`, `position`", reader.position()).await?, 0..8);
    assert_eq!(costs.of("`trim`, 8 events and a key", log.trim(8)).await?, 9);
    costs.check("log.rs");
    Ok(())
}

#[tokio::test]
async fn changes_have_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let rows = costs.rows.clone();
    for id in ["a", "b"] {
        rows.insert(&row(id)).await?;
    }
    let poll = async |query: TableQuery<Session>| {
        let changes = Changes::new(query).max_polls(1).stream()?;
        changes.try_collect::<Vec<_>>().await
    };
    let read = costs.of("`try_next` to the end of a poll, 2 rows", poll(rows.query()));
    assert_eq!(read.await?.len(), 2);
    let read = costs.of(
        "`try_next` to the end of a poll, 2 pages of 1 row",
        poll(rows.query().page_size(1)),
    );
    assert_eq!(read.await?.len(), 2);
    costs.check("changes.rs");
    Ok(())
}

#[tokio::test]
async fn log_that_does_not_exist_is_read_as_empty_and_not_created() -> Result<()> {
    let costs = Costs::new().await?;
    let reader = Log::<String>::reader(&costs.table(), "g");
    assert_eq!(costs.spy.exchanges().len(), 1, "only the table was created");
    costs.spy.clear();
    assert_eq!(reader.read_from(0).try_next().await?, None);
    let requests: Vec<_> = costs.spy.exchanges().iter().map(Exchange::kind).collect();
    assert_eq!(requests, [Some(OperationKind::Query), Some(OperationKind::Get)]);
    assert_eq!(reader.position().await?, 0..0);
    assert_eq!(costs.table().query().count().await?, 0, "a row was written");

    let mut log = Log::open(&costs.table(), "g").await?;
    log.append(&["a".to_owned(), "b".to_owned()]).await?;
    log.trim(1).await?;
    assert_eq!(reader.position().await?, 1..2);
    assert_eq!(reader.clone().read_from(1).try_next().await?, Some((1, "b".to_owned())));
    let trimmed = reader.read_from(0).try_next().await.unwrap_err();
    assert!(
        trimmed.to_string().contains("event 0 of the log was trimmed"),
        "{trimmed}"
    );
    Ok(())
}

/// Otherwise a reader would take events that it missed for a log without them, and never append behind them.
#[tokio::test]
async fn log_whose_events_were_all_trimmed_does_not_end_normally() -> Result<()> {
    let costs = Costs::new().await?;
    let mut log = Log::open(&costs.table(), "g").await?;
    let events: Vec<String> = (0..1_500).map(|n: u32| n.to_string()).collect();
    for part in events.chunks(99) {
        log.append(part).await?;
    }
    let reader = Log::<String>::reader(&costs.table(), "g");
    let mut reading = reader.read_from(0);
    assert!(reading.try_next().await?.is_some());
    log.trim(1_500).await?;
    let error = loop {
        match reading.try_next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended"),
            Err(e) => break e,
        }
    };
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = "event 1000 of the log was trimmed: read from 1500 on";
    assert!(error.to_string().contains(text), "{error}");
    let error = reader.read_from(0).try_collect::<Vec<_>>().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("event 0 of the log was trimmed: read from 1500 on"),
        "{error}"
    );
    assert_eq!(reader.read_from(1_500).try_next().await?, None);
    Ok(())
}

#[azure_table::test]
async fn trim_that_fails_after_it_deleted_events_is_in_doubt(faults: Faults, table: TableClient) -> Result<()> {
    let mut log = Log::open(&table, "g").await?;
    log.append(&["a".to_owned(), "b".to_owned()]).await?;
    // The first query finds the events, the second the keys.
    let denied = FaultRule::new(ResponseTemplate::new(403)).on(OperationKind::Query);
    faults.add(denied.clone().nth(2));
    let error = log.trim(1).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_applied()),
        (ErrorKind::InDoubt, true),
        "{error}"
    );
    assert_eq!(
        table.query().partition("g").count().await?,
        2,
        "the header and an event"
    );

    faults.add(denied.nth(1));
    let error = log.trim(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(log.position().await?, 2..2, "the header was written");
    Ok(())
}

#[azure_table::test]
async fn opening_that_ends_after_it_inserted_the_header_is_in_doubt(faults: Faults, table: TableClient) -> Result<()> {
    let denied = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(denied).on(OperationKind::Get).nth(2));
    let error = Log::<String>::open(&table, "g").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(table.query().count().await?, 1);
    Ok(())
}

#[tokio::test]
async fn queue_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let queue = Queue::<u32>::new(&costs.table(), "g", "~");
    costs.of("`push`", queue.push(&1)).await?;
    let item = costs.of("`take`", queue.take(MINUTE)).await?;
    let mut item = item.expect("it waits");
    costs.of("`take`, one item in work", queue.take(MINUTE)).await?;
    costs.of("`extend`", item.extend(MINUTE)).await?;
    costs.of("`abandon`", item.abandon()).await?;
    let item = queue.take(MINUTE).await?.expect("it is free");
    assert_eq!(item.deliveries(), 2);
    assert!(costs.of("`complete`", item.complete()).await?);
    costs.check("queue.rs");
    Ok(())
}

#[tokio::test]
async fn leases_have_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let leases = Leases::new(&costs.table(), MINUTE);
    let first = costs.of("`acquire`, new row", leases.acquire("g", "l", "a")).await?;
    first.expect("it is new").release().await?;
    let lease = costs.of("`acquire`, free", leases.acquire("g", "l", "a")).await?;
    let mut lease = lease.expect("it is free");
    costs.of("`acquire`, held", leases.acquire("g", "l", "b")).await?;
    costs.of("`renew`", lease.renew()).await?;
    costs.of("`release`", lease.release()).await?;
    costs.of("`create`", leases.create("g", "m")).await?;
    let entries = costs.of("`list`, 2 leases", leases.list("g")).await?;
    let lease = costs
        .of("`acquire_entry`", leases.acquire_entry(&entries[0], "a"))
        .await?;
    let mut lease = lease.expect("it is free");
    let entries = leases.list("g").await?;
    assert!(costs.of("`request`", leases.request(&entries[0], "b")).await?);
    costs.of("`renew` after a request", lease.renew()).await?;
    leases.acquire_entry(&entries[1], "a").await?.expect("it is free");
    let entries = leases.list("g").await?;
    let mut second = leases.resume(&entries[1], "a").await?.expect("it is the same name");
    assert!(leases.request(&leases.list("g").await?[1], "b").await?);
    assert!(second.observe(&leases.list("g").await?[1]));
    costs
        .of("`renew` after a request, observed in `list`", second.renew())
        .await?;
    let entries = leases.list("g").await?;
    costs.of("`resume`", leases.resume(&entries[0], "a")).await?;
    costs.check("lease.rs");
    Ok(())
}

#[tokio::test]
async fn sequence_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let mut sequence = Sequence::new(&costs.table(), "g", "s").block(2);
    costs.of("`next`, new row", sequence.next()).await?;
    costs.of("`next` within a block", sequence.next()).await?;
    costs.of("`next`, new block", sequence.next()).await?;
    costs.check("sequence.rs");
    Ok(())
}

#[tokio::test]
async fn values_across_partitions_have_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let claims = TableServiceClient::from_transport(costs.spy.clone()).dynamic_table("Claims")?;
    claims.create_table().await?;
    let values = UniqueInTable::new(&costs.rows, &claims, "~");
    costs.of("`insert`", values.insert(&row("1"), "m")).await?;
    let other = Session {
        group: "h".into(),
        ..row("1")
    };
    let taken = costs.of("`insert`, value is taken", values.insert(&other, "m"));
    assert!(!taken.await?);
    costs.of("`find`", values.find("m")).await?;
    let rows = costs.rows.clone();
    let read =
        || async { Ok::<Versioned<Session>, azure_table::Error>(rows.get(("g", "1")).versioned().await?.unwrap()) };
    let entity = read().await?;
    costs
        .of("`replace`, same value", values.replace(&entity, "m", "m"))
        .await?;
    let entity = read().await?;
    costs
        .of("`replace`, new value", values.replace(&entity, "m", "n"))
        .await?;
    let entity = read().await?;
    costs.of("`delete`", values.delete(&entity, "n")).await?;
    costs.check("unique_in_table.rs");
    Ok(())
}

/// The block of the first try may be taken.
#[azure_table::test(start_paused)]
async fn sequence_whose_second_try_is_rejected_is_in_doubt(faults: Faults, table: TableClient) -> Result<()> {
    let mut numbers = Sequence::new(&table, "g", "s").block(1);
    numbers.next().await?;
    let lost = ResponseTemplate::internal_error();
    let failing = faults.add(FaultRule::new(lost).on_writes());
    let denied = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(denied).on(OperationKind::Get).nth(2));
    let error = numbers.next().await.unwrap_err();
    assert!(failing.hits() > 0 && error.may_have_applied(), "{error}");
    assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden, "{error}");
    Ok(())
}

#[tokio::test]
async fn sequence_ends_at_its_last_number_and_never_repeats_one() -> Result<()> {
    let costs = Costs::new().await?;
    let table = costs.table();
    let mut stored = DynamicEntity::new("g", "s");
    stored.insert("Last", i64::MAX - 3);
    table.insert(&stored).await?;
    let mut one = Sequence::new(&table, "g", "s").block(1);
    let mut other = Sequence::new(&table, "g", "s").block(2);
    let given = [one.next().await?, other.next().await?, other.next().await?];
    assert_eq!(given, [i64::MAX - 2, i64::MAX - 1, i64::MAX]);
    for sequence in [&mut one, &mut other] {
        for _ in 0..2 {
            let used_up = sequence.next().await.unwrap_err();
            assert_eq!(used_up.kind(), ErrorKind::InvalidInput, "{used_up}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn expiry_has_the_documented_cost() -> Result<()> {
    let mut costs = Costs::new().await?;
    let now = DateTime::from_unix_seconds(0);
    assert_eq!(costs.rows.bulk().insert([row("1"), row("2")]).await?.applied(), 2);
    let rows = Expiring::new(&costs.rows, Session::EXPIRES);
    costs.of("`get`", rows.get(("g", "1"), now)).await?;
    costs.of("`query`, all expired", rows.query(now).all()).await?;
    let sweep = async { Ok(rows.sweep(now).await?) };
    assert_eq!(costs.of("`sweep`, 2 rows of a partition", sweep).await?.applied(), 2);

    let service = TableServiceClient::from_transport(costs.spy.clone());
    let tables = TablePerPeriod::<DynamicEntity>::daily(&service, "Days");
    let today = costs.of("`at`", async { tables.at(now) }).await?;
    let new = DynamicEntity::new("p", "r");
    costs
        .of("`insert`, first of a period", async { today.insert(&new).await })
        .await?;
    let later = now + MINUTE * 60 * 24;
    let dropped = costs.of("`drop_before`, one table", tables.drop_before(later)).await?;
    assert_eq!(dropped, ["Days19700101"]);
    costs.check("expiry.rs");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn sweep_keeps_its_rate() -> Result<()> {
    let costs = Costs::new().await?;
    let inserted = costs.rows.bulk().insert((0..400).map(|n| row(&n.to_string()))).await?;
    assert_eq!(inserted.applied(), 400);
    let rows = Expiring::new(&costs.rows, Session::EXPIRES);
    let started = Instant::now();
    let report = rows.sweep(DateTime::now()).max_rate(100).await?;
    assert_eq!(report.applied(), 400);
    assert!(
        started.elapsed() >= Duration::from_millis(2_900),
        "{:?}",
        started.elapsed()
    );
    Ok(())
}

/// A claim and the row of its value reach the secondary at different times, so a pattern never decides by the
/// secondary.
#[tokio::test]
async fn values_stay_unique_for_clients_of_the_secondary() -> Result<()> {
    let emulator = Emulator::new().secondary_lag(MINUTE);
    let service = TableServiceClient::from_transport(emulator.clone()).location_mode(LocationMode::SecondaryOnly);
    let rows = service.table::<Session>("Rows")?;
    let claims = service.dynamic_table("Claims")?;
    rows.create_table().await?;
    claims.create_table().await?;
    emulator.clock().advance(MINUTE * 2);
    let values = UniqueInTable::new(&rows, &claims, "~");
    assert!(values.insert(&row("1"), "m").await?);
    let other = Session {
        group: "h".into(),
        ..row("2")
    };
    assert!(!values.insert(&other, "m").await?);
    assert_eq!(values.find("m").await?.unwrap().row_key(), "1");
    Ok(())
}

#[azure_table::test]
async fn two_tables_share_a_table_of_claims(service: TableServiceClient) -> Result<()> {
    service.ensure_tables(["Users", "Customers", "Claims"]).await?;
    let claims = service.dynamic_table("Claims")?;
    let [users, customers] = ["Users", "Customers"].map(|name| {
        let rows = service.table::<Session>(name).unwrap();
        UniqueInTable::new(&rows, &claims, "~mail;")
    });
    let other = Session {
        group: "h".into(),
        ..row("2")
    };
    assert!(users.insert(&row("1"), "m").await?);
    assert!(customers.insert(&other, "m").await?);
    assert!(!users.insert(&other, "m").await?);
    assert_eq!(customers.repair().await?, 0);
    assert_eq!(users.find("m").await?.unwrap().row_key(), "1");
    Ok(())
}

/// On Cosmos DB the name of a table may have the character that precedes the prefix.
#[tokio::test]
async fn claims_of_every_table_and_prefix_are_distinct() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    service.ensure_tables(["a;b", "a", "Claims"]).await?;
    let claims = service.dynamic_table("Claims")?;
    let in_group = |group: &str| Session {
        group: group.into(),
        ..row("1")
    };
    let values =
        |table: &str, prefix: &str| UniqueInTable::new(&service.table::<Session>(table).unwrap(), &claims, prefix);
    let (first, second) = (values("a;b", "c"), values("a", "b;c"));
    assert!(first.insert(&in_group("f"), "m").await?);
    assert!(second.insert(&in_group("g"), "m").await?);
    assert!(!first.insert(&in_group("h"), "m").await?, "one value, two entities");
    Ok(())
}

/// A client whose next write is applied, and whose response nothing awaits.
async fn cut_off<T>(faults: &Faults, write: impl Future<Output = T>) {
    let late = faults.add(FaultRule::new(Fault::DelayResponse(MINUTE)).on_writes());
    let cut = tokio::time::timeout(Duration::from_millis(100), write).await;
    assert!(cut.is_err(), "the response came");
    faults.remove(&late);
}

#[azure_table::test(start_paused)]
async fn lease_is_released_after_a_renewal_that_was_cut_off(faults: Faults, table: TableClient) -> Result<()> {
    let leases = Leases::new(&table, MINUTE);
    let mut lease = leases.acquire("g", "l", "a").await?.expect("it is new");
    cut_off(&faults, lease.renew()).await;
    assert!(lease.renew().await?, "nobody else has it");
    cut_off(&faults, lease.renew()).await;
    lease.release().await?;
    assert!(leases.acquire("g", "l", "b").await?.is_some(), "it is not free");
    Ok(())
}

/// A process that was suspended until its time was over.
#[azure_table::test(start_paused)]
async fn work_does_not_begin_after_its_time(table: TableClient) -> Result<()> {
    let queue = Queue::<u32>::new(&table, "g", "~");
    queue.push(&1).await?;
    let mut lease = Leases::new(&table, MINUTE)
        .acquire("l", "l", "a")
        .await?
        .expect("it is new");
    let item = queue.take(MINUTE).await?.expect("it waits");
    tokio::time::advance(MINUTE).await;
    let work = || async { table.insert(&DynamicEntity::new("p", "work")).await };
    assert!(!lease.is_valid() && lease.run(work()).await.is_none());
    assert!(!item.is_valid() && item.run(work()).await.is_none());
    assert!(!table.exists(("p", "work")).await?);
    Ok(())
}

#[azure_table::test(start_paused)]
async fn work_does_not_go_on_after_its_time(table: TableClient) -> Result<()> {
    let queue = Queue::<u32>::new(&table, "g", "~");
    queue.push(&1).await?;
    let mut lease = Leases::new(&table, MINUTE)
        .acquire("l", "l", "a")
        .await?
        .expect("it is new");
    let item = queue.take(MINUTE).await?.expect("it waits");
    // Ready when it is polled next.
    let work = || async { tokio::task::yield_now().await };
    let (mut leased, mut taken) = (pin!(lease.run(work())), pin!(item.run(work())));
    assert!(leased.as_mut().now_or_never().is_none() && taken.as_mut().now_or_never().is_none());
    tokio::time::advance(MINUTE).await;
    assert_eq!((leased.await, taken.await), (None, None));
    Ok(())
}

/// With a wide margin the valid time is over before a third of the duration. At the second work, most of it is.
#[azure_table::test(start_paused)]
async fn lease_is_renewed_before_its_valid_time_is_over(table: TableClient) -> Result<()> {
    let leases = Leases::new(&table, MINUTE).margin(MINUTE * 3 / 4);
    let mut lease = leases.acquire("g", "l", "a").await?.expect("it is new");
    for _ in 0..2 {
        assert!(lease.run(tokio::time::sleep(MINUTE)).await.is_some());
        tokio::time::advance(MINUTE / 10).await;
    }
    assert!(lease.is_valid());
    Ok(())
}

/// A clean-up deleted its row, and the token begins anew.
#[azure_table::test]
async fn lease_is_lost_if_its_row_was_deleted_in_between(table: TableClient) -> Result<()> {
    let leases = Leases::new(&table, MINUTE);
    leases.create("g", "l").await?;
    for tokens in [(1, 1), (2, 1)] {
        let before = &leases.list("g").await?[0];
        let mut a = leases.acquire("g", "l", "worker").await?.expect("it is free");
        assert!(a.observe(before) && a.is_valid(), "it was read before");
        table.delete(("g", "l")).await?;
        let b = leases.acquire("g", "l", "worker").await?.expect("its row is gone");
        assert_eq!((a.token(), b.token()), tokens);
        let entry = &leases.list("g").await?[0];
        assert!(!a.observe(entry) && !a.is_valid() && !a.renew().await? && !a.is_valid());
        assert!(b.is_valid());
        b.release().await?;
    }

    let mut c = leases.acquire("g", "l", "c").await?.expect("it is released");
    table.delete(("g", "l")).await?;
    assert!(!c.renew().await? && !c.is_valid());
    Ok(())
}

/// Two callers of one partition, of which one passes the value of the other.
#[azure_table::test]
async fn value_of_another_entity_is_not_freed(service: TableServiceClient) -> Result<()> {
    service.ensure_tables(["Rows", "Claims"]).await?;
    let (rows, claims) = (service.table::<Session>("Rows")?, service.dynamic_table("Claims")?);
    let values = UniqueInTable::new(&rows, &claims, "~");
    assert!(values.insert(&row("ada"), "a").await? && values.insert(&row("bob"), "b").await?);
    let ada = rows.get(("g", "ada")).versioned().await?.unwrap();
    let why = r#"the value "b" is that of "bob", not of "ada""#;
    let error = values.replace(&ada, "b", "c").await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, why);
    assert_error(
        &values.delete(&ada, "b").await.unwrap_err(),
        ErrorKind::InvalidInput,
        why,
    );
    let eve = Session {
        group: "h".into(),
        ..row("eve")
    };
    assert!(!values.insert(&eve, "b").await? && values.insert(&eve, "c").await?);
    assert_eq!(values.find("a").await?.unwrap().row_key(), "ada");

    let error = values.insert(&row("~x"), "d").await.unwrap_err();
    assert_error(
        &error,
        ErrorKind::InvalidInput,
        r#"begins with "~", as rows of values do"#,
    );
    assert_eq!(values.query().all().await?.len(), 3);
    Ok(())
}

/// The value is absent when the writer reads its row, and taken before the batch is sent.
#[azure_table::test(start_paused)]
async fn value_that_another_entity_takes_meanwhile_is_not_freed(
    faults: Faults,
    service: TableServiceClient,
) -> Result<()> {
    service.ensure_tables(["Rows", "Claims"]).await?;
    let (rows, claims) = (service.table::<Session>("Rows")?, service.dynamic_table("Claims")?);
    let values = UniqueInTable::new(&rows, &claims, "~");
    assert!(values.insert(&row("ada"), "a").await?);
    let ada = rows.get(("g", "ada")).versioned().await?.unwrap();
    for (id, is_replaced) in [("bob", true), ("eve", false)] {
        let read = FaultRule::new(Fault::DelayResponse(MINUTE)).on(OperationKind::Get);
        let read = faults.add(read.first(1));
        let freed = async {
            match is_replaced {
                true => values.replace(&ada, id, "c").await.map(drop),
                false => values.delete(&ada, id).await,
            }
        };
        let taken = async {
            assert_eq!(read.hits(), 1, "its response is late");
            values.insert(&row(id), id).await
        };
        let (freed, taken) = join(freed, taken).await;
        assert_error(&freed.unwrap_err(), ErrorKind::NotFound, "has no row for the value");
        let other = Session {
            group: "h".into(),
            ..row("other")
        };
        assert!(taken? && !values.insert(&other, id).await?, "two entities have {id}");
    }
    Ok(())
}

#[azure_table::test(start_paused)]
async fn item_is_valid_for_the_shorter_time_while_it_is_not_known_which_holds(
    faults: Faults,
    table: TableClient,
) -> Result<()> {
    let queue = Queue::<u32>::new(&table, "g", "~");
    queue.push(&1).await?;
    let mut item = queue.take(MINUTE).await?.expect("it waits");
    cut_off(&faults, item.extend(Duration::from_secs(1))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!item.is_valid());
    Ok(())
}

/// Its writes have no ids.
#[derive(TableEntity, Debug)]
#[table(row_key = "$header")]
struct Header {
    #[table(partition_key)]
    group: String,
    rows: i64,
}

/// The header of a table of several kinds.
#[derive(TableEntity, Debug)]
#[table(tag = "Kind")]
enum Kinds {
    Header(Header),
    Session(Session),
}

#[azure_table::test]
async fn header_of_a_fence_may_be_a_variant_with_a_mark(table: TableClient<Kinds>) -> Result<()> {
    let new = Kinds::Header(Header {
        group: "g".into(),
        rows: 0,
    });
    let mut fence = Fence::with_new_header(&table, new);
    for expected in 1..=2 {
        fence
            .transact(|header| {
                if let Kinds::Header(header) = header {
                    header.rows += 1;
                }
                Ok(Vec::new())
            })
            .await?;
        let rows = table.query().partition("g").all().await?;
        assert!(
            matches!(&rows[..], [Kinds::Header(header)] if header.rows == expected),
            "{rows:?}"
        );
    }
    Ok(())
}
