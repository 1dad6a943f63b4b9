//! The reconciliation of a write whose response was lost: the stored rows show whether it was applied.
//!
//! It builds the query for the rows, and reaches the [`Verdict`]. `pipeline/next_step.rs` decides when to read back.
//!
//! A row is ours if it has the content that we wrote and was not last written before our first attempt, by the
//! service's clock. With a write id, a row is ours if it has that id. For a write under an ETag, and for an insert
//! inside `modify`, only the id counts: two writers that increment the same counter write the same content, and only
//! one of them succeeded.
//!
//! A batch is atomic, so one of its rows with our id shows that all were applied, even if others have replaced or
//! deleted the rest. However, an earlier call may have applied an operation that is sent again, with the same id. Only
//! the id of an operation that no other call has sent therefore counts for the other rows.
//!
//! A row that still has the ETag of our condition shows that nothing of ours was applied, whatever the clocks say. The
//! same holds for a row that differs from our content and is older than the service's clocks may differ, unless another
//! row of the batch has our id, and for a row with our content that is older than clocks may differ. Everything else is
//! inconclusive: a missing row may have been deleted since, and a newer one may have replaced ours.

use std::time::Duration;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::filter::literal::Literal;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::ordinal;
use bytes::Bytes;

use crate::entity::dynamic::DynamicEntity;
use crate::entity::read_json;
use crate::entity::table_entity::ReadEntity;
use crate::request::query::QueryRequest;
use crate::write::row_write::RowWrite;
pub(crate) use crate::write::row_write::WrittenRow;

/// The maximum difference between the client's and the service's clock.
///
/// Source: REST "Authorize with Shared Key": the service rejects a request more than 15 minutes after its time.
pub(crate) const MAX_CLOCK_ERROR: Duration = Duration::from_secs(15 * 60);

/// The maximum difference between the clocks of the service: a Timestamp comes from another one than a `Date`.
///
/// It is not documented. The tail of changes assumes the same.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);

/// The conclusion from the stored rows about a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The write was applied: each row, in order.
    Applied(Vec<WrittenRow>),
    /// The write was not applied, and cannot have been: a row is as it was before.
    NotApplied,
    /// The rows are inconclusive.
    Unknown,
}

/// The conclusion from one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// This write wrote the row.
    Ours,
    /// The row was last written before our first attempt.
    Untouched,
    Nothing,
}

