//! Writes by query: the rows written, the report, the requests, and the position.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use azure_table::bulk::{Interrupted, Leftover, LeftoverReason, WritePosition, WriteReport};
use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::query::BadRow;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    Change, Column, DynamicEntity, EdmValue, Emulator, Error, ErrorKind, Key, NoRetry, TableClient, TableEntity,
    TableServiceClient,
};
use azure_table_tests::errors::kind_in_doubt;

use crate::api::interceptor::Interceptor;

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
    author: Option<String>,
}

const ROWS: u32 = 250;
const PAGE: usize = 7;

/// 250 rows in 7 partitions, read in pages of 7 rows: one client over `faults`, and one without faults.
struct Table {
    faults: Faults,
    blogs: TableClient<Blog>,
    truth: TableClient<Blog>,
}

async fn filled(page: usize) -> Table {
    let emulator = Emulator::new().page_size(page);
    let faults = Faults::new(emulator.clone());
    let truth = TableServiceClient::from_transport(emulator)
        .table::<Blog>("Blogs")
        .unwrap();
    truth.create_table().await.unwrap();
    let mut partitions = BTreeMap::new();
    for id in 0..ROWS {
        let channel = format!("c{}", id * 7 / ROWS);
        partitions.entry(channel).or_insert_with(Vec::new).push(id);
    }
    for (channel, ids) in partitions {
        let mut batch = truth.batch();
        for id in ids {
            let blog = Blog {
                channel: channel.clone(),
                id,
                rating: (id % 5).cast_signed(),
                author: Some("O'Brien".into()),
            };
            batch.insert(&blog).unwrap();
        }
        batch.submit().await.unwrap();
    }
    let blogs = TableServiceClient::from_transport(faults.clone())
        .retry(NoRetry)
        .table::<Blog>("Blogs")
        .unwrap();
    Table { faults, blogs, truth }
}

impl Table {
    async fn ratings(&self) -> Vec<i32> {
        let rows = self.truth.query().all().await.unwrap();
        rows.into_iter().map(|blog| blog.rating).collect()
    }

    fn sent(&self, kind: OperationKind) -> usize {
        let log = self.faults.log();
        log.iter().filter(|record| record.kind() == Some(kind)).count()
    }
}

/// Delete by partition or query.
#[tokio::test]
async fn rows_are_deleted_by_a_condition_or_a_query() {
    let table = filled(PAGE).await;
    let report = table.blogs.delete_where(Blog::RATING.lt(2)).await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.gone()), (100, 0, 0));
    assert!(report.leftovers().is_empty() && report.position().is_none());
    report.ensure_no_leftovers().unwrap();
    assert_eq!(report.to_string(), "100 applied");
    assert_eq!(table.truth.query().count().await.unwrap(), 150);

    let query = table.blogs.query().partition("c3").filter(Blog::RATING.eq(4)).limit(3);
    assert_eq!(table.blogs.delete_where(query).await.unwrap().applied(), 3);
    assert_eq!(table.truth.query().count().await.unwrap(), 147);
    let report = table.blogs.delete_where(table.blogs.query()).await.unwrap();
    assert_eq!(report.applied(), 147);
    assert_eq!(table.truth.query().count().await.unwrap(), 0);
}

/// One request for each page, and one for each of its partitions.
#[tokio::test]
async fn one_request_is_sent_per_page_and_batch() {
    let table = filled(1_000).await;
    let report = table.blogs.delete_where(table.blogs.query()).await.unwrap();
    assert_eq!(report.applied(), 250);
    assert_eq!(
        (table.sent(OperationKind::Query), table.sent(OperationKind::Batch)),
        (1, 7)
    );
    assert_eq!(table.faults.requests(), 8);

    let many = filled(1_000).await;
    let emulator = Emulator::new();
    let faults = Faults::new(emulator);
    let one = TableServiceClient::from_transport(faults.clone())
        .table::<Blog>("Blogs")
        .unwrap();
    one.create_table().await.unwrap();
    for chunk in many.truth.query().all().await.unwrap().chunks(100) {
        let mut batch = one.batch();
        for blog in chunk {
            let channel = "one".into();
            batch
                .insert(&Blog {
                    channel,
                    ..blog.clone()
                })
                .unwrap();
        }
        batch.submit().await.unwrap();
    }
    let before = faults.requests();
    let report = one
        .patch_where(one.query().partition("one"), [Blog::RATING.set(9)])
        .await
        .unwrap();
    assert_eq!(
        (report.applied(), faults.requests() - before),
        (250, 4),
        "a page, and 100, 100 and 50 rows"
    );
    // A single row is sent without a batch.
    let before = faults
        .log()
        .iter()
        .filter(|it| it.kind() == Some(OperationKind::Batch))
        .count();
    let report = one
        .delete_where(Blog::CHANNEL.eq("one") & Blog::ID.eq(7))
        .await
        .unwrap();
    assert_eq!(report.applied(), 1);
    assert_eq!(
        faults
            .log()
            .iter()
            .filter(|it| it.kind() == Some(OperationKind::Batch))
            .count(),
        before
    );
    assert_eq!(faults.log().last().unwrap().kind(), Some(OperationKind::Delete));
}

