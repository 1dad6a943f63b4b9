//! Keys of the posts: times that sort newest first, and a percent sign.
//!
//! Sources: "Windows Azure Table" (2009); "PartitionKey or RowKey containing the percent '%' character causes some
//! Windows Azure Tables APIs to fail" (2012).

use azure_table::filter::AccessPath;
use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, EmulatorServer, Result, TableClient, TableEntity, TableServiceClient,
};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
}

#[azure_table::test]
async fn times_limit_the_rows_of_a_channel(blogs: TableClient<Blog>) -> Result<()> {
    let [first, second, third] = [1, 2, 3].map(|day| DateTime::from_unix_seconds(day * 86_400));
    for day in [first, second, third] {
        let (channel, posted) = ("Football".into(), Descending(day));
        blogs.insert(&Blog { channel, posted }).await?;
    }
    let day = Blog::POSTED.ge(second) & Blog::POSTED.lt(third);
    let query = blogs.query().partition("Football").filter(day);
    assert_eq!(query.plan()?.path(), AccessPath::RowRange);
    let found = query.all().await?;
    assert_eq!(found.iter().map(|blog| blog.posted.0).collect::<Vec<_>>(), [second]);
    Ok(())
}

/// The service decoded such a key twice. Each call reaches the row `Metric%25`, and none the row `Metric%`.
#[tokio::test]
async fn key_with_a_percent_sign_is_decoded_once() -> Result<()> {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let server = server.spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string())?;
    let metrics = service.dynamic_table("Metrics")?;
    metrics.create_table().await?;
    let metric = |partition: &str, value: i32| {
        let mut metric = DynamicEntity::new(partition, "Count");
        metric.insert("MetricValue", value);
        metric
    };
    let key = ("Metric%25", "Count");
    metrics.insert(&metric("Metric%", 0)).await?;
    metrics.insert(&metric(key.0, 1)).await?;
    for value in 2..=6 {
        let metric = metric(key.0, value);
        match value {
            2 => drop(metrics.merge(&metric).await?),
            3 => drop(metrics.replace(&metric).await?),
            4 => drop(metrics.insert_or_merge(&metric).await?),
            5 => drop(metrics.insert_or_replace(&metric).await?),
            _ => {
                let mut batch = metrics.batch();
                batch.replace(&metric)?;
                batch.submit().await?;
            }
        }
        assert_eq!(metrics.get(key).await?.unwrap().properties, metric.properties);
    }
    let mut batch = metrics.batch();
    batch.get(key)?;
    let read: DynamicEntity = batch.submit().await?[0].entity()?.unwrap();
    assert_eq!(read.properties, metric(key.0, 6).properties);
    metrics.delete(key).await?;
    let left = metrics.query().all().await?;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].properties, metric("Metric%", 0).properties);
    assert_eq!(left[0].partition_key, "Metric%");
    server.stop().await;
    Ok(())
}
