//! Writes by query: the rows written, the report, the requests, and the position.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::bulk::{Interrupted, Leftover, LeftoverReason, UpdateWhere, WritePosition, WriteReport};
use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::query::BadRow;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{
    Change, Column, DynamicEntity, EdmValue, Emulator, Error, ErrorKind, Key, TableClient, TableServiceClient,
};
use azure_table_tests::entities::Blog;
use azure_table_tests::errors::{assert_contains, assert_error, kind_in_doubt};

use crate::api::create_with_faults;
use crate::api::interceptor::before_first_batch;

const ROWS: u32 = 250;
const PAGE: usize = 7;

fn blog(channel: impl Into<String>, id: u32) -> Blog {
    Blog {
        channel: channel.into(),
        id,
        rating: (id % 5).cast_signed(),
        author: Some("O'Brien".into()),
    }
}

/// 250 rows in 7 partitions, read in pages of this many rows: a client with faults, and one without them.
async fn filled(page: usize) -> (Faults, TableClient<Blog>, TableClient<Blog>) {
    let (faults, blogs, truth) = create_with_faults(Emulator::new().page_size(page), "Blogs").await;
    let mut partitions = BTreeMap::new();
    for id in 0..ROWS {
        let channel = format!("c{}", id * 7 / ROWS);
        partitions.entry(channel).or_insert_with(Vec::new).push(id);
    }
    for (channel, ids) in partitions {
        insert_batch(&truth, ids.into_iter().map(|id| blog(&channel, id))).await;
    }
    (faults, blogs, truth)
}

async fn insert_batch(table: &TableClient<Blog>, rows: impl Iterator<Item = Blog>) {
    let mut batch = table.batch();
    for row in rows {
        batch.insert(&row).unwrap();
    }
    batch.submit().await.unwrap();
}

/// Adds to the rating of all rows.
fn raise(blogs: &TableClient<Blog>, by: i32) -> UpdateWhere<'static, Blog, Blog, impl FnMut(&mut Blog) + use<>, ()> {
    raise_in(blogs.query(), blogs, by)
}

fn raise_in(
    query: azure_table::TableQuery<Blog>,
    blogs: &TableClient<Blog>,
    by: i32,
) -> UpdateWhere<'static, Blog, Blog, impl FnMut(&mut Blog) + use<>, ()> {
    blogs.update_where(query, move |blog: &mut Blog| blog.rating += by)
}

async fn ratings(truth: &TableClient<Blog>) -> Vec<i32> {
    let rows = truth.query().all().await.unwrap();
    rows.into_iter().map(|blog| blog.rating).collect()
}

/// Checks that each row was raised by 100 once.
async fn assert_raised_once(truth: &TableClient<Blog>) {
    let ratings = ratings(truth).await;
    assert!(ratings.iter().all(|rating| (100..105).contains(rating)), "{ratings:?}");
}

fn sent(faults: &Faults, kind: OperationKind) -> usize {
    let log = faults.log();
    log.iter().filter(|record| record.kind() == Some(kind)).count()
}

fn denied() -> FaultRule {
    FaultRule::new(ResponseTemplate::new(403).code("AuthorizationFailure"))
}

/// Delete by partition or query.
#[tokio::test]
async fn rows_are_deleted_by_a_condition_or_a_query() {
    let (_, blogs, truth) = filled(PAGE).await;
    let report = blogs.delete_where(Blog::RATING.lt(2)).await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.gone()), (100, 0, 0));
    assert!(report.leftovers().is_empty() && report.position().is_none());
    report.ensure_no_leftovers().unwrap();
    assert_eq!(report.to_string(), "100 applied");
    assert_eq!(truth.query().count().await.unwrap(), 150);

    let query = blogs.query().partition("c3").filter(Blog::RATING.eq(4)).limit(3);
    for (query, deleted, left) in [(query, 3, 147), (blogs.query(), 147, 0)] {
        assert_eq!(blogs.delete_where(query).await.unwrap().applied(), deleted);
        assert_eq!(truth.query().count().await.unwrap(), left);
    }
}