/// Delete and patch read only the keys.
#[tokio::test]
async fn deletes_and_patches_read_no_properties() {
    let emulator = Emulator::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let transport = Interceptor::new(emulator.clone(), {
        let seen = Arc::clone(&seen);
        move |request| seen.lock().unwrap().push(request.uri().to_string())
    });
    let blogs = TableServiceClient::from_transport(transport)
        .table::<Blog>("Blogs")
        .unwrap();
    blogs.create_table().await.unwrap();
    let _ = blogs.delete_where(Blog::CHANNEL.eq("a")).await.unwrap();
    let _ = blogs
        .patch_where(Blog::CHANNEL.eq("a"), [Blog::RATING.set(1)])
        .await
        .unwrap();
    let _ = blogs.update_where(Blog::CHANNEL.eq("a"), |_| ()).await.unwrap();
    let selects: Vec<bool> = seen.lock().unwrap()[1..]
        .iter()
        .map(|uri| uri.contains("$select=PartitionKey,RowKey") || uri.contains("$select=PartitionKey%2CRowKey"))
        .collect();
    assert_eq!(selects, [true, true, false], "{:?}", seen.lock().unwrap());
}

#[tokio::test]
async fn a_patch_writes_the_named_columns_of_all_rows() {
    let table = filled(PAGE).await;
    let low = Blog::RATING.lt(2);
    let report = table
        .blogs
        .patch_where(low.clone(), [Blog::RATING.set(2)])
        .await
        .unwrap();
    assert_eq!(report.applied(), 100);
    assert_eq!(table.truth.query().filter(low.clone()).count().await.unwrap(), 0);
    let rows = table.truth.query().all().await.unwrap();
    assert!(rows.iter().all(|blog| blog.author.as_deref() == Some("O'Brien")));

    let none: [azure_table::filter::Assignment<Blog>; 0] = [];
    let before = table.faults.requests();
    let error = Error::from(table.blogs.patch_where(low, none).await.unwrap_err());
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    assert_eq!(table.faults.requests(), before);
}

#[tokio::test]
async fn update_saves_or_keeps_rows_as_the_closure_returns() {
    let table = filled(PAGE).await;
    let report = table
        .blogs
        .update_where(table.blogs.query(), |blog| {
            if blog.rating == 4 {
                return Change::Keep;
            }
            blog.rating += 10;
            // A property that the closure removes is no longer stored.
            blog.author = None;
            Change::Save
        })
        .await
        .unwrap();
    assert_eq!((report.applied(), report.unchanged()), (200, 50));
    let rows = table.truth.query().all().await.unwrap();
    assert!(
        rows.iter()
            .all(|blog| (blog.rating == 4) == blog.author.is_some() && (blog.rating == 4 || blog.rating >= 10))
    );

    let same: Result<_, Interrupted<WriteReport<Blog>>> =
        table.blogs.update_where(table.blogs.query(), |_| Change::Keep).await;
    assert_eq!(same.unwrap().unchanged(), 250);
}

