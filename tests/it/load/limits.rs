//! Limits of partitions and accounts, and in what words they are told.

use std::collections::BTreeSet;

use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::assert_error;
use azure_table_tests::network::serve;

use super::*;

/// Nothing but a limit, of which no more is saved than one entity.
fn one() -> ServiceModel {
    ServiceModel::new().burst(Duration::from_millis(1))
}

fn row(partition: &str, row: usize) -> DynamicEntity {
    DynamicEntity::new(partition, row.to_string())
}

/// Asserts that workers who insert into these partitions get `per_second` rows from the model, over ten seconds.
async fn assert_rate(model: ServiceModel, workers: usize, partition: fn(usize) -> String, per_second: u64) {
    let (emulator, table) = table(model).await;
    let closed_loop = ClosedLoop {
        workers,
        pause: Duration::from_millis(20),
        warm_up: Duration::from_secs(2),
        time: Duration::from_secs(10),
    };
    let call = move |worker, n| {
        let insert = table.insert(&row(&partition(worker), worker * 1_000_000 + n));
        async move { insert.await.map(drop) }
    };
    let load = closed_loop.run(&emulator, call).await;
    let expected = 10 * per_second;
    assert!(
        (expected - 10..=expected + 10).contains(&load.accepted_entities),
        "{load:?}"
    );
    assert!(load.throttled_requests > 500, "{load:?}");
    let partitions: BTreeSet<String> = (0..workers).map(partition).collect();
    let of = |partition: &String| emulator.load_of("things", partition).accepted_entities;
    assert_eq!(
        partitions.iter().map(of).sum::<u64>(),
        emulator.load().accepted_entities
    );
}

