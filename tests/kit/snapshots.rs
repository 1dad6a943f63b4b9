//! Snapshots of a partition: their rows, and the reads that they reject. `explorations.rs` has every order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use azure_table::emulator::EmulatorClock;
use azure_table::testing::Spy;
use azure_table::{
    CallOptions, DateTime, DynamicEntity, Emulator, Error, ErrorKind, Filter, LocationMode, Result, TableClient,
    TableOperation, TableServiceClient,
};
use azure_table_patterns::{Fence, Revision};
use azure_table_tests::entities::Header;
use azure_table_tests::intercept::Intercept;

fn header() -> Header {
    Header {
        group: "g's".into(),
        rows: 0,
        write: None,
    }
}

/// A fence of a partition with these rows, beside another partition with one row.
async fn filled(service: &TableServiceClient, names: &[&str]) -> Result<(Fence<Header>, TableClient)> {
    let rows = service.dynamic_table("Rows")?;
    rows.create_table_if_not_exists().await?;
    rows.insert(&DynamicEntity::new("other", "a")).await?;
    let mut fence = Fence::open(&rows.typed(), &header()).await?;
    let insert = |name: &&str| TableOperation::insert(&DynamicEntity::new("g's", *name));
    fence
        .transact(|header| {
            header.rows = names.len() as i64;
            Ok(names.iter().map(insert).collect())
        })
        .await?;
    Ok((fence, rows))
}

/// Returns a fence and its table. Another client changes the header before each of the first pages, or deletes it and
/// inserts it again.
async fn interrupted(times: u32, recreates: bool) -> Result<(Fence<Header>, TableClient)> {
    let emulator = Emulator::new().shared_clock(EmulatorClock::fixed(DateTime::now()));
    let service = TableServiceClient::from_transport(emulator.clone());
    let (fence, _) = filled(&service, &["a", "b", "c"]).await?;
    let others = service.table::<Header>("Rows")?;
    let left = Arc::new(AtomicU32::new(times));
    let interrupting = Intercept::new(emulator, move |service, request| {
        let (others, left) = (others.clone(), Arc::clone(&left));
        async move {
            let is_page = request.uri().path().ends_with("Rows()");
            let is_left = |left: u32| left.checked_sub(1).filter(|_| is_page);
            if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left).is_ok() {
                if recreates {
                    let header = others.get(("g's",)).await.unwrap().unwrap();
                    others.delete(("g's",)).await.unwrap();
                    others.insert(&header).await.unwrap();
                } else {
                    others.modify(("g's",), |header| header.rows += 1).await.unwrap();
                }
            }
            service.send(request).await
        }
    });
    let rows = TableServiceClient::from_transport(interrupting).dynamic_table("Rows")?;
    let header = rows.typed::<Header>().get(("g's",)).versioned().await?.unwrap();
    assert_eq!(header.etag, rows.get(("g's", "$header")).await?.unwrap().etag.unwrap());
    assert_eq!(fence.header().rows, 3);
    Ok((Fence::with_header(&rows.typed(), header), rows))
}

#[azure_table::test]
async fn snapshot_has_the_selected_rows_of_its_own_partition(service: TableServiceClient) -> Result<()> {
    let (fence, rows) = filled(&service, &["$header2", "a", "b"]).await?;
    let revision = fence.revision()?;
    let names = |rows: Vec<DynamicEntity>| rows.into_iter().map(|row| row.row_key).collect::<Vec<_>>();
    let all = revision.snapshot(rows.query().page_size(1)).await?;
    assert_eq!(names(all), ["$header2", "a", "b"], "without the header");
    let selected = rows.query().partition("g's").filter(Filter::raw("RowKey gt 'a'"));
    assert_eq!(names(revision.snapshot(selected).await?), ["b"]);
    assert_eq!(
        revision.snapshot(rows.query().partition("other").keys()).await?,
        [],
        "of its own partition"
    );
    let (header, keys) = revision.snapshot_with_row::<Header, _, _>(rows.query().keys()).await?;
    assert_eq!((header.map(|header| header.rows), keys.len()), (Some(3), 3));

    // The check is of the primary, and so are the rows.
    let secondary = rows
        .query()
        .with(&CallOptions::new().location_mode(LocationMode::SecondaryOnly));
    assert_eq!(revision.snapshot(secondary.limit(2)).await?.len(), 2);
    let denied = service
        .deny_access(azure_table::filter::AccessPath::TableScan)
        .dynamic_table("Rows")?;
    assert_eq!(
        revision.snapshot(denied.query()).await?.len(),
        3,
        "it reads one partition"
    );
    Ok(())
}