/// Properties that the struct does not declare are kept.
#[tokio::test]
async fn update_keeps_unknown_properties() {
    let table = filled(PAGE).await;
    let unknown = Column::<DynamicEntity, i64>::property("Unknown");
    let all = table.truth.typed::<DynamicEntity>();
    let _ = all.patch_where(all.query(), [unknown.set(7)]).await.unwrap();
    for forget in [false, true] {
        let update = table
            .blogs
            .update_where(table.blogs.query().partition("c1"), move |blog| {
                blog.rating = 9;
                blog.author = blog.author.take().filter(|_| !forget);
            });
        let report = update.await.unwrap();
        let rows = all.query().partition("c1").all().await.unwrap();
        assert_eq!(report.applied(), rows.len() as u64);
        assert_eq!(report.kept_unknown(), report.applied());
        let kept = format!(", {} kept properties that the struct does not declare", rows.len());
        assert!(report.to_string().ends_with(&kept), "{report}");
        for row in rows {
            assert_eq!(row.get("Unknown"), Some(&EdmValue::Int64(7)), "{forget}");
            assert_eq!(
                (row.get("rating"), row.get("author").is_some()),
                (Some(&EdmValue::Int32(9)), !forget)
            );
        }
    }
}

/// An error of the closure is returned to the caller, and nothing of the page is written.
#[tokio::test]
async fn error_of_the_closure_ends_the_update() {
    #[derive(Debug)]
    enum Stop {
        Here(u32),
        Azure(Error),
    }
    impl From<Error> for Stop {
        fn from(error: Error) -> Self {
            Self::Azure(error)
        }
    }
    let table = filled(PAGE).await;
    let bump = |stop: u32| {
        move |blog: &mut Blog| {
            if blog.id == stop {
                return Err(Stop::Here(blog.id));
            }
            blog.rating += 100;
            Ok(())
        }
    };
    let stopped = table
        .blogs
        .update_where(table.blogs.query(), bump(24))
        .await
        .unwrap_err();
    assert!(matches!(stopped.error(), Stop::Here(24)));
    assert_eq!(stopped.report().applied(), 21);
    let position = stopped.position();
    let (error, report) = stopped.into_parts();
    assert!(matches!(error, Stop::Here(24)) && report.position() == Some(position.clone()));
    let report = table
        .blogs
        .update_where(table.blogs.query(), bump(1_000))
        .resume_from(position)
        .await
        .unwrap();
    assert_eq!(report.applied(), 229);
    assert!(table.ratings().await.iter().all(|rating| (100..105).contains(rating)));

    let rekeyed = table.blogs.update_where(table.blogs.query(), |blog| blog.id += 1).await;
    let error = Error::from(rekeyed.unwrap_err());
    assert!(
        error.kind() == ErrorKind::InvalidInput && error.to_string().contains("changed the entity's key"),
        "{error}"
    );
    let rejected: Result<_, Interrupted<_, Stop>> = table
        .blogs
        .update_where(table.blogs.query().page_size(0), |_| Ok::<(), Stop>(()))
        .await;
    assert!(matches!(rejected.unwrap_err().error(), Stop::Azure(e) if e.kind() == ErrorKind::InvalidInput));
}

/// Without the report, only the doubt says that rows of earlier pages were written.
#[tokio::test]
async fn error_of_a_later_page_is_in_doubt() {
    let update = async |request| {
        let table = filled(1_000).await;
        let denied = ResponseTemplate::new(403).code("AuthorizationFailure");
        table.faults.add(FaultRule::new(Fault::Respond(denied)).nth(request));
        let raised = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 1);
        Error::from(raised.concurrency(1).await.unwrap_err())
    };
    let error = update(5).await;
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Forbidden), "{error}");
    for request in [1, 2] {
        let error = update(request).await;
        assert_eq!(error.kind(), ErrorKind::Forbidden, "nothing was written: {error}");
    }
}

/// The doubt of one batch does not cover the others.
#[tokio::test]
async fn error_of_a_write_by_query_has_no_doubt_of_one_batch() {
    let table = filled(1_000).await;
    table
        .faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).nth(2));
    let raised = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 1);
    let error = Error::from(raised.concurrency(1).await.unwrap_err());
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection), "{error}");
    assert!(error.doubt().is_none(), "{:?}", error.doubt());
}