#[tokio::test(start_paused = true)]
async fn a_partition_gives_its_rate_whatever_is_asked_of_it() {
    let model = ServiceModel::azure_storage().partition_entities_per_second(200);
    assert_rate(model, 8, |_| "p".to_owned(), 200).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn an_account_gives_its_rate_over_all_partitions() {
    let model = ServiceModel::azure_storage().account_entities_per_second(300);
    assert_rate(model, 12, |worker| worker.to_string(), 300).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_error_tells_the_accounts_limit_from_that_of_a_partition() {
    let (emulator, table) = table(one().partition_entities_per_second(1)).await;
    table.insert(&row("p", 1)).await.unwrap();
    let rejected = table.insert(&row("p", 2)).await.unwrap_err();
    assert_eq!((rejected.kind(), rejected.status()), (ErrorKind::Throttled, Some(503)));
    assert_eq!(rejected.code(), Some("ServerBusy"));
    let text = "The server is currently unable to receive requests. Please retry your request.";
    assert!(rejected.service_message().unwrap().starts_with(text), "{rejected}");
    assert!(!rejected.may_have_applied());
    table.insert(&row("q", 1)).await.unwrap();
    assert_eq!(emulator.load().accepted_requests, 2);

    let (_, table) = self::table(one().account_entities_per_second(1)).await;
    table.insert(&row("p", 1)).await.unwrap();
    let mut batch = table.batch();
    batch.insert(&row("q", 1)).unwrap().insert(&row("q", 2)).unwrap();
    let rejected = batch.submit().await.unwrap_err();
    assert_eq!((rejected.status(), rejected.code()), (Some(503), Some("ServerBusy")));
    let text = "Operations per second is over the account limit.";
    assert!(rejected.service_message().unwrap().starts_with(text), "{rejected}");
}

#[tokio::test(start_paused = true)]
async fn cosmos_names_no_time_to_wait() {
    let emulator = Emulator::cosmos().service_model(one().partition_entities_per_second(1));
    let service = TableServiceClient::from_transport(emulator.clone());
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert(&row("p", 1)).await.unwrap();
    let insert = table.insert(&row("p", 2)).with(&no_retry());
    let mut batch = table.batch();
    batch.insert(&row("p", 3)).unwrap();
    let single = insert.await.unwrap_err();
    let whole = batch.submit().with(&no_retry()).await.unwrap_err();
    for rejected in [single, whole] {
        assert_error(&rejected, ErrorKind::Throttled, "TooManyRequests");
        assert_eq!(
            (rejected.status(), rejected.code(), rejected.retry_after()),
            (Some(429), Some("TooManyRequests"), None)
        );
    }
    // The client waits about a second by itself.
    let started = Instant::now();
    table.insert(&row("p", 2)).await.unwrap();
    let waited = started.elapsed().as_millis();
    assert!((800..3_000).contains(&waited), "{waited} ms");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_in_the_queue_is_not_applied() {
    let second = Duration::from_secs(1);
    let (emulator, table) = table(ServiceModel::new().time_per_request(2 * second)).await;
    let (one, two, three) = (row("p", 1), row("p", 2), row("p", 3));
    let started = Instant::now();
    // Unlike `tokio::join!`, it polls in this order each time.
    let (first, second, third) = futures::join!(
        table.insert(&one),
        tokio::time::timeout(3 * second, table.insert(&two)),
        table.insert(&three)
    );
    assert!(first.is_ok() && second.is_err() && third.is_ok());
    assert_eq!(started.elapsed().as_secs(), 6, "its turn passes");
    let rows = table.query().partition("p").keys().all().await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(emulator.load().accepted_requests, 4);
}

#[tokio::test(start_paused = true)]
async fn what_would_wait_too_long_is_rejected_at_once() {
    let second = Duration::from_secs(1);
    let model = ServiceModel::new().time_per_entity(second).max_wait(2 * second);
    let (_, table) = table(model).await;
    let rows: Vec<_> = (0..5).map(|n| row("p", n)).collect();
    let started = Instant::now();
    let calls = rows.iter().map(|row| {
        let insert = table.insert(row);
        async move { (insert.await.is_ok(), started.elapsed().as_secs()) }
    });
    let ended = futures::future::join_all(calls).await;
    assert_eq!(ended, [(true, 1), (true, 2), (true, 3), (false, 0), (false, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_query_is_charged_for_the_rows_it_looks_at() {
    let model = ServiceModel::new().time_per_entity_read(Duration::from_millis(100));
    let (emulator, table) = table(model).await;
    emulator.seed("Things", (0..50).map(|n| row("p", n))).unwrap();
    let started = Instant::now();
    let rows = table.query().partition("p").all().await.unwrap();
    assert_eq!((rows.len(), started.elapsed().as_secs()), (50, 5));
    assert_eq!(emulator.load_of("Things", "p").accepted_entities, 50);
    assert_eq!(emulator.load().accepted_requests, 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_let_in_asks_nothing_of_the_servers() {
    let (emulator, table) = table(one().account_entities_per_second(1)).await;
    table.insert(&row("p", 1)).await.unwrap();
    let wrong = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=AAEC;\
                 TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;";
    let service = TableServiceClient::from_connection_string(wrong).unwrap();
    let service = service.transport(emulator.clone());
    let table = service.dynamic_table("Things").unwrap();
    let rejected = table.insert(&row("p", 2)).await.unwrap_err();
    assert_eq!(rejected.status(), Some(403), "{rejected}");
    service.ping().await.unwrap_err();
    let load = emulator.load();
    assert_eq!((load.accepted_requests, load.throttled_requests), (1, 0));
}

#[azure_table::test(start_paused)]
async fn without_a_model_nothing_takes_time_or_is_counted(emulator: Emulator, service: TableServiceClient) {
    let table = service.dynamic_table("Things").unwrap();
    let started = Instant::now();
    table.create_table().await.unwrap();
    table.insert(&row("p", 1)).await.unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(emulator.load(), ServiceLoad::default());
}

#[tokio::test]
async fn a_port_keeps_to_the_model_too() {
    let model = one().partition_entities_per_second(1);
    let emulator = Emulator::new().service_model(model.write_latency(Duration::from_millis(100)));
    let (_running, service) = serve(emulator.clone()).await;
    let table = service.retry(NoRetry).dynamic_table("Things").unwrap();
    let started = Instant::now();
    table.create_table().await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(90));
    // The partition owes the time of 99 entities, more than the next request needs on a busy machine.
    let mut batch = table.batch();
    for n in 0..100 {
        batch.insert(&row("p", n)).unwrap();
    }
    batch.submit().await.unwrap();
    table.insert(&row("p", 100)).await.unwrap_err();
    let load = emulator.load();
    assert_eq!((load.accepted_requests, load.throttled_requests), (1, 1));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn the_same_seed_gives_the_same_fate() {
    let mut seen = Vec::new();
    for seed in [1, 1, 2] {
        let (emulator, table) = table(ServiceModel::azure_storage_2010().queue_chance(100).seed(seed)).await;
        let load = ClosedLoop {
            workers: 75,
            pause: Duration::from_secs(3),
            warm_up: Duration::from_secs(5),
            time: Duration::from_secs(4),
        }
        .run(&emulator, move |worker, n| {
            let insert = table.insert(&DynamicEntity::new("p", format!("{worker:03}_{n:08}")));
            async move { insert.await.map(drop) }
        })
        .await;
        assert!(load.throttled_requests > 0);
        seen.push(load);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}
