//! The outcomes of writes from the rows that are stored: each test is a row of the table, or two next to each other.

use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::etag::ETag;
use azure_table_wire::value::guid::Guid;

use super::*;
use crate::pipeline::lost_write::facts;
use crate::write::operation::TableOperation;
use crate::write::row_write::{RowWrite, WrittenRow};

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
    row.etag = Some(ETag::new(format!("W/\"{value}\"")));
    row
}

fn writes(operations: &[TableOperation]) -> Vec<RowWrite<'_>> {
    operations.iter().filter_map(TableOperation::row_write).collect()
}

/// Returns the time of a write, all of whose clocks agree.
fn sent(is_in_flight: bool) -> SentTime {
    SentTime::at(SENT.parse::<DateTime>().unwrap(), is_in_flight)
}

/// A resolution without its reason, and the rows of an applied write.
type Found = (Option<bool>, Vec<WrittenRow>);
const UNKNOWN: Found = (None, Vec::new());
const NOT_APPLIED: Found = (Some(false), Vec::new());

fn parts(writes: &[RowWrite<'_>]) -> Vec<RowParts> {
    writes.iter().map(facts::of_row).collect()
}

/// Returns the outcome of writes whose rows were read as stored, with all of them if `has_all`.
fn read(writes: &[RowWrite<'_>], stored: &[DynamicEntity], is_in_flight: bool, has_all: bool) -> Found {
    let rows = parts(writes);
    let mut reading = Reading::new("Things", "p", &rows, false);
    reading.stored = stored.to_vec();
    reading.next = if has_all {
        NextRead::Rows(Vec::new())
    } else {
        NextRead::GaveUp
    };
    reading.responses = 1;
    let shown = reading.shown(&sent(is_in_flight), false);
    let written = shown.written(writes);
    (shown.resolution.is_applied(), written)
}

fn found(operations: &[TableOperation], stored: &[DynamicEntity]) -> Found {
    read(&writes(operations), stored, false, true)
}

fn applied(etags: &[Option<&str>]) -> Found {
    let row = |etag: &Option<&str>| WrittenRow {
        etag: etag.map(|text| format!("W/\"{text}\"")),
        ..WrittenRow::default()
    };
    (Some(true), etags.iter().map(row).collect())
}

#[test]
fn one_row_shows_who_wrote_it() {
    let insert = || [TableOperation::insert(&entity("r", "new"))];
    assert_eq!(found(&insert(), &[stored("r", "new", AFTER)]), applied(&[Some("new")]));
    assert_eq!(
        found(&insert(), &[stored("r", "new", SHORTLY_BEFORE)]),
        UNKNOWN,
        "before, or by another clock"
    );
    assert_eq!(
        found(&insert(), &[stored("r", "new", BEFORE)]),
        NOT_APPLIED,
        "an import that is run again"
    );
    assert_eq!(found(&insert(), &[stored("r", "theirs", BEFORE)]), NOT_APPLIED);
    for at in [SHORTLY_BEFORE, AFTER] {
        assert_eq!(found(&insert(), &[stored("r", "theirs", at)]), UNKNOWN, "{at}");
    }
    assert_eq!(found(&insert(), &[]), UNKNOWN);
    let delete = [TableOperation::delete::<DynamicEntity>(("p", "r"))];
    assert_eq!(found(&delete, &[]), UNKNOWN);
    assert_eq!(found(&delete, &[stored("r", "x", BEFORE)]), NOT_APPLIED);
}

/// The columns: the write, the row that was read, and the conclusions once no attempt is in flight and before that.
#[test]
fn row_that_is_as_it_was_decides_nothing_while_an_attempt_is_in_flight() {
    let entity = entity("r", "new");
    let etag = |text: &str| ETag::new(format!("W/\"{text}\""));
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
            Some(("new", AFTER)),
            applied(&[Some("new")]),
            applied(&[Some("new")]),
        ),
    ];
    for (operation, row, at_end, in_flight) in table {
        let operations = [operation];
        let rows: Vec<_> = row.into_iter().map(|(value, at)| stored("r", value, at)).collect();
        for (is_over, expected) in [(true, at_end), (false, in_flight)] {
            let found = read(&writes(&operations), &rows, !is_over, true);
            assert_eq!(found, expected, "{operations:?} {rows:?} {is_over}");
        }
    }
}

/// The service's time of a row may equal the time of the request itself, to the tick.
#[test]
fn row_written_at_the_time_of_the_request_is_not_older() {
    let insert = || [TableOperation::insert(&entity("r", "new"))];
    let at_first = [stored("r", "new", SENT)];
    assert_eq!(found(&insert(), &at_first), applied(&[Some("new")]));
    assert_eq!(found(&insert(), &[stored("r", "theirs", SENT)]), UNKNOWN);
    let clocks_apart = [stored("r", "new", SHORTLY_BEFORE)];
    assert_eq!(found(&insert(), &clocks_apart), UNKNOWN);
    let further = [stored("r", "new", "2025-12-31T23:59:30.9999999Z")];
    assert_eq!(found(&insert(), &further), NOT_APPLIED);
}

