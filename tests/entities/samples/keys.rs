//! Keys with a percent sign: "PartitionKey or RowKey containing the percent '%' character causes some Windows Azure
//! Tables APIs to fail" (2012).

use azure_table::{DynamicEntity, Emulator, EmulatorServer, Result, TableServiceClient};

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
