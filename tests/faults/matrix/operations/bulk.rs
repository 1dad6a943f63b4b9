//! Bulk writes and the writer: an outcome for each operation.

use std::time::Duration;

use azure_table::bulk::{Interrupted, LeftoverReason};
use azure_table::{Bulk, BulkOutcome, BulkReport, Error, TableOperation};
use futures::stream;

use super::super::check::names_doubt;
use super::super::model::{Cell, Demand, Write, key};
use super::super::operation::{Chosen, Claim, Entry, Given, On, Promise, Reported, Reports};
use super::{any_write, operation};

type Ended = Result<BulkReport, Interrupted<BulkReport>>;

pub(super) const ENTRIES: &[Entry] = entries! {
    "bulk insert" ["Bulk::insert"] .inserts().bulk() => |given| {
        of_cells(given, Write::Insert, |on, cells| async move { bulk(&on).insert(cells).await })
    };
    "bulk insert or replace" ["Bulk::insert_or_replace"] .bulk() => |given| {
        of_cells(given, Write::InsertOrReplace, |on, cells| async move { bulk(&on).insert_or_replace(cells).await })
    };
    "bulk insert or merge" ["Bulk::insert_or_merge"] .bulk() => |given| {
        of_cells(given, Write::InsertOrMerge, |on, cells| async move { bulk(&on).insert_or_merge(cells).await })
    };
    "bulk replace" ["Bulk::replace"] .bulk() => |given| {
        let write = |cell| Write::Replace(cell, Demand::Exists);
        of_cells(given, write, |on, cells| async move { bulk(&on).replace(cells).await })
    };
    "bulk merge" ["Bulk::merge"] .bulk() => |given| {
        let write = |cell| Write::Merge(cell, Demand::Exists);
        of_cells(given, write, |on, cells| async move { bulk(&on).merge(cells).await })
    };
    "bulk delete" ["Bulk::delete"] .bulk() => |given| {
        let write = |cell: Cell| Write::Delete(cell.row, Demand::Exists);
        of_cells(given, write, |on, cells| async move {
            bulk(&on).delete(cells.iter().map(|cell| key(&cell.row))).await
        })
    };
    "bulk patch" ["Bulk::patch"] .bulk() => |given| {
        let write = |cell: Cell| Write::Patch(cell.row, cell.a, Demand::Exists);
        of_cells(given, write, |on, cells| async move {
            let patches = cells.iter().map(|cell| (key(&cell.row), [Cell::A.set(cell.a)]));
            bulk(&on).patch(patches).await
        })
    };
    "bulk of any writes" ["Bulk::write"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            reported(writes.len(), bulk(&on).write(operations(&writes)).await)
        })
    };
    "bulk of whole batches" ["Bulk::write"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            let ended = bulk(&on).fail_whole_batches().write(operations(&writes)).await;
            without_verdicts(reported(writes.len(), ended))
        })
    };
    "bulk of a stream" ["Bulk::write_stream"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            let source = stream::iter(operations(&writes));
            reported(writes.len(), bulk(&on).write_stream(source).await)
        })
    };
    "bulk of a stream that may fail" ["Bulk::write_try_stream"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            let source = stream::iter(operations(&writes).into_iter().map(Ok::<_, Error>));
            reported(writes.len(), bulk(&on).write_try_stream(source).await)
        })
    };
    "bulk outcomes" ["BulkWrite::outcomes", "BulkOutcomes::next"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            let mut claims: Vec<Claim> = writes.iter().map(|_| Claim::NotAttempted).collect();
            let mut outcomes = bulk(&on).write(operations(&writes)).outcomes();
            while let Some(outcome) = outcomes.next().await {
                let (index, claim) = match outcome {
                    BulkOutcome::Applied(applied) => (applied.index(), Claim::Applied(applied.etag().cloned())),
                    BulkOutcome::Leftover(left) => (left.index(), left_over(left.reason())),
                    _ => unreachable!(),
                };
                claims[index as usize] = claim;
            }
            drop(outcomes.finish());
            Reported::Each(claims)
        })
    };
    "writer" ["Writer::send", "Writer::flush", "Writer::run_pending", "Writer::close"] .bulk() => |given| {
        of_any(given, |on, writes| async move {
            let mut writer = bulk(&on).writer();
            let mut taken = 0;
            for operation in operations(&writes) {
                if writer.send(operation).await.is_err() {
                    break;
                }
                taken += 1;
                match fastrand::u8(..4) {
                    0 => drop(writer.flush().await),
                    1 => drop(tokio::time::timeout(Duration::from_millis(10), writer.run_pending()).await),
                    _ => {}
                }
            }
            reported_of(writes.len(), taken, writer.close().await)
        })
    };
    "writer of entities" ["Writer::insert", "Writer::insert_or_replace", "Writer::insert_or_merge"]
    .bulk() => |given| {
        let cells = cells(given);
        let kinds = [Write::Insert, Write::InsertOrReplace, Write::InsertOrMerge];
        let writes = cells.iter().zip(kinds.into_iter().cycle()).map(|(cell, kind)| kind(cell.clone()));
        Chosen::new(Promise::Each(writes.collect()), |on| async move {
            let mut writer = on.table.with(&on.call).writer();
            let mut taken = 0;
            for (n, cell) in cells.iter().enumerate() {
                let sent = match n % 3 {
                    0 => writer.insert(cell).await,
                    1 => writer.insert_or_replace(cell).await,
                    _ => writer.insert_or_merge(cell).await,
                };
                if sent.is_err() {
                    break;
                }
                taken += 1;
            }
            reported_of(cells.len(), taken, writer.close().await)
        })
    };
};