/// One request for each page, and one for each of its partitions.
#[tokio::test]
async fn one_request_is_sent_per_page_and_batch() {
    let (faults, blogs, _) = filled(1_000).await;
    assert_eq!(blogs.delete_where(blogs.query()).await.unwrap().applied(), 250);
    let batches = || sent(&faults, OperationKind::Batch);
    assert_eq!((sent(&faults, OperationKind::Query), batches()), (1, 7));
    assert_eq!(faults.requests(), 8);

    for first in [0, 100, 200] {
        let ids = first..(first + 100).min(ROWS);
        insert_batch(&blogs, ids.map(|id| blog("one", id))).await;
    }
    let before = faults.requests();
    let patch = blogs.patch_where(blogs.query().partition("one"), [Blog::RATING.set(9)]);
    let applied = patch.await.unwrap().applied();
    let requests = faults.requests() - before;
    assert_eq!((applied, requests), (250, 4), "a page, and 100, 100 and 50 rows");
    // A single row is sent without a batch.
    let before = batches();
    let delete = blogs.delete_where(Blog::CHANNEL.eq("one") & Blog::ID.eq(7));
    assert_eq!((delete.await.unwrap().applied(), batches()), (1, before));
    assert_eq!(faults.log().last().unwrap().kind(), Some(OperationKind::Delete));
}

/// Delete and patch read only the keys.
#[azure_table::test]
async fn deletes_and_patches_read_no_properties(blogs: TableClient<Blog>, spy: Spy) {
    let of_a = || Blog::CHANNEL.eq("a");
    let _ = blogs.delete_where(of_a()).await.unwrap();
    let _ = blogs.patch_where(of_a(), [Blog::RATING.set(1)]).await.unwrap();
    let _ = blogs.update_where(of_a(), |_| ()).await.unwrap();
    let queries = spy.of(OperationKind::Query);
    let selects: Vec<_> = queries.iter().map(|query| query.parameter("$select")).collect();
    let keys = Some("PartitionKey,RowKey".to_owned());
    assert_eq!(selects[..2], [keys.clone(), keys.clone()]);
    assert!(selects.len() == 3 && selects[2] != keys, "{selects:?}");
}

#[tokio::test]
async fn a_patch_writes_the_named_columns_of_all_rows() {
    let (faults, blogs, truth) = filled(PAGE).await;
    let low = || Blog::RATING.lt(2);
    let patch = blogs.patch_where(low(), [Blog::RATING.set(2)]);
    assert_eq!(patch.await.unwrap().applied(), 100);
    assert_eq!(truth.query().filter(low()).count().await.unwrap(), 0);
    let rows = truth.query().all().await.unwrap();
    assert!(rows.iter().all(|blog| blog.author.as_deref() == Some("O'Brien")));

    let none: [azure_table::filter::Assignment<Blog>; 0] = [];
    let before = faults.requests();
    let error = Error::from(blogs.patch_where(low(), none).await.unwrap_err());
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    assert_eq!(faults.requests(), before);
}

#[tokio::test]
async fn update_saves_or_keeps_rows_as_the_closure_returns() {
    let (_, blogs, truth) = filled(PAGE).await;
    let update = blogs.update_where(blogs.query(), |blog| {
        if blog.rating == 4 {
            return Change::Keep;
        }
        blog.rating += 10;
        // A property that the closure removes is no longer stored.
        blog.author = None;
        Change::Save
    });
    let report = update.await.unwrap();
    assert_eq!((report.applied(), report.unchanged()), (200, 50));
    for blog in truth.query().all().await.unwrap() {
        let is_kept = blog.rating == 4;
        assert!(
            is_kept == blog.author.is_some() && (is_kept || blog.rating >= 10),
            "{blog:?}"
        );
    }
    let same: Result<_, Interrupted<WriteReport<Blog>>> = blogs.update_where(blogs.query(), |_| Change::Keep).await;
    assert_eq!(same.unwrap().unchanged(), 250);
}