/// Returns the query for the rows of a write: one row, or a range of its partition.
pub(crate) fn request(table: &str, writes: &[RowWrite<'_>]) -> Option<QueryRequest> {
    let partition_key = writes.first()?.partition_key;
    let row_keys = || writes.iter().map(|write| write.row_key);
    let by_key = |a: &&str, b: &&str| ordinal::compare(a, b);
    let (least, most) = (row_keys().min_by(by_key)?, row_keys().max_by(by_key)?);
    let quoted = |text: &str| Literal(&EdmValue::from(text)).to_string();
    let partition = format!("PartitionKey eq {}", quoted(partition_key));
    let filter = if least == most {
        format!("{partition} and RowKey eq {}", quoted(least))
    } else {
        let (least, most) = (quoted(least), quoted(most));
        format!("{partition} and RowKey ge {least} and RowKey le {most}")
    };
    Some(QueryRequest {
        filter: Some(filter),
        metadata: MetadataLevel::Minimal,
        ..QueryRequest::entities(table)
    })
}

/// Returns `true` if a row still has the ETag that its write requires: each applied write would have changed it.
pub(crate) fn keeps_an_etag(writes: &[RowWrite<'_>], stored: &[DynamicEntity]) -> bool {
    let keeps = |write: &RowWrite<'_>| {
        let row = of_write(write, stored).and_then(|row| row.etag.as_ref());
        row.is_some() && row == write.if_match
    };
    writes.iter().any(keeps)
}

/// Judges a write by the stored rows, none of which keeps the ETag that its write requires.
///
/// `first_sent` is the time of the first attempt or earlier, by the service's clock. `has_all` is `false` if further
/// rows may be stored.
pub(crate) fn judge(writes: &[RowWrite<'_>], stored: &[DynamicEntity], first_sent: DateTime, has_all: bool) -> Verdict {
    let evidence: Vec<(&RowWrite<'_>, Evidence)> = writes
        .iter()
        .map(|write| {
            let row = of_write(write, stored);
            (write, evidence(write, row, first_sent, |row| has_content(write, row)))
        })
        .collect();
    let applied = || Verdict::Applied(evidence.iter().map(|of_row| written(of_row, stored)).collect());
    // An id is stronger evidence than any clock.
    if evidence.iter().any(|(write, evidence)| is_proof(write, evidence)) {
        return applied();
    }
    // A batch is atomic, so one unchanged row is enough, unless another row has our id: its age is wrong then. This
    // check precedes the comparison of contents: an upsert with content that another client wrote as well looks like
    // ours.
    if evidence.iter().any(|(_, evidence)| *evidence == Evidence::Untouched) {
        return if evidence.iter().any(|(write, evidence)| has_own_id(write, evidence)) {
            Verdict::Unknown
        } else {
            Verdict::NotApplied
        };
    }
    // A missing row is inconclusive by itself. Other rows of the batch may decide.
    let mut written = evidence
        .iter()
        .filter(|(write, _)| write.kind != OperationKind::Delete)
        .peekable();
    let has_written = written.peek().is_some();
    // A row to delete that exists shows that nothing was applied, unless it was inserted since. Only an id of this
    // batch can show which.
    let is_left = |write: &RowWrite<'_>| write.kind == OperationKind::Delete && of_write(write, stored).is_some();
    if writes.iter().any(is_left) {
        return Verdict::Unknown;
    }
    if has_all && has_written && written.all(|(_, evidence)| *evidence == Evidence::Ours) {
        return applied();
    }
    Verdict::Unknown
}

/// Returns `true` if this row alone shows that its batch was applied.
pub(crate) fn is_proof(write: &RowWrite<'_>, evidence: &Evidence) -> bool {
    write.facts.is_unshared && has_own_id(write, evidence)
}

/// Returns `true` if the row has the id of this write, perhaps by an earlier call.
pub(crate) fn has_own_id(write: &RowWrite<'_>, evidence: &Evidence) -> bool {
    write.write_id.is_some() && *evidence == Evidence::Ours
}

/// Returns the written row of an applied write. One that is not ours was deleted, or others have written it since.
///
/// A row that is ours may have been patched since, which keeps its id and the values of a merge. A later write under
/// its ETag would then undo the patch, so only a row that has nothing else returns its ETag.
fn written((write, evidence): &(&RowWrite<'_>, Evidence), stored: &[DynamicEntity]) -> WrittenRow {
    let Some(row) = of_write(write, stored).filter(|_| *evidence == Evidence::Ours) else {
        return WrittenRow::default();
    };
    let is_unchanged =
        sent(write).is_some_and(|sent| row.properties.len() == sent.properties.len() && has_values(row, &sent));
    let etag = row.etag.as_ref().filter(|_| is_unchanged);
    WrittenRow {
        etag: etag.map(|etag| etag.as_str().to_owned()),
        entity: write
            .facts
            .is_echoed
            .then(|| Bytes::from(serde_json::to_vec(row).unwrap_or_default())),
    }
}

fn of_write<'a>(write: &RowWrite<'_>, stored: &'a [DynamicEntity]) -> Option<&'a DynamicEntity> {
    let is_of_write = |row: &&DynamicEntity| row.partition_key == write.partition_key && row.row_key == write.row_key;
    stored.iter().find(is_of_write)
}

/// Returns the conclusion from the stored row of a write.
///
/// `has_content` returns `true` if a row has the written content.
pub(crate) fn evidence(
    write: &RowWrite<'_>,
    stored: Option<&DynamicEntity>,
    first_sent: DateTime,
    has_content: impl FnOnce(&DynamicEntity) -> bool,
) -> Evidence {
    let Some(row) = stored else {
        return Evidence::Nothing;
    };
    if let Some(id) = write.write_id {
        let is_id = |value: &EdmValue| *value == EdmValue::Guid(id);
        if row.properties.values().any(is_id) {
            return Evidence::Ours;
        }
    }
    let is_older = |by: Duration| {
        row.timestamp
            .is_some_and(|written| Some(written) < first_sent.checked_sub(by))
    };
    if is_older(MAX_CLOCK_ERROR) {
        return Evidence::Untouched;
    }
    match (is_older(Duration::ZERO), has_content(row)) {
        // Slightly older, and with our content: either it was there before, or the time of the response does not come
        // from the rows. This is inconclusive.
        (true, true) => Evidence::Nothing,
        (true, false) if is_older(MAX_CLOCK_DIFFERENCE) => Evidence::Untouched,
        (false, true) if write.write_id.is_none() && !write.facts.needs_write_id => Evidence::Ours,
        (true | false, _) => Evidence::Nothing,
    }
}

/// Returns the written entity.
fn sent(write: &RowWrite<'_>) -> Option<DynamicEntity> {
    read_json::entity(write.body, MetadataLevel::Minimal, None, DynamicEntity::read).ok()
}

/// Returns `true` if the row has the content that a write leaves: a merge keeps other properties.
fn has_content(write: &RowWrite<'_>, row: &DynamicEntity) -> bool {
    let Some(sent) = sent(write) else { return false };
    let keeps_others = matches!(write.kind, OperationKind::Merge | OperationKind::InsertOrMerge);
    let is_whole = match keeps_others {
        // A merge of nothing leaves no trace.
        true => !sent.properties.is_empty(),
        false => row.properties.len() == sent.properties.len(),
    };
    write.kind != OperationKind::Delete && has_values(row, &sent) && is_whole
}

/// Returns `true` if the row has the values that were sent, and perhaps others.
fn has_values(row: &DynamicEntity, sent: &DynamicEntity) -> bool {
    sent.properties
        .iter()
        .all(|(name, value)| row.properties.get(name).is_some_and(|stored| is_same(stored, value)))
}

/// Compares two values. NaN equals NaN.
pub(crate) fn is_same(a: &EdmValue, b: &EdmValue) -> bool {
    match (a, b) {
        (EdmValue::Double(a), EdmValue::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::guid::Guid;

    use super::*;
    use crate::write::operation::TableOperation;

    const LONG_BEFORE: &str = "2025-12-31T23:45:00Z";
    const BEFORE: &str = "2025-12-31T23:59:30Z";
    /// Less than the clocks of the service may differ.
    const SHORTLY_BEFORE: &str = "2025-12-31T23:59:31Z";
    const SENT: &str = "2026-01-01T00:00:01Z";
    const AFTER: &str = "2026-01-01T00:00:02Z";

    fn entity(row_key: &str, value: &str) -> DynamicEntity {
        let mut entity = DynamicEntity::new("p", row_key);
        entity.insert("V", value);
        entity
    }

    fn stored(row_key: &str, value: &str, at: &str) -> DynamicEntity {
        let mut row = entity(row_key, value);
        row.timestamp = Some(at.parse().unwrap());
        row.etag = Some(azure_table_wire::value::etag::ETag::new(format!("W/\"{value}\"")));
        row
    }

    fn writes(operations: &[TableOperation]) -> Vec<RowWrite<'_>> {
        operations.iter().filter_map(TableOperation::row_write).collect()
    }

    fn judged(operations: &[TableOperation], stored: &[DynamicEntity]) -> Verdict {
        judge(&writes(operations), stored, SENT.parse().unwrap(), true)
    }

    fn applied(etags: &[Option<&str>]) -> Verdict {
        Verdict::Applied(
            etags
                .iter()
                .map(|etag| WrittenRow {
                    etag: etag.map(|text| format!("W/\"{text}\"")),
                    entity: None,
                })
                .collect(),
        )
    }

    #[test]
    fn one_row_shows_who_wrote_it() {
        let insert = || [TableOperation::insert(&entity("r", "ours"))];
        assert_eq!(
            judged(&insert(), &[stored("r", "ours", AFTER)]),
            applied(&[Some("ours")])
        );
        assert_eq!(
            judged(&insert(), &[stored("r", "ours", BEFORE)]),
            Verdict::Unknown,
            "of before, or of a wrong clock"
        );
        assert_eq!(
            judged(&insert(), &[stored("r", "ours", LONG_BEFORE)]),
            Verdict::NotApplied,
            "an import that is run again"
        );
        assert_eq!(judged(&insert(), &[stored("r", "theirs", BEFORE)]), Verdict::NotApplied);
        for at in [SHORTLY_BEFORE, AFTER] {
            assert_eq!(
                judged(&insert(), &[stored("r", "theirs", at)]),
                Verdict::Unknown,
                "{at}"
            );
        }
        assert_eq!(judged(&insert(), &[]), Verdict::Unknown);
        let delete = [TableOperation::delete::<DynamicEntity>(("p", "r"))];
        assert_eq!(judged(&delete, &[]), Verdict::Unknown);
        assert_eq!(judged(&delete, &[stored("r", "x", BEFORE)]), Verdict::NotApplied);
    }

    /// The service's time of a row may equal the time of the request itself, to the tick.
    #[test]
    fn row_written_at_the_time_of_the_request_is_not_older() {
        let insert = || [TableOperation::insert(&entity("r", "ours"))];
        let at_first = [stored("r", "ours", SENT)];
        assert_eq!(judged(&insert(), &at_first), applied(&[Some("ours")]));
        assert_eq!(judged(&insert(), &[stored("r", "theirs", SENT)]), Verdict::Unknown);
        let clocks_apart = [stored("r", "ours", "2025-12-31T23:45:01Z")];
        assert_eq!(judged(&insert(), &clocks_apart), Verdict::Unknown);
        let further = [stored("r", "ours", "2025-12-31T23:45:00.9999999Z")];
        assert_eq!(judged(&insert(), &further), Verdict::NotApplied);
    }

    #[test]
    fn numbers_are_compared_by_value_and_nan_equals_nan() {
        for (sent, found, is_ours) in [
            (1.5, 1.5, true),
            (1.5, 2.5, false),
            (f64::NAN, f64::NAN, true),
            (f64::NAN, 1.5, false),
            (1.5, f64::NAN, false),
        ] {
            let (mut ours, mut row) = (entity("r", "ours"), stored("r", "ours", AFTER));
            ours.insert("D", sent);
            row.insert("D", found);
            let verdict = judged(&[TableOperation::insert(&ours)], &[row]);
            let expected = if is_ours {
                applied(&[Some("ours")])
            } else {
                Verdict::Unknown
            };
            assert_eq!(verdict, expected, "{sent} {found}");
        }
    }

    #[test]
    fn merge_keeps_other_properties_and_replace_does_not() {
        let mut more = stored("r", "ours", AFTER);
        more.insert("Other", 1);
        let row = [more];
        // Another write may have set it since.
        assert_eq!(
            judged(&[TableOperation::merge(&entity("r", "ours"))], &row),
            applied(&[None])
        );
        assert_eq!(
            judged(&[TableOperation::replace(&entity("r", "ours"))], &row),
            Verdict::Unknown
        );
    }

    #[test]
    fn batch_was_applied_completely_or_not_at_all() {
        let batch = [
            TableOperation::insert(&entity("a", "1")),
            TableOperation::delete::<DynamicEntity>(("p", "b")),
            TableOperation::merge(&entity("c", "2")),
        ];
        let ours = [stored("a", "1", AFTER), stored("c", "2", AFTER)];
        assert_eq!(judged(&batch, &ours), applied(&[Some("1"), None, Some("2")]));
        let covered = [stored("a", "1", AFTER), stored("c", "theirs", AFTER)];
        assert_eq!(judged(&batch, &covered), Verdict::Unknown);
        let before = [stored("c", "old", BEFORE)];
        assert_eq!(judged(&batch, &before), Verdict::NotApplied);
    }

    #[test]
    fn one_own_id_proves_a_batch_that_built_its_operations() {
        let id = Guid::random();
        let mut marked = entity("b", "2");
        marked.insert("Write", id);
        let batch = [
            TableOperation::replace(&entity("a", "1")),
            TableOperation::insert(&marked),
        ];
        let judged = |is_unshared, rows: &[DynamicEntity], has_all| {
            let mut writes = writes(&batch);
            for write in &mut writes {
                write.write_id = Some(id);
                write.facts.is_unshared = is_unshared;
            }
            judge(&writes, rows, SENT.parse().unwrap(), has_all)
        };
        let mut own = stored("b", "2", AFTER);
        own.insert("Write", id);
        let proven = applied(&[None, Some("2")]);
        for other in [stored("a", "theirs", AFTER), stored("a", "wrong clock", BEFORE)] {
            assert_eq!(judged(true, &[other, own.clone()], true), proven);
        }
        assert_eq!(judged(true, &[own.clone()], true), proven, "deleted since");
        assert_eq!(judged(true, &[own.clone()], false), proven, "not read");
        let mut patched = own.clone();
        patched.insert("V", "theirs");
        assert_eq!(judged(true, &[patched], true), applied(&[None, None]));
        // An earlier call may have written the row, and this batch may have failed.
        let theirs = stored("a", "theirs", AFTER);
        assert_eq!(judged(false, &[theirs.clone(), own.clone()], true), Verdict::Unknown);
        // No clock outweighs an id.
        let older = stored("a", "theirs", BEFORE);
        assert_eq!(judged(false, &[older.clone(), own], true), Verdict::Unknown);
        assert_eq!(judged(false, &[older], true), Verdict::NotApplied);
        assert_eq!(judged(true, &[theirs], true), Verdict::Unknown, "no row is left");
    }

    /// An earlier call may have written the other row.
    #[test]
    fn row_that_the_batch_deletes_and_that_exists_outweighs_the_id_of_another_call() {
        let id = Guid::random();
        let batch = [
            TableOperation::insert_or_replace(&entity("a", "1")),
            TableOperation::delete::<DynamicEntity>(("p", "b")),
        ];
        let mut writes = writes(&batch);
        writes[0].write_id = Some(id);
        let mut own = stored("a", "1", AFTER);
        own.insert("Write", id);
        let rows = [own, stored("b", "x", AFTER)];
        let judged = |rows: &[DynamicEntity]| judge(&writes, rows, SENT.parse().unwrap(), true);
        assert_eq!(judged(&rows), Verdict::Unknown);
        assert_eq!(
            judged(&rows[..1]),
            applied(&[None, None]),
            "the rows are as the batch leaves them"
        );
    }

    /// Its other rows may be stored on further pages.
    #[test]
    fn contents_show_nothing_unless_all_rows_were_read() {
        let insert = [TableOperation::insert(&entity("r", "ours"))];
        let row = [stored("r", "ours", AFTER)];
        let judged = |has_all| judge(&writes(&insert), &row, SENT.parse().unwrap(), has_all);
        assert_eq!(
            (judged(true), judged(false)),
            (applied(&[Some("ours")]), Verdict::Unknown)
        );
    }

    /// A row of the same content that another client wrote is next to one that shows that nothing was applied.
    #[test]
    fn unchanged_row_outweighs_rows_that_look_like_ours() {
        let batch = [
            TableOperation::insert_or_replace(&entity("a", "same")),
            TableOperation::delete::<DynamicEntity>(("p", "b")),
        ];
        let rows = [stored("a", "same", AFTER), stored("b", "x", BEFORE)];
        assert_eq!(judged(&batch, &rows), Verdict::NotApplied);
    }

    /// Clients that increment the same counter write the same content.
    #[test]
    fn content_does_not_prove_a_write_under_an_etag() {
        let row = [stored("r", "2", AFTER)];
        let replace = || TableOperation::replace(&entity("r", "2"));
        let of_one_version = [replace().if_match(azure_table_wire::value::etag::ETag::new("W/\"1\""))];
        assert_eq!(judged(&of_one_version, &row), Verdict::Unknown);
        for any in [
            replace(),
            replace().if_match(azure_table_wire::value::etag::ETag::new("*")),
        ] {
            assert_eq!(judged(&[any], &row), applied(&[Some("2")]));
        }
    }

    /// The row of one operation is enough, because a batch is atomic.
    #[test]
    fn row_that_keeps_its_etag_shows_that_nothing_was_applied() {
        let replace = |etag: &str| {
            TableOperation::replace(&entity("r", "2")).if_match(azure_table_wire::value::etag::ETag::new(etag))
        };
        let batch = |etag| [TableOperation::insert(&entity("a", "1")), replace(etag)];
        // Even with our content, and as new as our write.
        let rows = [stored("a", "1", AFTER), stored("r", "2", AFTER)];
        assert!(keeps_an_etag(&writes(&batch("W/\"2\"")), &rows));
        assert!(!keeps_an_etag(&writes(&batch("W/\"1\"")), &rows));
        assert!(!keeps_an_etag(&writes(&batch("*")), &rows), "any ETag");
        assert!(!keeps_an_etag(&writes(&batch("W/\"2\"")), &rows[..1]), "no row");
        let mut without = rows[1].clone();
        without.etag = None;
        let any = [TableOperation::replace(&entity("r", "2"))];
        assert!(!keeps_an_etag(&writes(&any), &[without]), "neither has one");
    }

    #[test]
    fn rows_of_a_batch_are_read_as_one_range() {
        let batch = [
            TableOperation::insert(&entity("b'", "1")),
            TableOperation::delete::<DynamicEntity>(("p", "a")),
        ];
        let request = request("Things", &writes(&batch)).unwrap();
        let filter = "PartitionKey eq 'p' and RowKey ge 'a' and RowKey le 'b'''";
        assert_eq!(request.filter.as_deref(), Some(filter));
    }
}
