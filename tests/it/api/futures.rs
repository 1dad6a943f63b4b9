//! Builders are futures: they can be spawned, joined and buffered, for every entity type.

use std::rc::Rc;
use std::time::Duration;

use azure_table::entity::Row;
use azure_table::operation::Call;
use azure_table::{CallOptions, ETag, Emulator, ReadEntity, Result, TableClient, TableServiceClient};
use azure_table_patterns::Changes;
use azure_table_tests::entities::Tracked;
use futures::stream::FusedStream;
use futures::{StreamExt, TryStreamExt, stream};

fn assert_send_sync<T: Send + Sync + 'static>(value: T) -> T {
    value
}

fn assert_send<T: Send + 'static>(value: T) {
    drop(value);
}

#[azure_table::test(start_paused)]
async fn builders_are_spawned_joined_and_buffered(table: TableClient<Tracked>) {
    let entity = |n| Tracked::new("g", n, "v");

    // The entity is dropped before the future runs: the builder owns its request.
    let insert = {
        let local = entity(0);
        table.insert(&local).timeout(Duration::from_secs(5))
    };
    tokio::spawn(insert).await.unwrap().unwrap();

    let joined = futures::future::join_all((1..5).map(|n| table.insert(&entity(n)))).await;
    assert!(joined.into_iter().all(|result| result.is_ok()));

    let reads = stream::iter(0..5).map(|n| table.get(("g", n))).buffered(3);
    let read: Vec<_> = reads.try_collect().await.unwrap();
    assert_eq!(read.into_iter().flatten().count(), 5);

    let deletes = stream::iter(0..5).for_each_concurrent(2, |n| {
        let delete = table.delete(("g", n));
        async { delete.await.unwrap() }
    });
    deletes.await;
    assert_eq!(tokio::spawn(table.query().all()).await.unwrap().unwrap(), []);
}

#[azure_table::test]
async fn clients_builders_and_streams_move_between_threads(table: TableClient<Tracked>) {
    let table = assert_send_sync(table);
    assert_send(table.get(("g", 1)));
    assert_send(table.get(("g", 1)).versioned());
    assert_send(table.insert(&Tracked::new("g", 1, "v")));
    let insert = table.insert_returning(&Tracked::new("g", 1, "v"));
    assert_send(insert.with(&CallOptions::new().via_batch()));
    assert_send(table.delete(("g", 1)));
    assert_send(table.create_table_if_not_exists());
    assert_send(table.batch());
    assert_send(table.batch().submit());
    assert_send(table.query());
    assert_send(table.query().stream());
    assert_send(table.query().pages());
    assert_send(table.query().all());
    let parts = || table.query().fan_out().partitions(["g"]);
    assert_send(parts());
    assert_send(parts().stream());
    assert_send(parts().all());
    assert_send(table.query().scan().on_progress(|_, _| ()).stream());
    assert_send(table.query().scan().count());
    assert_send(table.query().scan().partition_keys());
    assert_send(Changes::new(table.query()).stream().unwrap());
    assert_send(table.get_many([("g", 1)]));
    assert_send(table.delete_where(Tracked::NUMBER.eq(1)));
    assert_send(table.update_where(Tracked::NUMBER.eq(1), |row| row.number = 1));
    assert_send(table.upgrade_where(table.query()));
    assert_send(table.bulk().insert([Tracked::new("g", 1, "v")]));
    assert_send(table.bulk().insert([Tracked::new("g", 1, "v")]).outcomes());
    let mut writer = table.writer();
    assert_send(async move { writer.insert(&Tracked::new("g", 1, "v")).await });
    let service = TableServiceClient::from_transport(Emulator::new());
    assert_send(service.list_tables());
    assert_send(service.list_tables().stream());
    assert_send(assert_send_sync(azure_table::TableName::new("").unwrap_err()));
}