/// Properties that the struct does not declare are kept.
#[tokio::test]
async fn update_keeps_unknown_properties() {
    let (_, blogs, truth) = filled(PAGE).await;
    let unknown = Column::<DynamicEntity, i64>::property("Unknown");
    let all = truth.typed::<DynamicEntity>();
    let _ = all.patch_where(all.query(), [unknown.set(7)]).await.unwrap();
    for forget in [false, true] {
        let update = blogs.update_where(blogs.query().partition("c1"), move |blog| {
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
            assert_eq!(row.get("rating"), Some(&EdmValue::Int32(9)));
            assert_eq!(row.get("author").is_some(), !forget);
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
    let (_, blogs, truth) = filled(PAGE).await;
    let bump = |stop: u32| {
        let change = move |blog: &mut Blog| {
            if blog.id == stop {
                return Err(Stop::Here(blog.id));
            }
            blog.rating += 100;
            Ok(())
        };
        blogs.update_where(blogs.query(), change)
    };
    let stopped = bump(24).await.unwrap_err();
    assert!(matches!(stopped.error(), Stop::Here(24)));
    assert_eq!(stopped.report().applied(), 21);
    let position = stopped.position();
    let (error, report) = stopped.into_parts();
    assert!(matches!(error, Stop::Here(24)) && report.position() == Some(position.clone()));
    let report = bump(1_000).resume_from(position).await.unwrap();
    assert_eq!(report.applied(), 229);
    assert_raised_once(&truth).await;

    let rekeyed = blogs.update_where(blogs.query(), |blog| blog.id += 1).await;
    let error = Error::from(rekeyed.unwrap_err());
    assert_error(&error, ErrorKind::InvalidInput, "changed the entity's key");
    let no_rows = blogs.update_where(blogs.query().page_size(0), |_| Ok::<(), Stop>(()));
    let rejected: Interrupted<_, Stop> = no_rows.await.unwrap_err();
    assert!(matches!(rejected.error(), Stop::Azure(e) if e.kind() == ErrorKind::InvalidInput));
}

/// Without the report, only the doubt says that rows were written. The doubt of one batch does not cover the others.
#[tokio::test]
async fn error_after_a_written_batch_is_in_doubt() {
    let lost = FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch);
    for (rule, kind, is_in_doubt) in [
        (denied().nth(1), ErrorKind::Forbidden, false),
        (denied().nth(2), ErrorKind::Forbidden, false),
        (denied().nth(5), ErrorKind::Forbidden, true),
        (lost.nth(2), ErrorKind::Connection, true),
    ] {
        let (faults, blogs, _) = filled(1_000).await;
        faults.add(rule.clone());
        let error = Error::from(raise(&blogs, 1).concurrency(1).await.unwrap_err());
        if is_in_doubt {
            assert_eq!(kind_in_doubt(&error), Some(kind), "{rule:?}: {error}");
            assert!(
                error.in_doubt_write().is_none(),
                "{rule:?}: {:?}",
                error.in_doubt_write()
            );
        } else {
            assert_eq!(error.kind(), kind, "{rule:?} wrote nothing: {error}");
        }
    }
}

/// If a batch fails because of some rows, the others are written.
#[tokio::test]
async fn changed_rows_are_reported_and_the_others_written() {
    let (faults, _, truth) = filled(1_000).await;
    let other = truth.clone();
    // After the page is read and before the first batch, another client changes two rows and deletes one.
    let transport = before_first_batch(faults.clone(), async move || {
        for id in [3, 9] {
            other.patch(("c0", id), [Blog::AUTHOR.set("someone")]).await.unwrap();
        }
        other.delete(("c0", 5)).await.unwrap();
    });
    let blogs = TableServiceClient::from_transport(transport).table("Blogs").unwrap();
    let update = blogs.update_where(blogs.query(), |blog: &mut Blog| blog.rating = 50);
    let report = update.await.unwrap();
    assert_eq!((report.applied(), report.gone()), (247, 1));
    assert_eq!((report.changed(), report.rejected(), report.kept_unknown()), (2, 0, 0));
    let left = report.leftovers();
    let is_rejected = |row: &Leftover<Key<Blog>>| match row.reason() {
        LeftoverReason::Rejected(e) => e.kind() == ErrorKind::ConditionNotMet && !e.may_have_applied(),
        _ => false,
    };
    assert!(left.iter().all(is_rejected), "{left:?}");
    let keys: Vec<_> = left.iter().map(|row| row.key().clone()).collect();
    let expected = [3, 9].map(|id| Key::from_text("c0", format!("{id:010}")).unwrap());
    assert_eq!(keys, expected);
    assert_contains(&left[0], "0000000003");
    let error = report.ensure_no_leftovers().unwrap_err();
    assert_eq!(error.to_string(), left[0].error().unwrap().to_string());
    let others = truth.query().filter(Blog::RATING.ne(50)).all().await.unwrap();
    assert_eq!(others.iter().map(|blog| blog.id).collect::<Vec<_>>(), [3, 9]);
    // The seven batches. The first is sent again after each of three rows, and finally in halves.
    assert_eq!(sent(&faults, OperationKind::Batch), 11);
}

/// The service does not name the row at fault: it is found by halving the batch.
#[tokio::test]
async fn failing_row_without_an_index_is_found_by_halving() {
    let (faults, blogs, _) = filled(1_000).await;
    let invalid = || ResponseTemplate::new(400).code("InvalidInput");
    let failing_part = || FaultRule::new(Fault::FailBatchPart(invalid())).on(OperationKind::Batch);
    faults.add(failing_part().first(1));
    let report = raise_in(blogs.query().partition("c0"), &blogs, 1).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (36, 0));
    assert_eq!(sent(&faults, OperationKind::Batch), 3);

    faults.clear();
    faults.add(failing_part());
    faults.add(FaultRule::new(invalid()).on(OperationKind::Merge).nth(5));
    let report = raise_in(blogs.query().partition("c1"), &blogs, 1).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (35, 1));
    assert_eq!(report.leftovers()[0].error().unwrap().kind(), ErrorKind::Rejected);
}

