//! The reconciliation of a write whose response was lost: the stored rows show whether it was applied.
//!
//! It builds the query for the rows, and reaches the [`Resolution`], with the rows of a write that was applied.
//! `pipeline/next_step.rs` decides when to read back, `judge.rs` judges the rows.

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::doubt::parts::DoubtfulRow;
use azure_table_wire::filter::literal::Literal;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::ordinal;
use bytes::Bytes;

use crate::doubt::facts::doubtful;
use crate::doubt::judge::{Evidence, Judge, Resolution, Times, evidence};
use crate::entity::dynamic::DynamicEntity;
use crate::entity::read_json;
use crate::entity::row::context::RowContext;
use crate::entity::table_entity::ReadEntity;
use crate::request::query::QueryRequest;
use crate::write::row_write::RowWrite;
pub(crate) use crate::write::row_write::WrittenRow;

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
/// `first_sent` is the time of the first attempt or earlier, by the service's clock. `is_over` if none of its requests
/// could be applied any more when the rows were read. `has_all` is `false` if further rows may be stored. Also returns
/// the rows of an applied write, in order.
pub(crate) fn judge(
    writes: &[RowWrite<'_>],
    stored: &[DynamicEntity],
    (first_sent, is_over): (DateTime, bool),
    has_all: bool,
) -> (Resolution, Vec<WrittenRow>) {
    let times = Times {
        started: first_sent,
        latest: None,
        is_over,
        is_plausible: true,
    };
    let rows: Vec<DoubtfulRow> = writes.iter().map(doubtful).collect();
    let found = || {
        rows.iter()
            .zip(writes)
            .map(|(row, write)| (row, write, of_write(write, stored)))
    };
    let mut judge = Judge::new(writes.first().map_or("", |write| write.partition_key), &rows);
    let decided = found().find_map(|(row, _, stored)| judge.row(row, stored, Some(&times)));
    let by_contents = decided.is_none();
    let resolution = match decided.unwrap_or_else(|| judge.end()) {
        Resolution::Applied if by_contents && !has_all => Resolution::Unknown("further rows may be stored".to_owned()),
        resolution => resolution,
    };
    let mut written_rows = Vec::new();
    if resolution == Resolution::Applied {
        let is_ours = |row, stored| evidence(row, stored, Some(&times)) == Evidence::Ours;
        let rows = found().map(|(row, write, stored)| written(write, stored.filter(|_| is_ours(row, stored))));
        written_rows.extend(rows);
    }
    (resolution, written_rows)
}

/// Returns the written row of an applied write, if it is ours. One that is not was deleted, or others have written it
/// since.
///
/// A row that is ours may have been patched since, which keeps its id and the values of a merge. A later write under
/// its ETag would then undo the patch, so only a row that has nothing else returns its ETag.
fn written(write: &RowWrite<'_>, ours: Option<&DynamicEntity>) -> WrittenRow {
    let Some(row) = ours else {
        return WrittenRow::default();
    };
    let sent = read_json::entity(write.body, MetadataLevel::Minimal, None, DynamicEntity::read);
    let is_unchanged = sent.is_ok_and(|sent| has_same(row, &sent));
    let etag = row.etag.as_ref().filter(|_| is_unchanged);
    WrittenRow {
        etag: etag.map(|etag| etag.as_str().to_owned()),
        entity: write
            .facts
            .is_echoed
            .then(|| Bytes::from(serde_json::to_vec(row).unwrap_or_default())),
        context: RowContext::default(),
    }
}

fn of_write<'a>(write: &RowWrite<'_>, stored: &'a [DynamicEntity]) -> Option<&'a DynamicEntity> {
    let is_of_write = |row: &&DynamicEntity| row.partition_key == write.partition_key && row.row_key == write.row_key;
    stored.iter().find(is_of_write)
}

/// Returns `true` if the row has the properties that were sent, and no others.
fn has_same(row: &DynamicEntity, sent: &DynamicEntity) -> bool {
    let has = |name: &str, value| row.properties.get(name).is_some_and(|stored| is_same(stored, value));
    row.properties.len() == sent.properties.len() && sent.properties.iter().all(|(name, value)| has(name, value))
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

    /// The time of the first attempt, of a write with no attempt in flight.
    fn over() -> (DateTime, bool) {
        (SENT.parse().unwrap(), true)
    }

    /// A resolution without its reason, and the rows of an applied write.
    type Judged = (Option<bool>, Vec<WrittenRow>);
    const UNKNOWN: Judged = (None, Vec::new());
    const NOT_APPLIED: Judged = (Some(false), Vec::new());

    fn shown((resolution, rows): (Resolution, Vec<WrittenRow>)) -> Judged {
        (resolution.is_applied(), rows)
    }

    fn judged(operations: &[TableOperation], stored: &[DynamicEntity]) -> Judged {
        shown(judge(&writes(operations), stored, over(), true))
    }

    fn applied(etags: &[Option<&str>]) -> Judged {
        let row = |etag: &Option<&str>| WrittenRow {
            etag: etag.map(|text| format!("W/\"{text}\"")),
            ..WrittenRow::default()
        };
        (Some(true), etags.iter().map(row).collect())
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
            UNKNOWN,
            "of before, or of a wrong clock"
        );
        assert_eq!(
            judged(&insert(), &[stored("r", "ours", LONG_BEFORE)]),
            NOT_APPLIED,
            "an import that is run again"
        );
        assert_eq!(judged(&insert(), &[stored("r", "theirs", BEFORE)]), NOT_APPLIED);
        for at in [SHORTLY_BEFORE, AFTER] {
            assert_eq!(judged(&insert(), &[stored("r", "theirs", at)]), UNKNOWN, "{at}");
        }
        assert_eq!(judged(&insert(), &[]), UNKNOWN);
        let delete = [TableOperation::delete::<DynamicEntity>(("p", "r"))];
        assert_eq!(judged(&delete, &[]), UNKNOWN);
        assert_eq!(judged(&delete, &[stored("r", "x", BEFORE)]), NOT_APPLIED);
    }

    /// The columns: the write, the row that was read, and the conclusions once no attempt is in flight and before that.
    #[test]
    fn row_that_is_as_it_was_decides_nothing_while_an_attempt_is_in_flight() {
        let entity = entity("r", "ours");
        let etag = |text: &str| azure_table_wire::value::etag::ETag::new(format!("W/\"{text}\""));
        let insert = || TableOperation::insert(&entity);
        let upsert = || TableOperation::insert_or_replace(&entity);
        let delete = || TableOperation::delete::<DynamicEntity>(("p", "r"));
        let replace = || TableOperation::replace(&entity).unconditionally();
        let replace_old = || TableOperation::replace(&entity).if_match(etag("old"));
        let table = [
            // Another client may delete the row before the insert arrives.
            (insert(), Some(("theirs", BEFORE)), NOT_APPLIED, UNKNOWN),
            (upsert(), Some(("theirs", BEFORE)), NOT_APPLIED, UNKNOWN),
            (replace(), Some(("theirs", BEFORE)), NOT_APPLIED, UNKNOWN),
            (delete(), Some(("theirs", BEFORE)), NOT_APPLIED, UNKNOWN),
            // Another client may insert the row.
            (replace(), None, UNKNOWN, UNKNOWN),
            (delete(), None, UNKNOWN, UNKNOWN),
            // The ETag that the write requires is still there, was gone before it began, or went since.
            (replace_old(), Some(("old", BEFORE)), NOT_APPLIED, UNKNOWN),
            (replace_old(), Some(("theirs", BEFORE)), NOT_APPLIED, NOT_APPLIED),
            (replace_old(), Some(("theirs", AFTER)), UNKNOWN, UNKNOWN),
            (replace_old(), None, UNKNOWN, UNKNOWN),
            (
                insert(),
                Some(("ours", AFTER)),
                applied(&[Some("ours")]),
                applied(&[Some("ours")]),
            ),
        ];
        for (operation, row, at_end, in_flight) in table {
            let operations = [operation];
            let rows: Vec<_> = row.into_iter().map(|(value, at)| stored("r", value, at)).collect();
            for (is_over, expected) in [(true, at_end), (false, in_flight)] {
                let judged = shown(judge(
                    &writes(&operations),
                    &rows,
                    (SENT.parse().unwrap(), is_over),
                    true,
                ));
                assert_eq!(judged, expected, "{operations:?} {rows:?} {is_over}");
            }
        }
    }

    /// The service's time of a row may equal the time of the request itself, to the tick.
    #[test]
    fn row_written_at_the_time_of_the_request_is_not_older() {
        let insert = || [TableOperation::insert(&entity("r", "ours"))];
        let at_first = [stored("r", "ours", SENT)];
        assert_eq!(judged(&insert(), &at_first), applied(&[Some("ours")]));
        assert_eq!(judged(&insert(), &[stored("r", "theirs", SENT)]), UNKNOWN);
        let clocks_apart = [stored("r", "ours", "2025-12-31T23:45:01Z")];
        assert_eq!(judged(&insert(), &clocks_apart), UNKNOWN);
        let further = [stored("r", "ours", "2025-12-31T23:45:00.9999999Z")];
        assert_eq!(judged(&insert(), &further), NOT_APPLIED);
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
            let shown = judged(&[TableOperation::insert(&ours)], &[row]);
            let expected = if is_ours { applied(&[Some("ours")]) } else { UNKNOWN };
            assert_eq!(shown, expected, "{sent} {found}");
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
        assert_eq!(judged(&[TableOperation::replace(&entity("r", "ours"))], &row), UNKNOWN);
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
        assert_eq!(judged(&batch, &covered), UNKNOWN);
        let before = [stored("c", "old", BEFORE)];
        assert_eq!(judged(&batch, &before), NOT_APPLIED);
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
            shown(judge(&writes, rows, over(), has_all))
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
        assert_eq!(judged(false, &[theirs.clone(), own.clone()], true), UNKNOWN);
        // No clock outweighs an id.
        let older = stored("a", "theirs", BEFORE);
        assert_eq!(judged(false, &[older.clone(), own], true), UNKNOWN);
        assert_eq!(judged(false, &[older], true), NOT_APPLIED);
        assert_eq!(judged(true, &[theirs], true), UNKNOWN, "no row is left");
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
        let judged = |rows: &[DynamicEntity]| shown(judge(&writes, rows, over(), true));
        assert_eq!(judged(&rows), UNKNOWN);
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
        let judged = |has_all| shown(judge(&writes(&insert), &row, over(), has_all));
        assert_eq!((judged(true), judged(false)), (applied(&[Some("ours")]), UNKNOWN));
    }

    /// A row of the same content that another client wrote is next to one that shows that nothing was applied.
    #[test]
    fn unchanged_row_outweighs_rows_that_look_like_ours() {
        let batch = [
            TableOperation::insert_or_replace(&entity("a", "same")),
            TableOperation::delete::<DynamicEntity>(("p", "b")),
        ];
        let rows = [stored("a", "same", AFTER), stored("b", "x", BEFORE)];
        assert_eq!(judged(&batch, &rows), NOT_APPLIED);
    }

    /// Clients that increment the same counter write the same content.
    #[test]
    fn content_does_not_prove_a_write_under_an_etag() {
        let row = [stored("r", "2", AFTER)];
        let replace = || TableOperation::replace(&entity("r", "2"));
        let of_one_version = [replace().if_match(azure_table_wire::value::etag::ETag::new("W/\"1\""))];
        assert_eq!(judged(&of_one_version, &row), UNKNOWN);
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