#[test]
fn numbers_are_compared_by_value_and_nan_equals_nan() {
    for (sent, stored_value, is_equal) in [
        (1.5, 1.5, true),
        (1.5, 2.5, false),
        (f64::NAN, f64::NAN, true),
        (f64::NAN, 1.5, false),
        (1.5, f64::NAN, false),
    ] {
        let (mut entity, mut row) = (entity("r", "new"), stored("r", "new", AFTER));
        entity.insert("D", sent);
        row.insert("D", stored_value);
        let shown = found(&[TableOperation::insert(&entity)], &[row]);
        let expected = if is_equal { applied(&[Some("new")]) } else { UNKNOWN };
        assert_eq!(shown, expected, "{sent} {stored_value}");
    }
}

#[test]
fn merge_keeps_other_properties_and_replace_does_not() {
    let mut more = stored("r", "new", AFTER);
    more.insert("Other", 1);
    let row = [more];
    // Another write may have set it since.
    assert_eq!(
        found(&[TableOperation::merge(&entity("r", "new"))], &row),
        applied(&[None])
    );
    assert_eq!(found(&[TableOperation::replace(&entity("r", "new"))], &row), UNKNOWN);
}

#[test]
fn batch_was_applied_completely_or_not_at_all() {
    let batch = [
        TableOperation::insert(&entity("a", "1")),
        TableOperation::delete::<DynamicEntity>(("p", "b")),
        TableOperation::merge(&entity("c", "2")),
    ];
    let written = [stored("a", "1", AFTER), stored("c", "2", AFTER)];
    assert_eq!(found(&batch, &written), applied(&[Some("1"), None, Some("2")]));
    let covered = [stored("a", "1", AFTER), stored("c", "theirs", AFTER)];
    assert_eq!(found(&batch, &covered), UNKNOWN);
    let before = [stored("c", "old", BEFORE)];
    assert_eq!(found(&batch, &before), NOT_APPLIED);
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
    let found = |is_unshared, rows: &[DynamicEntity], has_all| {
        let mut writes = writes(&batch);
        for write in &mut writes {
            write.write_id = Some(id);
            write.facts.is_unshared = is_unshared;
        }
        read(&writes, rows, false, has_all)
    };
    let mut own = stored("b", "2", AFTER);
    own.insert("Write", id);
    let proven = applied(&[None, Some("2")]);
    for other in [stored("a", "theirs", AFTER), stored("a", "wrong clock", BEFORE)] {
        assert_eq!(found(true, &[other, own.clone()], true), proven);
    }
    assert_eq!(found(true, &[own.clone()], true), proven, "deleted since");
    assert_eq!(found(true, &[own.clone()], false), proven, "not read");
    let mut patched = own.clone();
    patched.insert("V", "theirs");
    assert_eq!(found(true, &[patched], true), applied(&[None, None]));
    // An earlier call may have written the row, and this batch may have failed.
    let theirs = stored("a", "theirs", AFTER);
    assert_eq!(found(false, &[theirs.clone(), own.clone()], true), UNKNOWN);
    // No clock outweighs an id.
    let older = stored("a", "theirs", BEFORE);
    assert_eq!(found(false, &[older.clone(), own], true), UNKNOWN);
    assert_eq!(found(false, &[older], true), NOT_APPLIED);
    assert_eq!(found(true, &[theirs], true), UNKNOWN, "no row is left");
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
    let found = |rows: &[DynamicEntity]| read(&writes, rows, false, true);
    assert_eq!(found(&rows), UNKNOWN);
    assert_eq!(
        found(&rows[..1]),
        applied(&[None, None]),
        "the rows are as the batch leaves them"
    );
}

/// The row to delete may be stored on a further page.
#[test]
fn contents_show_nothing_unless_all_rows_were_read() {
    let batch = [
        TableOperation::insert(&entity("r", "new")),
        TableOperation::delete::<DynamicEntity>(("p", "s")),
    ];
    let row = [stored("r", "new", AFTER)];
    let found = |has_all| read(&writes(&batch), &row, false, has_all);
    assert_eq!((found(true), found(false)), (applied(&[Some("new"), None]), UNKNOWN));
}

/// A row of the same content that another client wrote is next to one that shows that nothing was applied.
#[test]
fn unchanged_row_outweighs_rows_with_the_written_content() {
    let batch = [
        TableOperation::insert_or_replace(&entity("a", "same")),
        TableOperation::delete::<DynamicEntity>(("p", "b")),
    ];
    let rows = [stored("a", "same", AFTER), stored("b", "x", BEFORE)];
    assert_eq!(found(&batch, &rows), NOT_APPLIED);
}

/// Clients that increment the same counter write the same content.
#[test]
fn content_does_not_prove_a_write_under_an_etag() {
    let row = [stored("r", "2", AFTER)];
    let replace = || TableOperation::replace(&entity("r", "2"));
    let of_one_version = [replace().if_match(ETag::new("W/\"1\""))];
    assert_eq!(found(&of_one_version, &row), UNKNOWN);
    for any in [replace(), replace().if_match(ETag::new("*"))] {
        assert_eq!(found(&[any], &row), applied(&[Some("2")]));
    }
}