/// If a batch fails because of some rows, the others are written.
#[tokio::test]
async fn changed_rows_are_reported_and_the_others_written() {
    let table = filled(1_000).await;
    let emulator_table = table.truth.clone();
    // After the page is read and before the first batch, another client changes two rows and deletes one.
    let transport = Interceptor::before_first_batch(table.faults.clone(), move || {
        let table = emulator_table.clone();
        Box::pin(async move {
            for id in [3, 9] {
                table.patch(("c0", id), [Blog::AUTHOR.set("someone")]).await.unwrap();
            }
            table.delete(("c0", 5)).await.unwrap();
        })
    });
    let blogs = TableServiceClient::from_transport(transport)
        .table::<Blog>("Blogs")
        .unwrap();
    let report = blogs
        .update_where(blogs.query(), |blog| blog.rating = 50)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.gone()), (247, 1));
    assert_eq!((report.changed(), report.rejected()), (2, 0));
    let failed: Vec<_> = report
        .leftovers()
        .iter()
        .map(|row| {
            (
                row.key().clone(),
                row.error().unwrap().kind(),
                row.error().unwrap().may_have_applied(),
            )
        })
        .collect();
    let key = |id: u32| Key::<Blog>::from_text("c0", format!("{id:010}")).unwrap();
    let changed = |id| (key(id), ErrorKind::ConditionNotMet, false);
    assert_eq!(failed, [changed(3), changed(9)]);
    let is_rejected = |row: &Leftover<Key<Blog>>| matches!(row.reason(), LeftoverReason::Rejected(e) if e.kind() == ErrorKind::ConditionNotMet);
    assert!(report.leftovers().iter().all(is_rejected));
    assert_eq!(report.kept_unknown(), 0);
    assert!(
        report.leftovers()[0].to_string().contains("0000000003"),
        "{}",
        report.leftovers()[0]
    );
    let error = report.ensure_no_leftovers().unwrap_err();
    assert_eq!(error.to_string(), report.leftovers()[0].error().unwrap().to_string());
    let other: Vec<u32> = table
        .truth
        .query()
        .filter(Blog::RATING.ne(50))
        .all()
        .await
        .unwrap()
        .into_iter()
        .map(|blog| blog.id)
        .collect();
    assert_eq!(other, [3, 9]);
    // The seven batches. The first is sent again after each of three rows, and finally in halves.
    assert_eq!(table.sent(OperationKind::Batch), 11);
}

/// The service does not name the row at fault: it is found by halving the batch.
#[tokio::test]
async fn failing_row_without_an_index_is_found_by_halving() {
    let table = filled(1_000).await;
    let rule =
        FaultRule::new(Fault::FailBatchPart(ResponseTemplate::new(400).code("InvalidInput"))).on(OperationKind::Batch);
    table.faults.add(rule.first(1));
    let report = table
        .blogs
        .update_where(table.blogs.query().partition("c0"), |blog| blog.rating += 1)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.rejected()), (36, 0));
    assert_eq!(table.sent(OperationKind::Batch), 3);

    table.faults.clear();
    let always =
        FaultRule::new(Fault::FailBatchPart(ResponseTemplate::new(400).code("InvalidInput"))).on(OperationKind::Batch);
    table.faults.add(always);
    table.faults.add(
        FaultRule::new(ResponseTemplate::new(400).code("InvalidInput"))
            .on(OperationKind::Merge)
            .nth(5),
    );
    let report = table
        .blogs
        .update_where(table.blogs.query().partition("c1"), |blog| blog.rating += 1)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.rejected()), (35, 1));
    assert_eq!(report.leftovers()[0].error().unwrap().kind(), ErrorKind::Rejected);
}

/// An error that concerns no row ends the write. After a resume, each row is written once.
#[tokio::test]
async fn interrupted_update_resumes_from_its_position() {
    for (rule, concurrency) in [
        (
            FaultRule::new(ResponseTemplate::server_busy(std::time::Duration::ZERO))
                .on_writes()
                .every(3),
            1,
        ),
        (FaultRule::new(Fault::NoConnection).on_writes().every(5), 4),
        (FaultRule::new(Fault::NoConnection).on_reads().every(4), 2),
        (
            FaultRule::new(ResponseTemplate::new(403).code("AuthorizationFailure"))
                .on_writes()
                .every(4),
            3,
        ),
    ] {
        for page in [7, 40, 1_000] {
            let table = filled(page).await;
            table.faults.add(rule.clone());
            let before = table.ratings().await;
            let all = || {
                let update = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 100);
                update.concurrency(concurrency)
            };
            let (mut applied, mut runs) = (0, 1);
            let mut outcome = all().await;
            while let Err(interrupted) = outcome {
                let kind = interrupted.error().kind();
                assert!(
                    matches!(
                        kind,
                        ErrorKind::Throttled | ErrorKind::Connection | ErrorKind::Forbidden
                    ),
                    "{interrupted}"
                );
                assert!(interrupted.report().leftovers().is_empty());
                applied += interrupted.report().applied();
                runs += 1;
                // The position may be stored in between.
                let kept = serde_json::to_string(&interrupted.position()).unwrap();
                let position: WritePosition = serde_json::from_str(&kept).unwrap();
                assert_eq!(position, interrupted.position());
                outcome = all().resume_from(position).await;
            }
            applied += outcome.unwrap().applied();
            assert!(
                applied == 250 && (runs > 1 || page == 1_000),
                "{applied} rows in {runs} runs, {rule:?}, pages of {page}"
            );
            let expected: Vec<i32> = before.iter().map(|rating| rating + 100).collect();
            assert_eq!(table.ratings().await, expected);
        }
    }
}