/// An error that concerns no row ends the write. After a resume, each row is written once.
#[tokio::test]
async fn interrupted_update_resumes_from_its_position() {
    let busy = FaultRule::new(ResponseTemplate::server_busy(Duration::ZERO));
    let unreachable = || FaultRule::new(Fault::NoConnection);
    for (rule, concurrency) in [
        (busy.on_writes().every(3), 1),
        (unreachable().on_writes().every(5), 4),
        (unreachable().on_reads().every(4), 2),
        (denied().on_writes().every(4), 3),
    ] {
        for page in [7, 40, 1_000] {
            let (faults, blogs, truth) = filled(page).await;
            faults.add(rule.clone());
            let before = ratings(&truth).await;
            let all = || raise(&blogs, 100).concurrency(concurrency);
            let (mut applied, mut runs) = (0, 1);
            let mut outcome = all().await;
            while let Err(interrupted) = outcome {
                assert!(
                    matches!(
                        interrupted.error().kind(),
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
            assert_eq!(ratings(&truth).await, expected);
        }
    }
}

/// The last reported position is enough to resume, whatever happened to the process.
#[tokio::test(start_paused = true)]
async fn dropped_update_resumes_from_its_last_progress() {
    let (faults, blogs, truth) = filled(20).await;
    let kept = Arc::new(Mutex::new((0, None)));
    let hear = Arc::clone(&kept);
    let all = || raise(&blogs, 100).repeatable();
    let update = all()
        .concurrency(1)
        .on_progress(move |report| *hear.lock().unwrap() = (report.applied(), report.position()));
    faults.add(FaultRule::new(Fault::HangRequest).on_writes().nth(9));
    let ended = tokio::time::timeout(Duration::from_millis(200), update).await;
    assert!(ended.is_err());
    let (before, position) = kept.lock().unwrap().clone();
    assert!(before > 100, "{before}");
    let rest = all().resume_from(position.unwrap()).await.unwrap();
    assert_eq!(rest.applied() + before, 250);
    assert_raised_once(&truth).await;
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
        let (faults, blogs, truth) = filled(1_000).await;
        faults.add(FaultRule::new(fault).on(OperationKind::Batch).nth(3));
        let stored = Arc::new(Mutex::new(None));
        let log = Arc::clone(&stored);
        let update = || {
            let update = raise(&blogs, 100);
            if is_repeatable { update.repeatable() } else { update }
        };
        let crashed = update()
            .concurrency(2)
            .on_progress(move |report| *log.lock().unwrap() = report.position());
        let crashed = tokio::time::timeout(Duration::from_millis(300), crashed);
        assert!(crashed.await.is_err());
        let position = stored.lock().unwrap().take().unwrap();
        let report = update().resume_from(position).await.unwrap();
        assert!(report.leftovers().is_empty());
        let raised: Vec<_> = ratings(&truth).await.iter().map(|rating| rating / 100).collect();
        let once = raised.iter().filter(|times| **times == 1).count();
        assert_eq!(once, if of_batch == 1 { 250 } else { 214 });
        let as_expected = raised.iter().all(|times| *times == 1 || *times == of_batch);
        assert!(as_expected, "{raised:?}");
    }
}

/// A position stays valid with another page size.
#[tokio::test]
async fn position_is_valid_with_another_page_size() {
    let (faults, blogs, truth) = filled(1_000).await;
    let all = |rows| raise_in(blogs.query().page_size(rows), &blogs, 100);
    for write in [4, 6] {
        faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(write));
    }
    let first = all(500).await.unwrap_err();
    let second = all(30).resume_from(first.position()).await.unwrap_err();
    let last = all(90).resume_from(second.position()).await.unwrap();
    let applied = first.report().applied() + second.report().applied() + last.applied();
    assert!(applied == 250 && first.report().applied() > 0);
    assert_raised_once(&truth).await;
}

/// A position of the first page is bound to its query like any other.
#[tokio::test]
async fn position_is_bound_to_its_query_and_method() {
    let (faults, blogs, _) = filled(1_000).await;
    faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(2));
    let position = raise(&blogs, 100).await.unwrap_err().position();
    let other = raise_in(blogs.query().filter(Blog::RATING.lt(0)), &blogs, 1);
    let of_other = other.resume_from(position.clone()).await.unwrap_err();
    assert_contains(&of_other, "belongs to another query");
    assert_eq!(of_other.position(), position, "it is not lost by that");
    let deletes = blogs.delete_where(blogs.query()).resume_from(position.clone());
    let why = "this is a position of `update where`, not of `delete where`";
    assert_contains(deletes.await.unwrap_err(), why);
    assert!(raise(&blogs, 100).resume_from(position).await.unwrap().applied() > 0);
}