/// The row of one operation is enough, because a batch is atomic.
#[test]
fn row_that_keeps_its_etag_shows_that_nothing_was_applied() {
    let replace = |etag: &str| TableOperation::replace(&entity("r", "2")).if_match(ETag::new(etag));
    let batch = |etag| [TableOperation::insert(&entity("a", "1")), replace(etag)];
    // Even with the written content, and as new as the write.
    let rows = [stored("a", "1", AFTER), stored("r", "2", AFTER)];
    assert_eq!(found(&batch("W/\"2\""), &rows), NOT_APPLIED);
    assert_eq!(found(&batch("W/\"1\""), &rows), UNKNOWN);
    assert_eq!(found(&batch("*"), &rows), applied(&[Some("1"), Some("2")]), "any ETag");
    assert_eq!(found(&batch("W/\"2\""), &rows[..1]), UNKNOWN, "no row");
    let mut without = rows[1].clone();
    without.etag = None;
    let any = [TableOperation::replace(&entity("r", "2"))];
    assert_eq!(found(&any, &[without]), applied(&[None]), "neither has one");
}

/// A user may have decoded the colons of a Timestamp.
#[test]
fn etag_may_be_spelled_with_decoded_colons() {
    let spelled = |colon: &str| ETag::new(format!("W/\"datetime'2026-01-01T00{colon}00{colon}00Z'\""));
    let mut row = stored("r", "1", BEFORE);
    row.etag = Some(spelled("%3A"));
    for colon in ["%3A", "%3a", ":"] {
        let replace = [TableOperation::replace(&entity("r", "2")).if_match(spelled(colon))];
        let in_flight = read(&writes(&replace), std::slice::from_ref(&row), true, true);
        assert_eq!(in_flight, UNKNOWN, "{colon}");
    }
}

/// The ETag that one row has lost never returns, and the other row shows that the batch was not applied before that.
#[test]
fn lost_etag_rules_out_a_batch_that_was_not_applied() {
    let replace = |row: &str, etag: &str| TableOperation::replace(&entity(row, "2")).if_match(ETag::new(etag));
    let batch = [replace("a", "W/\"1\""), replace("b", "W/\"1\"")];
    let (kept, lost) = (stored("a", "1", BEFORE), stored("b", "theirs", AFTER));
    let in_flight = |rows: &[DynamicEntity], has_all| read(&writes(&batch), rows, true, has_all);
    assert_eq!(in_flight(&[kept.clone(), lost], true), NOT_APPLIED);
    assert_eq!(in_flight(std::slice::from_ref(&kept), true), NOT_APPLIED, "deleted");
    assert_eq!(in_flight(std::slice::from_ref(&kept), false), UNKNOWN, "not read");
    let both = [kept.clone(), stored("b", "1", BEFORE)];
    assert_eq!(in_flight(&both, true), UNKNOWN, "no row explains a rejection");
    // The batch may have arrived between two responses.
    let (parts, sent) = (parts(&writes(&batch)), sent(true));
    for (responses, outcome) in [(1, Some(false)), (2, None)] {
        let mut reading = Reading::new("Things", "p", &parts, false);
        (reading.stored, reading.next, reading.responses) = (vec![kept.clone()], NextRead::Rows(Vec::new()), responses);
        assert_eq!(
            reading.shown(&sent, false).resolution.is_applied(),
            outcome,
            "{responses}"
        );
    }
}

#[test]
fn rows_of_a_batch_are_read_as_one_range() {
    let batch = [
        TableOperation::insert(&entity("b'", "1")),
        TableOperation::delete::<DynamicEntity>(("p", "a")),
    ];
    let rows = parts(&writes(&batch));
    let request = Reading::new("Things", "p", &rows, false).query();
    let filter = "PartitionKey eq 'p' and RowKey ge 'a' and RowKey le 'b'''";
    assert_eq!(request.filter.as_deref(), Some(filter));

    // The service orders keys by their UTF-16 code units.
    let batch = ["\u{ff5e}", "\u{1f600}", "a"].map(|key| TableOperation::insert(&entity(key, "1")));
    let rows = parts(&writes(&batch));
    let filter = Reading::new("Things", "p", &rows, false).query().filter.unwrap();
    assert!(filter.ends_with("RowKey ge 'a' and RowKey le '\u{ff5e}'"), "{filter}");
}

/// Another client may have deleted the row and inserted the other one.
#[test]
fn content_does_not_prove_a_batch_that_deletes_under_an_etag() {
    let delete = || TableOperation::delete::<DynamicEntity>(("p", "b"));
    let insert = || TableOperation::insert(&entity("a", "1"));
    let rows = [stored("a", "1", AFTER)];
    assert_eq!(found(&[insert(), delete()], &rows), applied(&[Some("1"), None]));
    let under_etag = [insert(), delete().if_match(ETag::new("W/\"1\""))];
    assert_eq!(found(&under_etag, &rows), UNKNOWN);
}