/// The last reported position is enough to resume, whatever happened to the process.
#[tokio::test]
async fn dropped_update_resumes_from_its_last_progress() {
    let table = filled(20).await;
    let kept = Arc::new(Mutex::new((0, None)));
    let hear = Arc::clone(&kept);
    let update = table
        .blogs
        .update_where(table.blogs.query(), |blog| blog.rating += 100)
        .repeatable()
        .concurrency(1)
        .on_progress(move |report| *hear.lock().unwrap() = (report.applied(), report.position()));
    table.faults.add(FaultRule::new(Fault::HangRequest).on_writes().nth(9));
    assert!(
        tokio::time::timeout(std::time::Duration::from_millis(200), update)
            .await
            .is_err()
    );
    let (before, position) = kept.lock().unwrap().clone();
    assert!(before > 100, "{before}");
    let rest = table
        .blogs
        .update_where(table.blogs.query(), |blog| blog.rating += 100)
        .repeatable()
        .resume_from(position.unwrap());
    assert_eq!(rest.await.unwrap().applied() + before, 250);
    assert!(table.ratings().await.iter().all(|rating| (100..105).contains(rating)));
}

/// No row is changed twice, whether its batch was applied or not. Those that were in flight may be missing.
#[tokio::test(start_paused = true)]
async fn rows_in_flight_count_as_done_unless_the_update_is_repeatable() {
    for (fault, is_repeatable, of_batch) in [
        (Fault::HangResponse, false, 1),
        (Fault::HangRequest, false, 0),
        (Fault::HangRequest, true, 1),
        (Fault::HangResponse, true, 2),
    ] {
        let table = filled(1_000).await;
        table.faults.add(FaultRule::new(fault).on(OperationKind::Batch).nth(3));
        let stored = Arc::new(Mutex::new(None));
        let log = Arc::clone(&stored);
        let update = || {
            let update = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 100);
            if is_repeatable { update.repeatable() } else { update }
        };
        let crashed = update()
            .concurrency(2)
            .on_progress(move |report| *log.lock().unwrap() = report.position());
        let crashed = tokio::time::timeout(std::time::Duration::from_millis(300), crashed);
        assert!(crashed.await.is_err());
        let position = stored.lock().unwrap().take().unwrap();
        let report = update().resume_from(position).await.unwrap();
        assert!(report.leftovers().is_empty());
        let raised: Vec<_> = table.ratings().await.iter().map(|rating| rating / 100).collect();
        assert_eq!(
            raised.iter().filter(|times| **times == 1).count(),
            if of_batch == 1 { 250 } else { 214 }
        );
        assert!(
            raised.iter().all(|times| *times == 1 || *times == of_batch),
            "{raised:?}"
        );
    }
}

/// A position stays valid with another page size.
#[tokio::test]
async fn position_is_valid_with_another_page_size() {
    let table = filled(1_000).await;
    let all = |rows| {
        table
            .blogs
            .update_where(table.blogs.query().page_size(rows), |blog| blog.rating += 100)
    };
    table.faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(4));
    table.faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(6));
    let first = all(500).await.unwrap_err();
    let second = all(30).resume_from(first.position()).await.unwrap_err();
    let last = all(90).resume_from(second.position()).await.unwrap();
    let applied = first.report().applied() + second.report().applied() + last.applied();
    assert!(applied == 250 && first.report().applied() > 0);
    assert!(table.ratings().await.iter().all(|rating| (100..105).contains(rating)));
}