#[tokio::test]
async fn snapshot_is_read_again_after_each_transaction_that_interrupts_it() -> Result<()> {
    let (fence, rows) = interrupted(3, false).await?;
    let pages = rows.query().page_size(2);
    let (header, read) = fence.revision()?.snapshot_with_row::<Header, _, _>(pages).await?;
    let header = header.unwrap();
    assert_eq!((read.len(), header.rows), (3, 6), "the header belongs to the rows");

    let (fence, rows) = interrupted(3, false).await?;
    let mut fence = fence.max_conflicts(2);
    let first = rows.get(("g's", "$header")).await?.unwrap().etag.unwrap();
    let error = fence.revision()?.snapshot(rows.query()).await.unwrap_err();
    let last = rows.get(("g's", "$header")).await?.unwrap().etag.unwrap();
    assert_eq!(error.kind(), ErrorKind::Contention);
    let text = format!(
        "no snapshot: the row (\"g's\", \"$header\") changed during each of 3 reads, from {first} to {last}; `max_conflicts` is 2: \
         raise it, or select fewer rows"
    );
    assert_eq!(error.to_string(), text);
    assert_ne!(first, last);
    // Nothing interrupts it any more, and the fence still writes.
    assert_eq!(fence.revision()?.snapshot(rows.query()).await?.len(), 3);
    fence
        .transact(|header| {
            header.rows = 0;
            Ok(Vec::new())
        })
        .await
}

