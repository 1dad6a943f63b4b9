//! Spies: the recorded requests of a test.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Bill, Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::transport::Delivery;
use azure_table::{
    CallOptions, DynamicEntity, Emulator, Filter, LocationMode, NoRetry, TableClient, TableServiceClient,
};

fn things(spy: &Spy) -> TableClient {
    TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Things")
        .unwrap()
}

#[azure_table::test(start_paused)]
async fn spy_records_every_attempt_with_its_outcome(emulator: Emulator) -> azure_table::Result<()> {
    let behind = Spy::new(emulator);
    let faults = Faults::new(behind.clone());
    let spy = Spy::new(faults.clone());
    let things = things(&spy);
    things.create_table().await?;
    faults.add(FaultRule::new(Fault::Reset).on(OperationKind::Insert).first(1));
    let mut row = DynamicEntity::new("it's", "r");
    row.insert("Count", 5_i64);
    things.insert(&row).await?;
    things.get(("it's", "r")).await?;
    things
        .query()
        .filter(Filter::raw("Count gt 4L"))
        .page_size(7)
        .all()
        .await?;

    let kinds: Vec<_> = spy
        .exchanges()
        .iter()
        .map(|it| (it.number(), it.kind(), it.status()))
        .collect();
    use OperationKind::{CreateTable, Get, Insert, Query};
    assert_eq!(
        kinds,
        [
            (1, Some(CreateTable), Some(204)),
            (2, Some(Insert), None),
            (3, Some(Query), Some(200)),
            (4, Some(Insert), Some(204)),
            (5, Some(Get), Some(200)),
            (6, Some(Query), Some(200))
        ]
    );
    assert_eq!((spy.requests(), behind.requests()), (6, 5), "one was lost between them");
    let inserts = spy.of(Insert);
    assert_eq!(inserts[0].failure(), Some(Delivery::MaybeSent));
    assert_eq!(inserts[0].client_request_id(), inserts[1].client_request_id());
    assert_eq!(
        (inserts[1].method(), inserts[1].path(), inserts[1].table()),
        ("POST", "/Things", Some("Things"))
    );
    assert_eq!(inserts[1].header("Prefer"), Some("return-no-content"));
    assert!(inserts[1].response_header("etag").is_some());
    assert_eq!(inserts[1].response_body().as_deref(), Some(""));
    let sent = inserts[1].body();
    assert!(
        sent.contains("\"PartitionKey\":\"it's\"") && sent.contains("\"Count\":\"5\""),
        "{sent}"
    );
    let get = &spy.of(Get)[0];
    assert_eq!(get.path(), "/Things(PartitionKey='it%27%27s',RowKey='r')");
    assert!(get.response_body().unwrap().contains("\"RowKey\":\"r\""));
    let query = spy.last().unwrap();
    assert_eq!(query.parameter("$filter").as_deref(), Some("Count gt 4L"));
    assert_eq!(
        (query.parameter("$top").as_deref(), query.parameter("$skip")),
        (Some("7"), None)
    );
    assert!(query.query().starts_with("$"), "{}", query.query());
    assert_eq!(
        get.to_string(),
        "5 Get GET /Things(PartitionKey='it%27%27s',RowKey='r') 200"
    );
    Ok(())
}

#[azure_table::test]
async fn spy_keeps_a_limited_number_of_exchanges(emulator: Emulator) -> azure_table::Result<()> {
    let spy = Spy::new(emulator).keep(2);
    let things = things(&spy);
    things.create_table().await?;
    for n in 0..5 {
        things.insert(&DynamicEntity::new("p", n.to_string())).await?;
    }
    let kept: Vec<_> = spy.exchanges().iter().map(|it| (it.number(), it.status())).collect();
    assert_eq!((spy.requests(), kept), (6, vec![(5, Some(204)), (6, Some(204))]));
    let spy = spy.keep(0);
    things.delete(("p", "0")).await?;
    assert_eq!((spy.requests(), spy.exchanges().len()), (7, 0));
    Ok(())
}

#[azure_table::test(start_paused)]
async fn cancelled_request_has_no_outcome(emulator: Emulator) {
    let faults = Faults::new(emulator);
    faults.add(Fault::HangRequest);
    let spy = Spy::new(faults);
    let call = things(&spy)
        .get(("p", "r"))
        .with(&CallOptions::new().retry(NoRetry))
        .timeout(Duration::from_secs(1))
        .await;
    assert!(call.is_err());
    let last = spy.last().unwrap();
    assert_eq!((last.status(), last.failure()), (None, None));
    assert!(last.to_string().ends_with(" unanswered"), "{last}");
}