/// A position of the first page is bound to its query like any other.
#[tokio::test]
async fn position_is_bound_to_its_query_and_method() {
    let table = filled(1_000).await;
    table.faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(2));
    let update = || table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 100);
    let position = update().await.unwrap_err().position();
    let of_other = table
        .blogs
        .update_where(Blog::RATING.lt(0), |blog| blog.rating += 1)
        .resume_from(position.clone())
        .await
        .unwrap_err();
    assert!(of_other.to_string().contains("belongs to another query"), "{of_other}");
    assert_eq!(of_other.position(), position, "it is not lost by that");
    let deletes = table
        .blogs
        .delete_where(table.blogs.query())
        .resume_from(position.clone());
    let text = deletes.await.unwrap_err().to_string();
    assert!(
        text.contains("this is a position of `update where`, not of `delete where`"),
        "{text}"
    );
    assert!(update().resume_from(position).await.unwrap().applied() > 0);
}

/// A resume from any reported position writes each row once. After the end there is no position.
#[tokio::test]
async fn update_resumes_from_any_reported_position() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let table = filled(7).await;
    let log = Arc::clone(&heard);
    let update = || table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 100);
    let report = update()
        .repeatable()
        .on_progress(move |report| log.lock().unwrap().push((report.applied(), report.position())))
        .await
        .unwrap();
    assert_eq!(report.applied(), 250);
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(heard.last().unwrap(), &(250, None));
    for (applied, position) in heard.into_iter().step_by(17) {
        let table = filled(7).await;
        let Some(position) = position else {
            assert_eq!(applied, 250, "only the end has no position");
            continue;
        };
        let update = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 100);
        let update = update.repeatable().resume_from(position);
        assert_eq!(update.await.unwrap().applied(), 250 - applied);
    }
}

/// A deleted row is not remembered: a row that is inserted again is a new one.
#[tokio::test]
async fn position_of_deletes_contains_no_keys() {
    let table = filled(50).await;
    table
        .faults
        .add(FaultRule::new(Fault::NoConnection).on_writes().every(2));
    let mut position = None;
    let mut deleted = 0;
    loop {
        let mut delete = table.blogs.delete_where(table.blogs.query()).concurrency(1);
        if let Some(position) = position.take() {
            delete = delete.resume_from(position);
        }
        match delete.await {
            Ok(report) => break deleted += report.applied(),
            Err(interrupted) => {
                deleted += interrupted.report().applied();
                let kept = serde_json::to_string(&interrupted.position()).unwrap();
                assert!(kept.len() < 400, "{kept}");
                position = Some(serde_json::from_str(&kept).unwrap());
            }
        }
    }
    assert_eq!((deleted, table.blogs.query().count().await.unwrap()), (250, 0));
}

/// So ETags do not get old while rows wait, and at most one page is in memory.
#[tokio::test]
async fn next_page_is_read_after_the_writes_of_the_current_one() {
    let table = filled(50).await;
    let report = table.blogs.delete_where(table.blogs.query()).await.unwrap();
    assert_eq!(report.applied(), 250);
    let kinds: Vec<_> = table.faults.log().iter().map(|record| record.kind()).collect();
    let pages = kinds.iter().filter(|kind| **kind == Some(OperationKind::Query)).count();
    assert_eq!(pages, 5, "one for each page");
    assert!(
        kinds.windows(2).all(|two| two != [Some(OperationKind::Query); 2]),
        "{kinds:?}"
    );
}

/// The rows of a batch whose response is lost are in doubt, and are not updated twice.
#[tokio::test]
async fn rows_with_a_lost_response_are_in_doubt() {
    for fault in [Fault::LoseResponse, Fault::LoseRequest] {
        let table = filled(1_000).await;
        table
            .faults
            .add(FaultRule::new(fault.clone()).on(OperationKind::Batch).nth(2));
        let all = || {
            table
                .blogs
                .update_where(table.blogs.query(), |blog| blog.rating += 100)
                .concurrency(1)
        };
        let interrupted = all().await.unwrap_err();
        assert_eq!(kind_in_doubt(interrupted.error()), Some(ErrorKind::Connection));
        let report = interrupted.report();
        assert_eq!((report.applied(), report.rejected(), report.in_doubt()), (36, 0, 36));
        assert!(
            report
                .leftovers()
                .iter()
                .all(|row| row.key().partition_key() == "c1" && row.error().unwrap().may_have_applied())
        );
        assert!(
            report.leftovers()[0].to_string().contains("c1"),
            "{}",
            report.leftovers()[0]
        );
        let rest = all().resume_from(interrupted.position()).await.unwrap();
        assert_eq!((rest.applied(), rest.in_doubt()), (178, 0));
        let ratings = table.ratings().await;
        let doubtful = 36..72;
        assert!(ratings.iter().enumerate().all(|(at, rating)| {
            let is_written = (100..105).contains(rating);
            is_written || (doubtful.contains(&at) && matches!(fault, Fault::LoseRequest))
        }));

        // A repeated delete has no further effect, so rows in doubt are deleted again.
        let table = filled(1_000).await;
        table.faults.add(FaultRule::new(fault).on(OperationKind::Batch).nth(2));
        let all = || table.blogs.delete_where(table.blogs.query()).concurrency(1);
        let interrupted = all().await.unwrap_err();
        assert_eq!(interrupted.report().in_doubt(), 36);
        let _ = all().resume_from(interrupted.position()).await.unwrap();
        assert_eq!(table.truth.query().count().await.unwrap(), 0);
    }
}