/// A resume from any reported position writes each row once. After the end there is no position.
#[tokio::test]
async fn update_resumes_from_any_reported_position() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (_, blogs, _) = filled(7).await;
    let log = Arc::clone(&heard);
    let update = raise(&blogs, 100)
        .repeatable()
        .on_progress(move |report| log.lock().unwrap().push((report.applied(), report.position())));
    assert_eq!(update.await.unwrap().applied(), 250);
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(heard.last().unwrap(), &(250, None));
    for (applied, position) in heard.into_iter().step_by(17) {
        let Some(position) = position else {
            assert_eq!(applied, 250, "only the end has no position");
            continue;
        };
        let (_, blogs, _) = filled(7).await;
        let update = raise(&blogs, 100).repeatable().resume_from(position);
        assert_eq!(update.await.unwrap().applied(), 250 - applied);
    }
}

/// A deleted row is not remembered: a row that is inserted again is a new one.
#[tokio::test]
async fn position_of_deletes_contains_no_keys() {
    let (faults, blogs, _) = filled(50).await;
    faults.add(FaultRule::new(Fault::NoConnection).on_writes().every(2));
    let mut position = None;
    let mut deleted = 0;
    loop {
        let mut delete = blogs.delete_where(blogs.query()).concurrency(1);
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
    assert_eq!((deleted, blogs.query().count().await.unwrap()), (250, 0));
}

/// So ETags do not get old while rows wait, and at most one page is in memory.
#[tokio::test]
async fn next_page_is_read_after_the_writes_of_the_current_one() {
    let (faults, blogs, _) = filled(50).await;
    assert_eq!(blogs.delete_where(blogs.query()).await.unwrap().applied(), 250);
    assert_eq!(sent(&faults, OperationKind::Query), 5, "one for each page");
    let kinds: Vec<_> = faults.log().iter().map(|record| record.kind()).collect();
    let has_two_reads = kinds.windows(2).any(|two| two == [Some(OperationKind::Query); 2]);
    assert!(!has_two_reads, "{kinds:?}");
}

/// The rows of a batch whose response is lost are in doubt, and are not updated twice.
#[tokio::test]
async fn rows_with_a_lost_response_are_in_doubt() {
    for fault in [Fault::LoseResponse, Fault::LoseRequest] {
        let (faults, blogs, truth) = filled(1_000).await;
        let second_batch = || FaultRule::new(fault.clone()).on(OperationKind::Batch).nth(2);
        faults.add(second_batch());
        let all = || raise(&blogs, 100).concurrency(1);
        let interrupted = all().await.unwrap_err();
        assert_eq!(kind_in_doubt(interrupted.error()), Some(ErrorKind::Connection));
        let report = interrupted.report();
        assert_eq!((report.applied(), report.rejected(), report.in_doubt()), (36, 0, 36));
        for row in report.leftovers() {
            assert!(row.key().partition_key() == "c1" && row.error().unwrap().may_have_applied());
        }
        assert_contains(&report.leftovers()[0], "c1");
        let rest = all().resume_from(interrupted.position()).await.unwrap();
        assert_eq!((rest.applied(), rest.in_doubt()), (178, 0));
        for (at, rating) in ratings(&truth).await.iter().enumerate() {
            let is_lost = (36..72).contains(&at) && matches!(fault, Fault::LoseRequest);
            assert!((100..105).contains(rating) || is_lost, "{at}: {rating}");
        }

        // A repeated delete has no further effect, so rows in doubt are deleted again.
        let (faults, blogs, truth) = filled(1_000).await;
        faults.add(second_batch());
        let all = || blogs.delete_where(blogs.query()).concurrency(1);
        let interrupted = all().await.unwrap_err();
        assert_eq!(interrupted.report().in_doubt(), 36);
        let _ = all().resume_from(interrupted.position()).await.unwrap();
        assert_eq!(truth.query().count().await.unwrap(), 0);
    }
}

/// With retries, a repeated delete resolves the doubt. An update stays in doubt, and the other rows continue.
#[tokio::test(start_paused = true)]
async fn retried_lost_response_does_not_end_the_write() {
    for is_delete in [true, false] {
        let (faults, _, truth) = filled(1_000).await;
        let service = TableServiceClient::from_transport(faults.clone());
        let blogs = service.table("Blogs").unwrap();
        faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).nth(2));
        let report = if is_delete {
            blogs.delete_where(blogs.query()).concurrency(1).await
        } else {
            raise(&blogs, 100).concurrency(1).await
        };
        let report = report.unwrap();
        let counts = (report.applied(), report.gone(), report.rejected(), report.in_doubt());
        if is_delete {
            assert_eq!(counts, (214, 36, 0, 0));
            assert_eq!(truth.query().count().await.unwrap(), 0);
        } else {
            assert_eq!(counts, (214, 0, 0, 36));
            assert_raised_once(&truth).await;
        }
    }
}