/// A shape that is not `Send` can be read: the boxed future contains bytes, not entities.
#[azure_table::test]
async fn shape_need_not_be_send(things: TableClient<Tracked>, service: TableServiceClient) {
    struct Local(Rc<str>);

    impl ReadEntity for Local {
        const METADATA: azure_table::entity::MetadataLevel = azure_table::entity::MetadataLevel::None;
        fn read(row: &Row<'_>) -> Result<Self> {
            Ok(Self(row.row_key()?.into()))
        }
    }

    things.insert(&Tracked::new("g", 1, "v")).await.unwrap();
    let locals = service.table::<Local>("Things").unwrap();
    let key = azure_table::Key::from_text("g", "0000000001").unwrap();
    assert_eq!(&*locals.get(key).await.unwrap().unwrap().0, "0000000001");
}

/// After its end, a stream stays at its end and reports it.
#[azure_table::test]
async fn streams_are_fused(table: TableClient<Tracked>) {
    async fn read<T>(mut stream: impl FusedStream<Item = Result<T>> + Unpin) -> usize {
        let mut count = 0;
        assert!(!stream.is_terminated());
        while let Some(row) = stream.next().await {
            row.unwrap();
            count += 1;
        }
        assert!(stream.is_terminated());
        assert!(stream.next().await.is_none());
        count
    }
    for n in 0..5 {
        table.insert(&Tracked::new("g", n, "v")).await.unwrap();
    }
    let query = || table.query().page_size(2);
    assert_eq!(read(query().stream()).await, 5);
    assert_eq!(read(query().limit(3).stream()).await, 3);
    assert_eq!(read(query().pages()).await, 3);
    for (query, rows) in [(query(), 5), (query().limit(3), 3)] {
        assert_eq!(read(query.fan_out().partitions(["g", "x"]).stream()).await, rows);
    }
    assert_eq!(read(query().scan().ranges(["f"]).stream()).await, 5);
    assert_eq!(read(query().scan().stream()).await, 5);
    assert_eq!(read(query().scan().partition_keys()).await, 1);
    assert_eq!(read(Changes::new(query()).max_polls(1).stream().unwrap()).await, 5);
    assert_eq!(read(table.get_many([("g", 1), ("g", 9)])).await, 2);
}

/// A builder that is polled again, as in a loop around `select!`, does not hang.
#[azure_table::test]
async fn finished_builder_returns_an_error_when_polled_again(table: TableClient<Tracked>) {
    let service = TableServiceClient::from_transport(Emulator::new());
    let mut get = table.get(("g", 1));
    (&mut get).await.unwrap();
    let error = (&mut get).await.unwrap_err();
    assert!(error.to_string().contains("has already completed"), "{error}");
    let mut list = service.list_tables();
    (&mut list).await.unwrap();
    assert!((&mut list).await.is_err());
}

/// A service stores many of these, so they stay small.
#[test]
fn sizes_are_small() {
    assert_eq!(size_of::<azure_table::Error>(), size_of::<usize>());
    assert_eq!(size_of::<azure_table::batch::RejectedOperation>(), size_of::<usize>());
    assert!(size_of::<TableClient<Tracked>>() <= 4 * size_of::<usize>());
    assert!(size_of::<TableServiceClient>() <= 3 * size_of::<usize>());
    assert!(size_of::<Call<ETag>>() <= 208, "{}", size_of::<Call<ETag>>());
    assert!(size_of::<azure_table::query::EntityStream<Tracked>>() <= 320);
}

/// Dropping a future leaves nothing behind: the stream can be polled again, and the next call works.
#[azure_table::test]
async fn a_stream_is_cancel_safe(table: TableClient<Tracked>) {
    for n in 0..5 {
        table.insert(&Tracked::new("g", n, "v")).await.unwrap();
    }
    let mut rows = table.query().page_size(2).stream();
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = std::future::ready(()), if seen.len() % 2 == 1 => seen.push(u32::MAX),
            row = rows.try_next() => match row.unwrap() {
                Some(row) => seen.push(row.number),
                None => break,
            },
        }
    }
    seen.retain(|n| *n != u32::MAX);
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}