/// With retries, a repeated delete resolves the doubt. An update stays in doubt, and the other rows continue.
#[tokio::test(start_paused = true)]
async fn retried_lost_response_does_not_end_the_write() {
    let lost = || FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).nth(2);
    let table = filled(1_000).await;
    let blogs = TableServiceClient::from_transport(table.faults.clone())
        .table::<Blog>("Blogs")
        .unwrap();
    table.faults.add(lost());
    let report = blogs.delete_where(blogs.query()).concurrency(1).await.unwrap();
    assert_eq!((report.applied(), report.gone(), report.in_doubt()), (214, 36, 0));
    assert_eq!(table.truth.query().count().await.unwrap(), 0);

    let table = filled(1_000).await;
    let blogs = TableServiceClient::from_transport(table.faults.clone())
        .table::<Blog>("Blogs")
        .unwrap();
    table.faults.add(lost());
    let report = blogs
        .update_where(blogs.query(), |blog| blog.rating += 100)
        .concurrency(1)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.rejected(), report.in_doubt()), (214, 0, 36));
    assert!(table.ratings().await.iter().all(|rating| (100..105).contains(rating)));
}

#[tokio::test]
async fn denied_query_is_not_read_by_writes() {
    let table = filled(PAGE).await;
    let service = TableServiceClient::from_transport(table.faults.clone()).deny_access(AccessPath::TableScan);
    let blogs = service.table::<Blog>("Blogs").unwrap();
    let before = table.faults.requests();
    for interrupted in [
        blogs.delete_where(Blog::RATING.lt(2)).await.unwrap_err(),
        blogs
            .patch_where(blogs.query(), [Blog::RATING.set(1)])
            .await
            .unwrap_err(),
        blogs.update_where(blogs.query(), |_| ()).await.unwrap_err(),
        blogs.upgrade_where(blogs.query()).await.unwrap_err(),
    ] {
        let report = interrupted.report();
        assert_eq!((report.applied(), report.rejected()), (0, 0));
        let error = Error::from(interrupted);
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert!(error.to_string().contains("denies"), "{error}");
    }
    // Nor is a query of another table accepted.
    let others = service.table::<Blog>("Others").unwrap();
    let error = blogs.delete_where(others.query().partition("c1")).await.unwrap_err();
    assert!(error.to_string().contains("for the table Others"), "{error}");
    assert_eq!(table.faults.requests(), before);

    let allowed = blogs.delete_where(blogs.query().allow_table_scan());
    assert_eq!(allowed.await.unwrap().applied(), 250);
}

#[tokio::test]
async fn too_many_failures_end_a_write_by_query() {
    let table = filled(1_000).await;
    table
        .faults
        .add(FaultRule::new(ResponseTemplate::new(413).code("RequestBodyTooLarge")).on_writes());
    let update = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 1);
    let interrupted = update.concurrency(1).max_failures(40).await.unwrap_err();
    assert!(
        interrupted
            .to_string()
            .contains("72 rows failed, and `.max_failures(..)` allows 40"),
        "{interrupted}"
    );
    assert_eq!(interrupted.error().kind(), ErrorKind::Rejected);
    let report = interrupted.report();
    assert_eq!(
        (report.applied(), report.rejected(), report.not_attempted()),
        (0, 72, 178)
    );
    table.faults.clear();
    let update = table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 1);
    let report = update.resume_from(interrupted.position()).await.unwrap();
    assert_eq!(report.applied(), 250 - 72);
}