#[tokio::test]
async fn query_of_another_table_or_position_is_no_snapshot() -> Result<()> {
    let emulator = Emulator::new();
    let spy = Spy::new(emulator.clone());
    let service = TableServiceClient::from_transport(spy.clone());
    let (fence, rows) = filled(&service, &["a", "b"]).await?;
    let header = fence.revision()?;
    let others = service.dynamic_table("Others")?;
    others.create_table().await?;
    let page = rows
        .query()
        .partition("g's")
        .page_size(1)
        .pages()
        .try_next()
        .await?
        .unwrap();
    let from = page.continuation().clone();
    let account = TableServiceClient::from_connection_string("AccountName=contoso;AccountKey=AAECAwQFBgc=")?;
    let elsewhere = account.transport(emulator).dynamic_table("Rows")?;
    let revision = Revision::new(&rows, "g's", "!");
    spy.clear();
    let resumed = rows.query().partition("g's").page_size(1).resume_from(from);
    let of_table = "create it with the client of Rows";
    for (query, expected) in [
        (others.query(), of_table),
        (elsewhere.query(), of_table),
        (resumed, "the continuation belongs to another query"),
    ] {
        for error in [
            header.snapshot(query.clone()).await.unwrap_err(),
            revision.snapshot(query).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    assert_eq!(spy.requests(), 0);
    Ok(())
}

#[azure_table::test]
async fn fence_starts_from_a_header_that_was_read(spy: Spy, service: TableServiceClient) -> Result<()> {
    let (_, rows) = filled(&service, &["a"]).await?;
    let headers: TableClient<Header> = rows.typed();
    let read = headers.get(("g's",)).versioned().await?.unwrap();
    spy.clear();
    let (mut first, mut second) = (
        Fence::with_header(&headers, read.clone()),
        Fence::with_header(&headers, read),
    );
    assert_eq!(spy.requests(), 0);
    let add = |header: &mut Header| {
        header.rows += 1;
        Ok(Vec::new())
    };
    first.transact(add).await?;
    assert_eq!(spy.requests(), 1);
    second.transact(add).await?;
    assert_eq!(second.header().rows, 3, "it was stale, and read again");
    let bill = spy.bill().to_string();
    let kinds: Vec<&str> = bill.lines().filter_map(|line| line.split(", bytes").next()).collect();
    assert_eq!(kinds, ["Batch: requests 3, rows 2", "Get: requests 1, rows 1"]);
    Ok(())
}

#[tokio::test]
async fn revision_need_not_exist_and_shows_whether_a_batch_was_applied() -> Result<()> {
    use azure_table::testing::{Fault, FaultRule, Faults};

    let faults = Faults::new(Emulator::new());
    let rows = TableServiceClient::from_transport(faults.clone()).dynamic_table("Rows")?;
    rows.create_table().await?;
    let revision = Revision::new(&rows, "g", "!");
    assert_eq!(revision.snapshot(rows.query().keys()).await?.len(), 0);
    rows.insert(&DynamicEntity::new("g", "a")).await?;

    // A delete alone would stay in doubt.
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
    let mut batch = rows.batch();
    batch.push(revision.operation())?.delete(("g", "a"))?;
    batch.submit().await?;
    assert_eq!(revision.snapshot(rows.query().keys()).await?.len(), 0);
    Ok(())
}

/// A transaction continues from the header that a snapshot read, and is rejected if the partition has changed since.
#[azure_table::test]
async fn transaction_continues_from_the_header_of_a_snapshot(service: TableServiceClient) -> Result<()> {
    let (fence, rows) = filled(&service, &["a", "b"]).await?;
    let headers: TableClient<Header> = rows.typed();
    let (header, read) = fence
        .revision()?
        .snapshot_with_row::<Header, _, _>(rows.query())
        .await?;
    let header = header.unwrap();
    let delete = |_: &mut Header| Ok(read.iter().map(TableOperation::delete).collect());
    Fence::with_header(&headers, header.clone()).transact(delete).await?;
    let mut late = Fence::with_header(&headers, header).max_conflicts(0);
    let error = late.transact(|_| Ok(Vec::new())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    Ok(())
}

/// The key of the revision is the header's before a closure changed it, and an absent header is no error.
#[azure_table::test]
async fn revision_of_a_fence_has_the_key_of_its_header(service: TableServiceClient) -> Result<()> {
    let (mut fence, rows) = filled(&service, &["a"]).await?;
    fence
        .transact(|header| {
            header.group = "other".into();
            Ok(Vec::new())
        })
        .await
        .unwrap_err();
    let query = || rows.query().keys();
    let (header, read) = fence.revision()?.snapshot_with_row::<Header, _, _>(query()).await?;
    assert_eq!((header.unwrap().rows, read.len()), (1, 1));

    let headers: TableClient<Header> = rows.typed();
    headers.delete(("g's",)).await?;
    let (header, read) = fence.revision()?.snapshot_with_row::<Header, _, _>(query()).await?;
    assert!(header.is_none() && read.len() == 1);
    Ok(())
}

/// It writes the row's write id alone, so that a header which is its row stays whole.
#[azure_table::test]
async fn operation_of_a_revision_keeps_the_other_properties_of_its_row(service: TableServiceClient) -> Result<()> {
    let (mut fence, rows) = filled(&service, &["a"]).await?;
    let mut batch = rows.batch();
    batch.push(fence.revision()?.operation())?;
    batch.submit().await?;
    let before = fence.etag().cloned();
    fence.refresh().await?;
    assert_eq!(fence.header().rows, 1);
    assert_ne!(fence.etag(), before.as_ref(), "it interrupts a snapshot");
    Ok(())
}

/// Keys that do not fit into a URL are sent in batches.
#[azure_table::test]
async fn handle_that_sends_batches_has_snapshots(service: TableServiceClient) -> Result<()> {
    let (_, rows) = filled(&service, &["a", "b"]).await?;
    let rows = rows.with(&CallOptions::new().via_batch());
    let fence = Fence::open(&rows.typed(), &header()).await?;
    assert_eq!(fence.revision()?.snapshot(rows.query()).await?.len(), 2);
    let revision = Revision::new(&rows, "g's", "!");
    assert_eq!(revision.snapshot(rows.query()).await?.len(), 3);
    Ok(())
}

/// Otherwise the conflict with the other header would lead the fence there.
#[azure_table::test]
async fn fence_writes_no_other_header_than_its_own(service: TableServiceClient) -> Result<()> {
    let (mut fence, rows) = filled(&service, &["a"]).await?;
    let other = Header {
        group: "other".into(),
        ..header()
    };
    rows.typed().insert(&other).await?;
    let to_other = |header: &mut Header| {
        header.group = "other".into();
        header.rows = 7;
        Ok(Vec::new())
    };
    let error = fence.transact(to_other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("the key of the header"), "{error}");
    fence.refresh().await?;
    assert_eq!(fence.header().group, "g's", "it reads its own again");
    assert_eq!(fence.revision()?.snapshot(rows.query()).await?.len(), 1);
    let headers: TableClient<Header> = rows.typed();
    let stored = [headers.get(("g's",)).await?, headers.get(("other",)).await?];
    assert_eq!(stored.map(|header| header.unwrap().rows), [1, 0]);
    Ok(())
}

/// The closure of the second one is called again, with the header that the first one stored.
#[azure_table::test]
async fn fence_with_a_new_header_inserts_it_or_continues_with_the_stored_one(rows: TableClient) -> Result<()> {
    let headers: TableClient<Header> = rows.typed();
    let [mut first, mut second] = [(); 2].map(|()| Fence::with_new_header(&headers, header()));
    assert_eq!(first.etag(), None);
    let add = |header: &mut Header| {
        header.rows += 1;
        let name = header.rows.to_string();
        Ok(vec![TableOperation::insert(&DynamicEntity::new("g's", name))])
    };
    first.transact(add).await?;
    let stored = headers.get(("g's",)).versioned().await?.unwrap();
    assert_eq!((first.etag(), stored.rows), (Some(&stored.etag), 1));

    second.transact(add).await?;
    assert_eq!(second.header().rows, 2);
    first.refresh().await?;
    assert_eq!(first.etag(), second.etag());
    assert_eq!(first.revision()?.snapshot(rows.query()).await?.len(), 2);

    // Another process opens the fence and writes, between each read and write of this one.
    let mut third = Fence::open(&headers, &header()).await?.max_conflicts(1);
    let error = third
        .transact(|header| {
            let (headers, mut other) = (headers.clone(), header.clone());
            other.rows += 1;
            futures::executor::block_on(async { headers.insert_or_replace(&other).await })?;
            add(header)
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contention);
    let text = "2 conflicting transactions, more than the limit of 1: raise `max_conflicts`, or reduce concurrent writers; \
                the last: ";
    assert!(error.to_string().starts_with(text), "{error}");

    let mut late = Fence::with_new_header(&headers, header()).max_conflicts(0);
    let error = late.transact(add).await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::AlreadyExists, Some(0)));
    Ok(())
}

/// The clock stands still, and the header is the same. Its ETag is not.
#[tokio::test]
async fn header_that_was_deleted_and_inserted_again_interrupts_a_snapshot() -> Result<()> {
    let (fence, rows) = interrupted(1, true).await?;
    let revision = fence.max_conflicts(0).revision()?;
    let error = revision.snapshot(rows.query()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contention, "{error}");
    assert_eq!(revision.snapshot(rows.query()).await?.len(), 3);
    Ok(())
}

/// `Rows` and `rOWS` name one table on Table storage, and two on Cosmos DB.
#[tokio::test]
async fn snapshot_of_a_table_in_another_case_is_read_if_it_names_the_same_table() -> Result<()> {
    for (emulator, is_same) in [(Emulator::new(), true), (Emulator::cosmos(), false)] {
        let service = TableServiceClient::from_transport(emulator);
        let (fence, _) = filled(&service, &["a", "b"]).await?;
        let read = fence.revision()?.snapshot(service.dynamic_table("rOWS")?.query()).await;
        let read = read.map(|rows: Vec<DynamicEntity>| rows.len()).map_err(|e| e.kind());
        assert_eq!(read, if is_same { Ok(2) } else { Err(ErrorKind::InvalidInput) });
    }
    Ok(())
}

/// A closure may change the header before it finds that it has to refuse.
#[azure_table::test]
async fn change_of_a_refused_transaction_is_forgotten(service: TableServiceClient) -> Result<()> {
    let (mut fence, _) = filled(&service, &["a"]).await?;
    let refused = fence.transact(|header| {
        header.rows += 10;
        Err(Error::other("refused"))
    });
    assert!(refused.await.unwrap_err().to_string().contains("refused"));
    let count = |header: &mut Header| {
        header.rows += 1;
        Ok(Vec::new())
    };
    fence.transact(count).await?;
    assert_eq!(fence.header().rows, 2);
    Ok(())
}
