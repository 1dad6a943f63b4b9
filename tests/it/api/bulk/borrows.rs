//! Progress of bulks that borrows from its caller, and errors of their sources.

use std::error::Error as StdError;
use std::fmt;

use azure_table::bulk::Interrupted;
use azure_table::{
    BulkReport, Emulator, Error, ErrorKind, Result, TableClient, TableEntity, TableOperation, TableServiceClient,
};
use futures::stream;

#[derive(TableEntity, Clone, Debug)]
struct Reading {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    at: u32,
}

fn reading(at: u32) -> Reading {
    Reading {
        sensor: format!("s{}", at % 3),
        at,
    }
}

async fn readings() -> TableClient<Reading> {
    let readings = TableServiceClient::from_transport(Emulator::new())
        .table::<Reading>("Readings")
        .unwrap();
    readings.create_table().await.unwrap();
    readings
}

#[tokio::test]
async fn progress_borrows_from_its_caller() {
    let readings = readings().await;
    let (mut seen, all) = (Vec::new(), (0..300).map(reading).collect::<Vec<_>>());
    let mut write = readings
        .bulk()
        .insert(&all)
        .on_progress(|report| seen.push(report.applied()));
    assert_eq!((&mut write).await.unwrap().applied(), 300);
    drop(write);
    assert_eq!(seen.last(), Some(&300));

    let mut outcomes_seen = 0;
    let mut outcomes = readings
        .bulk()
        .insert_or_replace(&all)
        .on_progress(|_| outcomes_seen += 1)
        .outcomes();
    while outcomes.next().await.is_some() {}
    drop(outcomes.finish());
    assert!(outcomes_seen > 1);

    let (mut pages, limit) = (0, String::from("s1"));
    let changed = readings
        .delete_where(Reading::SENSOR.ge(&limit))
        .on_progress(|report| {
            assert!(report.applied() <= 300 && limit == "s1");
            pages += 1;
        })
        .await;
    assert_eq!((changed.unwrap().applied(), pages > 0), (200, true));
}

/// A future with borrowed progress can still run in its own task.
#[test]
fn bulk_with_borrowed_progress_is_send() {
    fn is_send(_: &impl Send) {}
    let readings = TableServiceClient::from_transport(Emulator::new())
        .table::<Reading>("Readings")
        .unwrap();
    let mut count = 0;
    let write = readings.bulk().insert([reading(1)]).on_progress(|_| count += 1);
    is_send(&write);
}

/// An error that does not implement `std::error::Error`, like `anyhow::Error`.
#[derive(Debug)]
struct Opaque(String);

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for Opaque {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

type Boxed = Box<dyn StdError + Send + Sync>;

/// Two operations, then the error of the source.
fn failing<X>(error: X) -> impl stream::Stream<Item = Result<TableOperation, X>> {
    let operation = |at| Ok(TableOperation::insert(&reading(at)));
    stream::iter([operation(1), operation(2), Err(error)])
}

#[tokio::test]
async fn interrupted_is_an_error_for_any_source() {
    async fn of_opaque(readings: &TableClient<Reading>) -> Result<BulkReport, Boxed> {
        Ok(readings
            .bulk()
            .write_try_stream(failing(Opaque("line 3".into())))
            .await?)
    }
    async fn of_box(readings: &TableClient<Reading>) -> Result<BulkReport, Box<dyn StdError>> {
        let error: Boxed = "x".parse::<u32>().unwrap_err().into();
        Ok(readings.bulk().write_try_stream(failing(error)).await?)
    }
    async fn its_own(readings: &TableClient<Reading>) -> Result<BulkReport, Opaque> {
        let write = readings.bulk().write_try_stream(failing(Opaque("line 3".into())));
        write.await.map_err(Interrupted::into_error)
    }
    let readings = readings().await;
    let error = of_opaque(&readings).await.unwrap_err();
    assert_eq!(error.to_string(), "line 3");
    let interrupted: &Interrupted<BulkReport, Opaque> = error.downcast_ref().unwrap();
    assert_eq!(interrupted.report().applied(), 2);

    let deleted = readings.delete_where(readings.query()).await.unwrap();
    assert_eq!(deleted.applied(), 2);
    let error = of_box(&readings).await.unwrap_err();
    assert!(error.to_string().contains("invalid digit"), "{error}");
    assert_eq!(its_own(&readings).await.unwrap_err().0, "line 3");
}

#[tokio::test]
async fn interrupted_by_an_error_of_the_service_keeps_its_source() {
    let readings = TableServiceClient::from_transport(Emulator::new())
        .table::<Reading>("Missing")
        .unwrap();
    let interrupted = readings.bulk().insert([reading(1)]).await.unwrap_err();
    assert_eq!(interrupted.error().kind(), ErrorKind::TableNotFound);
    let (outer, inner) = (
        StdError::source(&interrupted).is_some(),
        interrupted.error().source().is_some(),
    );
    assert_eq!(outer, inner);
}