#[tokio::test]
async fn rows_that_cannot_be_decoded_fail_or_are_skipped() {
    let table = filled(PAGE).await;
    let rating = Column::<DynamicEntity, String>::property("rating");
    let dynamic = table.truth.typed::<DynamicEntity>();
    dynamic
        .patch(Key::from_text("c2", "0000000080").unwrap(), [rating.set("none")])
        .await
        .unwrap();
    let report = table
        .blogs
        .update_where(table.blogs.query(), |blog| blog.rating += 1)
        .await
        .unwrap();
    assert_eq!((report.applied(), report.rejected()), (249, 1));
    let bad = &report.leftovers()[0];
    assert!(
        bad.error().unwrap().kind() == ErrorKind::InvalidResponse && bad.to_string().contains("`rating`"),
        "{bad}"
    );
    assert_eq!(bad.key().row_key(), "0000000080");

    let seen = Arc::new(Mutex::new(Vec::new()));
    let query = table.blogs.query().skip_bad_rows({
        let seen = Arc::clone(&seen);
        move |bad: &BadRow| seen.lock().unwrap().push(bad.to_string())
    });
    let report = table.blogs.update_where(query, |blog| blog.rating += 1).await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.rejected()), (249, 1, 0));
    assert_eq!(seen.lock().unwrap().len(), 1);
    // A delete does not decode rows, so it deletes them too.
    assert_eq!(
        table.blogs.delete_where(table.blogs.query()).await.unwrap().applied(),
        250
    );
}

/// Cosmos DB guarantees no order: rows are grouped by partition within a page.
#[tokio::test]
async fn rows_in_any_order_are_grouped_by_partition() {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    let blogs = service.table::<Blog>("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    for id in 0..30 {
        let channel = format!("c{}", id % 3);
        blogs
            .insert(&Blog {
                channel,
                id,
                rating: 1,
                author: None,
            })
            .await
            .unwrap();
    }
    let all = blogs.query().page_size(8);
    let report = blogs.update_where(all.clone(), |blog| blog.rating += 1).await.unwrap();
    assert_eq!(report.applied(), 30);
    assert!(blogs.query().all().await.unwrap().iter().all(|blog| blog.rating == 2));
    assert_eq!(blogs.delete_where(all).await.unwrap().applied(), 30);
}

/// A batch is split by its size in bytes.
#[tokio::test]
async fn batch_is_split_by_its_bytes() {
    let faults = Faults::new(Emulator::new());
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Large")
        .unwrap();
    table.create_table().await.unwrap();
    for n in 0..20 {
        let mut row = DynamicEntity::new("p", format!("{n:02}"));
        for part in 0..10 {
            row.insert(format!("P{part}"), "x".repeat(30_000).as_str());
        }
        table.insert(&row).await.unwrap();
    }
    let before = faults.requests();
    let report = table
        .update_where(table.query().partition("p"), |row| {
            row.insert("Mark", "y".repeat(30_000).as_str());
        })
        .await
        .unwrap();
    assert_eq!(
        (report.applied(), faults.requests() - before),
        (20, 5),
        "a page of 13 rows, then 12 and 1; one of 7, then all"
    );
}

/// A write by query runs in the caller's future: it needs neither `Send` nor `'static` of its captures.
#[tokio::test]
async fn closure_may_borrow_and_builder_can_be_spawned() {
    let table = filled(PAGE).await;
    let mut seen = 0;
    let report = table
        .blogs
        .update_where(table.blogs.query().partition("c1"), |_| seen += 1)
        .await
        .unwrap();
    assert_eq!(seen, report.applied());
    let delete = tokio::spawn(table.blogs.delete_where(table.blogs.query().partition("c1")));
    assert_eq!(delete.await.unwrap().unwrap().applied(), seen);
    let spawned = tokio::spawn(table.blogs.update_where(table.blogs.query(), |blog| blog.rating += 1));
    assert!(spawned.await.unwrap().is_ok());
    let mut ended = table.blogs.upgrade_where(table.blogs.query());
    let _ = (&mut ended).await.unwrap();
    assert!(
        (&mut ended)
            .await
            .unwrap_err()
            .to_string()
            .contains("has already completed")
    );
    assert_eq!(size_of::<Interrupted<WriteReport<Blog>>>(), size_of::<usize>());
}
