//! Keys of the posts: release dates that sort newest first, and keys with a percent sign.
//!
//! Sources: "How to get the most out of Windows Azure Tables" (2010), Tables 1 and 2; "PartitionKey or RowKey
//! containing the percent '%' character causes some Windows Azure Tables APIs to fail" (2012).

use azure_table::key::Day;
use azure_table::{Descending, DynamicEntity, Emulator, EmulatorServer, TableEntity, TableServiceClient};

#[derive(TableEntity)]
struct RecentMovie {
    #[table(partition_key)]
    released: Descending<Day>,
    #[table(row_key)]
    title: String,
}

#[tokio::test]
async fn recent_movies_are_sorted_as_in_table_2() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let movies = service.table::<RecentMovie>("RecentMovies").unwrap();
    movies.create_table().await.unwrap();
    for (released, title) in [
        ("2009-01-20", "Movie1"),
        ("2009-05-01", "Movie2"),
        ("2010-01-31", "Movie3"),
        ("2010-06-20", "Movie4"),
        ("2010-10-23", "Movie5"),
    ] {
        let released = Descending(released.parse().unwrap());
        let title = title.into();
        movies.insert(&RecentMovie { released, title }).await.unwrap();
    }
    let keys = movies.query().keys().all().await.unwrap();
    let keys: Vec<_> = keys.iter().map(|key| (key.partition_key(), key.row_key())).collect();
    assert_eq!(
        keys,
        [
            ("7989-02-08", "Movie5"),
            ("7989-06-11", "Movie4"),
            ("7989-11-00", "Movie3"),
            ("7990-07-30", "Movie2"),
            ("7990-11-11", "Movie1"),
        ]
    );
}

/// The service decoded such a key twice. Each call reaches the row `Metric%25`, and none the row `Metric%`.
#[tokio::test]
async fn key_with_a_percent_sign_is_decoded_once() {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    let metrics = service.dynamic_table("Metrics").unwrap();
    metrics.create_table().await.unwrap();
    let metric = |partition: &str, value: i32| {
        let mut metric = DynamicEntity::new(partition, "Count");
        metric.insert("MetricValue", value);
        metric
    };
    metrics.insert(&metric("Metric%", 0)).await.unwrap();
    metrics.insert(&metric("Metric%25", 1)).await.unwrap();
    let value = async || {
        let row = metrics.get(("Metric%25", "Count")).await.unwrap().unwrap();
        row.property::<i32>("MetricValue").unwrap()
    };
    assert_eq!(value().await, 1);
    metrics.merge(&metric("Metric%25", 2)).await.unwrap();
    assert_eq!(value().await, 2);
    metrics.replace(&metric("Metric%25", 3)).await.unwrap();
    assert_eq!(value().await, 3);
    metrics.insert_or_merge(&metric("Metric%25", 4)).await.unwrap();
    assert_eq!(value().await, 4);
    metrics.insert_or_replace(&metric("Metric%25", 5)).await.unwrap();
    assert_eq!(value().await, 5);
    let mut batch = metrics.batch();
    batch.replace(&metric("Metric%25", 6)).unwrap();
    batch.submit().await.unwrap();
    let mut batch = metrics.batch();
    batch.get(("Metric%25", "Count")).unwrap();
    let read: DynamicEntity = batch.submit().await.unwrap()[0].entity().unwrap().unwrap();
    assert_eq!(read.property::<i32>("MetricValue").unwrap(), 6);
    metrics.delete(("Metric%25", "Count")).await.unwrap();
    let left = metrics.query().all().await.unwrap();
    let left: Vec<_> = left
        .iter()
        .map(|row| (row.partition_key.as_str(), row.property("MetricValue").unwrap()))
        .collect();
    assert_eq!(left, [("Metric%", 0)]);
    server.stop().await;
}