/// A bulk of small batches, some of them concurrent.
fn bulk(on: &On) -> Bulk<Cell> {
    on.table.bulk().batch_size(3).with(&on.call)
}

fn operations(writes: &[Write]) -> Vec<TableOperation> {
    writes.iter().map(operation).collect()
}

/// Four to six entities; a row may occur twice.
fn cells(given: &Given<'_>) -> Vec<Cell> {
    let cell = |n| Cell::new(&given.row(), given.value * 10 + n, fastrand::bool().then_some(n));
    (0..fastrand::i64(4..=6)).map(cell).collect()
}

fn of_cells<F>(
    given: &Given<'_>,
    write: impl Fn(Cell) -> Write,
    call: impl FnOnce(On, Vec<Cell>) -> F + 'static,
) -> Chosen
where
    F: Future<Output = Ended> + 'static,
{
    let cells = cells(given);
    let writes = cells.iter().cloned().map(write).collect();
    Chosen::new(Promise::Each(writes), |on| {
        let count = cells.len();
        let ended = call(on, cells);
        async move { reported(count, ended.await) }
    })
}

fn of_any<F: Reports>(given: &Given<'_>, call: impl FnOnce(On, Vec<Write>) -> F + 'static) -> Chosen {
    let writes = any_writes(given);
    Chosen::new(Promise::Each(writes.clone()), |on| call(on, writes))
}

/// Four to six writes of any kind; a row may occur twice.
pub(super) fn any_writes(given: &Given<'_>) -> Vec<Write> {
    let write = |n| any_write(given, given.value * 10 + n);
    (0..fastrand::i64(4..=6)).map(write).collect()
}

fn reported(count: usize, ended: Ended) -> Reported {
    reported_of(count, count, ended)
}

/// Returns the outcomes of `count` writes, of which the first were `taken`: those that were read and are not leftovers
/// were applied.
fn reported_of(count: usize, taken: usize, ended: Ended) -> Reported {
    let (error, report) = parts(ended);
    let read = report.applied() + report.rejected() + report.in_doubt() + report.not_attempted();
    let read = usize::try_from(read).unwrap();
    assert!(read <= taken, "{report}");
    let claim = |index| match index < read {
        true => Claim::Applied(None),
        false => Claim::NotAttempted,
    };
    let mut claims: Vec<Claim> = (0..count).map(claim).collect();
    for left in report.leftovers() {
        claims[left.index() as usize] = left_over(left.reason());
    }
    let applied = claims.iter().filter(|claim| matches!(claim, Claim::Applied(_))).count();
    assert_eq!(applied as u64, report.applied(), "{report}");
    if error.is_some_and(|error| !names_doubt(&error)) {
        claims.push(Claim::OfWrongKind);
    }
    Reported::Each(claims)
}

/// For whole batches, all operations have the error of one.
fn without_verdicts(reported: Reported) -> Reported {
    let Reported::Each(claims) = reported else {
        return reported;
    };
    let claims = claims.into_iter().map(|claim| match claim {
        Claim::Rejected(_) => Claim::RejectedWithOthers,
        other => other,
    });
    Reported::Each(claims.collect())
}

fn parts(ended: Ended) -> (Option<Error>, BulkReport) {
    match ended {
        Ok(report) => (None, report),
        Err(interrupted) => {
            let (error, report) = interrupted.into_parts();
            (Some(error), report)
        }
    }
}

/// The outcome of a bulk of one write.
pub(super) fn reported_of_one(ended: Ended) -> Reported {
    let (error, report) = parts(ended);
    match (report.leftovers().first().map(|left| left.reason()), error) {
        (Some(LeftoverReason::Rejected(e) | LeftoverReason::InDoubt(e)), _) => Reported::Failed(e.clone()),
        (_, Some(e)) => Reported::Failed(e.into()),
        _ => Reported::Done,
    }
}

pub(super) fn left_over(why: &LeftoverReason) -> Claim {
    match why {
        LeftoverReason::Rejected(e) if e.may_have_applied() => Claim::OfWrongKind,
        LeftoverReason::InDoubt(e) if !e.may_have_applied() => Claim::OfWrongKind,
        LeftoverReason::Rejected(e) | LeftoverReason::InDoubt(e) => Claim::failed(e),
        LeftoverReason::NotAttempted => Claim::NotAttempted,
        _ => unreachable!(),
    }
}