#[tokio::test]
async fn denied_query_is_not_read_by_writes() {
    let (faults, _, _) = filled(PAGE).await;
    let service = TableServiceClient::from_transport(faults.clone()).deny_access(AccessPath::TableScan);
    let blogs = service.table::<Blog>("Blogs").unwrap();
    let before = faults.requests();
    let patch = blogs.patch_where(blogs.query(), [Blog::RATING.set(1)]);
    for interrupted in [
        blogs.delete_where(Blog::RATING.lt(2)).await.unwrap_err(),
        patch.await.unwrap_err(),
        blogs.update_where(blogs.query(), |_| ()).await.unwrap_err(),
        blogs.upgrade_where(blogs.query()).await.unwrap_err(),
    ] {
        let report = interrupted.report();
        assert_eq!((report.applied(), report.rejected()), (0, 0));
        let error = Error::from(interrupted);
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert_contains(&error, "denies");
    }
    // Nor is a query of another table accepted.
    let others = service.table::<Blog>("Others").unwrap();
    let error = blogs.delete_where(others.query().partition("c1")).await.unwrap_err();
    assert_contains(&error, "for the table Others");
    assert_eq!(faults.requests(), before);

    let allowed = blogs.delete_where(blogs.query().allow_table_scan());
    assert_eq!(allowed.await.unwrap().applied(), 250);
}

#[tokio::test]
async fn too_many_failures_end_a_write_by_query() {
    let (faults, blogs, _) = filled(1_000).await;
    faults.add(FaultRule::new(ResponseTemplate::new(413).code("RequestBodyTooLarge")).on_writes());
    let update = raise(&blogs, 1).concurrency(1).max_failures(40);
    let interrupted = update.await.unwrap_err();
    assert_contains(&interrupted, "72 rows failed, and `.max_failures(..)` allows 40");
    assert_eq!(interrupted.error().kind(), ErrorKind::Rejected);
    let report = interrupted.report();
    let counts = (report.applied(), report.rejected(), report.not_attempted());
    assert_eq!(counts, (0, 72, 178));
    faults.clear();
    let rest = raise(&blogs, 1).resume_from(interrupted.position());
    assert_eq!(rest.await.unwrap().applied(), 250 - 72);
}