#[azure_table::test]
async fn spy_distinguishes_the_secondary(emulator: Emulator) -> azure_table::Result<()> {
    let spy = Spy::new(emulator);
    let things = things(&spy);
    things.create_table().await?;
    things
        .query()
        .with(&CallOptions::new().location_mode(LocationMode::SecondaryOnly))
        .all()
        .await?;
    let regions: Vec<_> = spy
        .exchanges()
        .iter()
        .map(|it| (it.path().to_owned(), it.is_secondary()))
        .collect();
    assert_eq!(regions, [("/Tables".to_owned(), false), ("/Things()".to_owned(), true)]);
    Ok(())
}

#[azure_table::test(start_paused)]
async fn cleared_spy_counts_from_zero(emulator: Emulator) -> azure_table::Result<()> {
    let faults = Faults::new(emulator);
    let spy = Spy::new(faults.clone());
    let things = things(&spy);
    things.create_table().await?;
    spy.clear();
    assert_eq!((spy.requests(), spy.exchanges().len()), (0, 0));
    assert!(spy.last().is_none());
    things.insert(&DynamicEntity::new("p", "1")).await?;
    assert_eq!(spy.requests(), 1);

    // The response of a cleared request does not belong to a later one.
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(200))).first(1));
    let slow = things.insert(&DynamicEntity::new("p", "2"));
    let (slow, ()) = futures::join!(slow, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        spy.clear();
        things.get(("p", "1")).await.unwrap();
    });
    slow?;
    let exchanges = spy.exchanges();
    assert_eq!((spy.requests(), exchanges.len()), (1, 1));
    assert_eq!((exchanges[0].number(), exchanges[0].status()), (4, Some(200)));
    Ok(())
}

/// Runs a scenario of reads, writes and a rejected batch, whose bodies have times.
async fn scenario(spy: &Spy) -> azure_table::Result<()> {
    let things = things(spy);
    things.create_table().await?;
    let mut row = DynamicEntity::new("p", "1");
    row.insert("At", azure_table::DateTime::now());
    things.insert(&row).await?;
    let mut batch = things.batch();
    batch.insert(&DynamicEntity::new("p", "2"))?.merge(&row)?;
    batch.submit().await?;
    let mut rejected = things.batch();
    rejected
        .insert(&DynamicEntity::new("p", "3"))?
        .insert(&DynamicEntity::new("p", "1"))?;
    assert!(rejected.submit().await.is_err());
    assert!(things.get(("p", "4")).await?.is_none());
    assert!(things.get(("p", "1")).await?.is_some());
    assert_eq!(things.query().versioned().page_size(1).all().await?.len(), 2);
    things.delete(("p", "2")).await
}

#[azure_table::test]
async fn bill_adds_up_each_kind_and_is_the_same_in_every_run() -> azure_table::Result<()> {
    let mut bills = Vec::new();
    for keep in [1_024, 0, 1, 2, 3] {
        let spy = Spy::new(Emulator::new()).keep(keep);
        scenario(&spy).await?;
        bills.push(spy.bill());
    }
    assert!(bills.windows(2).all(|pair| pair[0] == pair[1]), "{bills:#?}");
    let text = bills[0].to_string();
    let counts: Vec<&str> = text.lines().map(|line| line.split(", bytes").next().unwrap()).collect();
    let expected = [
        "Batch: requests 2, rows 2",
        "CreateTable: requests 1, rows 0",
        "Delete: requests 1, rows 1",
        "Get: requests 2, rows 1",
        "Insert: requests 1, rows 1",
        "Query: requests 2, rows 2",
    ];
    assert_eq!(counts, expected);
    assert!(text.ends_with(|c: char| c.is_ascii_digit()), "{text}");
    Ok(())
}

#[azure_table::test(start_paused)]
async fn bill_counts_each_attempt_and_ends_with_a_clear(emulator: Emulator) -> azure_table::Result<()> {
    let faults = Faults::new(emulator);
    let spy = Spy::new(faults.clone());
    let things = things(&spy);
    assert_eq!((spy.bill(), spy.bill().to_string()), (Bill::default(), String::new()));
    things.create_table().await?;
    spy.clear();
    faults.add(FaultRule::new(Fault::LoseRequest).on(OperationKind::Insert).first(1));
    faults.add(
        FaultRule::new(ResponseTemplate::new(503))
            .on(OperationKind::Insert)
            .first(1),
    );
    things.insert(&DynamicEntity::new("p", "1")).await?;
    let bill = spy.bill().to_string();
    assert!(
        bill.starts_with("Insert: requests 3, rows 1, bytes sent 99, "),
        "{bill}"
    );
    assert!(
        bill.contains("\nQuery: requests 2, rows 0, bytes sent 0, "),
        "it was read back: {bill}"
    );

    // The response of a request that was cleared is on no bill.
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(200))).first(1));
    let slow = things.insert(&DynamicEntity::new("p", "2"));
    let (slow, ()) = futures::join!(slow, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        spy.clear();
    });
    slow?;
    assert_eq!(spy.bill(), Bill::default());
    Ok(())
}
