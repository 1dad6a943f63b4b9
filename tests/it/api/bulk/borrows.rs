//! Progress of bulks that borrows from its caller, and errors of their sources.

use std::error::Error as StdError;
use std::fmt;

use azure_table::bulk::Interrupted;
use azure_table::{BulkReport, Emulator, Error, ErrorKind, Result, TableClient, TableOperation, TableServiceClient};
use azure_table_tests::entities::Numbered;
use azure_table_tests::errors::assert_contains;
use futures::stream;

fn reading(at: u32) -> Numbered {
    Numbered::new(&format!("s{}", at % 3), at, 1)
}

fn missing_table() -> TableClient<Numbered> {
    let service = TableServiceClient::from_transport(Emulator::new());
    service.table("Missing").unwrap()
}

#[azure_table::test]
async fn progress_borrows_from_its_caller(readings: TableClient<Numbered>) {
    let (mut seen, all) = (Vec::new(), (0..300).map(reading).collect::<Vec<_>>());
    let write = readings.bulk().insert(&all);
    let mut write = write.on_progress(|report| seen.push(report.applied()));
    assert_eq!((&mut write).await.unwrap().applied(), 300);
    drop(write);
    assert_eq!(seen.last(), Some(&300));

    let mut outcomes_seen = 0;
    let write = readings.bulk().insert_or_replace(&all);
    let mut outcomes = write.on_progress(|_| outcomes_seen += 1).outcomes();
    while outcomes.next().await.is_some() {}
    drop(outcomes.finish());
    assert!(outcomes_seen > 1);

    let (mut pages, limit) = (0, String::from("s1"));
    let delete = readings.delete_where(Numbered::GROUP.ge(&limit));
    let delete = delete.on_progress(|report| {
        assert!(report.applied() <= 300 && limit == "s1");
        pages += 1;
    });
    assert_eq!((delete.await.unwrap().applied(), pages > 0), (200, true));
}

/// A future with borrowed progress can still run in its own task.
#[test]
fn bulk_with_borrowed_progress_is_send() {
    fn is_send(_: &impl Send) {}
    let mut count = 0;
    let write = missing_table().bulk().insert([reading(1)]);
    is_send(&write.on_progress(|_| count += 1));
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

#[azure_table::test]
async fn interrupted_is_an_error_for_any_source(readings: TableClient<Numbered>) {
    let line_3 = || failing(Opaque("line 3".into()));
    let of_opaque = async || -> Result<BulkReport, Boxed> { Ok(readings.bulk().write_try_stream(line_3()).await?) };
    let of_box = async || -> Result<BulkReport, Box<dyn StdError>> {
        let error: Boxed = "x".parse::<u32>().unwrap_err().into();
        Ok(readings.bulk().write_try_stream(failing(error)).await?)
    };
    let error = of_opaque().await.unwrap_err();
    assert_eq!(error.to_string(), "line 3");
    let interrupted: &Interrupted<BulkReport, Opaque> = error.downcast_ref().unwrap();
    assert_eq!(interrupted.report().applied(), 2);

    let deleted = readings.delete_where(readings.query()).await.unwrap();
    assert_eq!(deleted.applied(), 2);
    assert_contains(of_box().await.unwrap_err(), "invalid digit");
    let its_own = readings.bulk().write_try_stream(line_3()).await;
    assert_eq!(its_own.map_err(Interrupted::into_error).unwrap_err().0, "line 3");
}

#[tokio::test]
async fn interrupted_by_an_error_of_the_service_keeps_its_source() {
    let interrupted = missing_table().bulk().insert([reading(1)]).await.unwrap_err();
    let error = interrupted.error();
    assert_eq!(error.kind(), ErrorKind::TableNotFound);
    assert_eq!(StdError::source(&interrupted).is_some(), error.source().is_some());
}