#[tokio::test]
async fn rows_that_cannot_be_decoded_fail_or_are_skipped() {
    let (_, blogs, truth) = filled(PAGE).await;
    let rating = Column::<DynamicEntity, String>::property("rating");
    let key = Key::from_text("c2", "0000000080").unwrap();
    let bad = truth.typed::<DynamicEntity>().patch(key, [rating.set("none")]);
    bad.await.unwrap();
    let report = raise(&blogs, 1).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (249, 1));
    let bad = &report.leftovers()[0];
    assert_eq!(bad.error().unwrap().kind(), ErrorKind::InvalidResponse);
    assert_contains(bad, "`rating`");
    assert_eq!(bad.key().row_key(), "0000000080");

    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let skipping = blogs
        .query()
        .skip_bad_rows(move |bad: &BadRow| log.lock().unwrap().push(bad.to_string()));
    let report = raise_in(skipping, &blogs, 1).await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.rejected()), (249, 1, 0));
    assert_eq!(seen.lock().unwrap().len(), 1);
    // A delete does not decode rows, so it deletes them too.
    assert_eq!(blogs.delete_where(blogs.query()).await.unwrap().applied(), 250);
}

/// Cosmos DB guarantees no order: rows are grouped by partition within a page.
#[azure_table::test(cosmos)]
async fn rows_in_any_order_are_grouped_by_partition(blogs: TableClient<Blog>) {
    let rows = (0..30).map(|id| blog(format!("c{}", id % 3), id));
    assert_eq!(blogs.bulk().insert(rows).await.unwrap().applied(), 30);
    let all = blogs.query().page_size(8);
    assert_eq!(raise_in(all.clone(), &blogs, 100).await.unwrap().applied(), 30);
    assert_raised_once(&blogs).await;
    assert_eq!(blogs.delete_where(all).await.unwrap().applied(), 30);
}

/// A row that was written before the interruption may arrive in any later page.
#[azure_table::test(cosmos)]
async fn update_of_rows_in_any_order_resumes_with_another_page_size(blogs: TableClient<Blog>, faults: Faults) {
    let rows = (0..30).rev().map(|id| blog(format!("c{}", id % 3), id));
    assert_eq!(blogs.bulk().insert(rows).await.unwrap().applied(), 30);
    faults.add(denied().on_writes().nth(3));
    let all = |size| raise_in(blogs.query().page_size(size), &blogs, 100).concurrency(1);
    let interrupted = all(30).await.unwrap_err();
    assert_eq!(interrupted.report().applied(), 20, "{interrupted}");
    let rest = all(2).resume_from(interrupted.position()).await.unwrap();
    assert_eq!(rest.applied(), 10);
    assert_raised_once(&blogs).await;
}

/// A batch is split by its size in bytes.
#[azure_table::test]
async fn batch_is_split_by_its_bytes(large: TableClient, faults: Faults) {
    for n in 0..20 {
        let mut row = DynamicEntity::new("p", format!("{n:02}"));
        for part in 0..10 {
            row.insert(format!("P{part}"), "x".repeat(30_000).as_str());
        }
        large.insert(&row).await.unwrap();
    }
    let before = faults.requests();
    let mark = "y".repeat(30_000);
    let update = large.update_where(large.query().partition("p"), |row| drop(row.insert("Mark", &*mark)));
    let applied = update.await.unwrap().applied();
    let requests = faults.requests() - before;
    let pages = "a page of 13 rows, then 12 and 1; one of 7, then all";
    assert_eq!((applied, requests), (20, 5), "{pages}");
}

/// A write by query runs in the caller's future: it needs neither `Send` nor `'static` of its captures.
#[tokio::test]
async fn closure_may_borrow_and_builder_can_be_spawned() {
    let (_, blogs, _) = filled(PAGE).await;
    let mut seen = 0;
    let update = blogs.update_where(blogs.query().partition("c1"), |_| seen += 1);
    let applied = update.await.unwrap().applied();
    assert_eq!(seen, applied);
    let delete = tokio::spawn(blogs.delete_where(blogs.query().partition("c1")));
    assert_eq!(delete.await.unwrap().unwrap().applied(), seen);
    let spawned = tokio::spawn(raise(&blogs, 1));
    assert!(spawned.await.unwrap().is_ok());
    let mut ended = blogs.upgrade_where(blogs.query());
    let _ = (&mut ended).await.unwrap();
    assert_contains((&mut ended).await.unwrap_err(), "has already completed");
    assert_eq!(size_of::<Interrupted<WriteReport<Blog>>>(), size_of::<usize>());
}
