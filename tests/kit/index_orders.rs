//! Lists by an index: newest first, ranges, counts, and entities with their ETags.

use std::time::Duration;

use azure_table::index::IndexedEntity as _;
use azure_table::testing::Spy;
use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, ErrorKind, Result, TableClient, TableEntity, TableProperty,
    TableServiceClient,
};
use azure_table_patterns::{IndexQuery, Indexed};
use azure_table_tests::errors::assert_error;
use futures::TryStreamExt as _;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_change = (listed, changed)))]
#[table(index(by_deletion = (deleted), covers))]
#[table(index(by_number = (number), unique))]
#[table(index(by_title = (title)))]
#[table(index(by_state = (state)))]
struct Doc {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    listed: bool,
    changed: Descending<DateTime>,
    deleted: Option<Descending<DateTime>>,
    number: Option<Descending<u32>>,
    title: String,
    state: State,
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(key)]
enum State {
    Open,
    Closed,
}

const TICK: Duration = Duration::from_nanos(100);

fn time(second: u32) -> DateTime {
    DateTime::from_unix_seconds(1_700_000_000 + i64::from(second))
}

/// A listed document, which was changed and deleted at this second.
fn doc(id: u32, second: u32) -> Doc {
    Doc {
        tenant: "t".into(),
        id,
        listed: true,
        changed: time(second).into(),
        deleted: Some(time(second).into()),
        number: Some(Descending(id)),
        title: format!("{id}"),
        state: State::Open,
    }
}

async fn built(table: &TableClient<Doc>) -> Result<Indexed<Doc>> {
    let docs = Indexed::open(table).await?;
    docs.build(Doc::BY_CHANGE).await?.ensure_none_taken()?;
    docs.build(Doc::BY_DELETION).await?.ensure_none_taken()?;
    docs.build(Doc::BY_NUMBER).await?.ensure_none_taken()?;
    docs.build(Doc::BY_TITLE).await?.ensure_none_taken()?;
    docs.build(Doc::BY_STATE).await?.ensure_none_taken()?;
    Ok(docs)
}

/// Inserts documents with the ids from 0, which were changed and deleted at these seconds.
async fn insert(docs: &Indexed<Doc>, seconds: &[u32]) -> Result<()> {
    for (id, second) in (0..).zip(seconds) {
        docs.insert(&doc(id, *second)).await?;
    }
    Ok(())
}

fn ids(docs: Result<Vec<Doc>>) -> Result<Vec<u32>> {
    Ok(docs?.iter().map(|doc| doc.id).collect())
}

#[azure_table::test]
async fn newest_comes_first_and_a_tie_is_in_the_order_of_the_keys(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1, 9, 7]).await?;
    let listed = || docs.by(Doc::BY_CHANGE, ("t", true));
    assert_eq!(ids(listed()?.all().await)?, [1, 3, 4, 0, 2]);
    assert_eq!(ids(listed()?.limit(2).all().await)?, [1, 3]);
    assert_eq!(ids(docs.by(Doc::BY_DELETION, ("t",))?.all().await)?, [1, 3, 4, 0, 2]);
    assert_eq!(ids(docs.by(Doc::BY_NUMBER, ("t",))?.all().await)?, [4, 3, 2, 1, 0]);

    docs.modify(("t", 2), |doc| doc.changed = time(10).into()).await?;
    docs.modify(("t", 3), |doc| doc.listed = false).await?;
    assert_eq!(ids(listed()?.all().await)?, [2, 1, 4, 0]);
    assert!(docs.delete(("t", 1)).await?);
    assert_eq!(listed()?.first().await?.map(|doc| doc.id), Some(2));
    docs.verify().await?.ensure_none()?;
    Ok(())
}

#[azure_table::test]
async fn one_value_is_found_by_the_plain_value(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9]).await?;
    let by_time = docs.by(Doc::BY_CHANGE, ("t", true, time(5)))?;
    assert_eq!(ids(by_time.all().await)?, [0]);
    let by_reference = docs.by(Doc::BY_CHANGE, ("t", true, &time(5)))?;
    assert_eq!(ids(by_reference.all().await)?, [0]);
    let by_field = docs.by(Doc::BY_DELETION, ("t", doc(0, 9).changed))?;
    assert_eq!(ids(by_field.all().await)?, [1]);
    assert_eq!(docs.by(Doc::BY_NUMBER, ("t", 1))?.first().await?, Some(doc(1, 9)));

    let taken = docs
        .insert(&Doc {
            number: Some(Descending(1)),
            ..doc(2, 0)
        })
        .await
        .unwrap_err();
    assert_eq!(Indexed::<Doc>::taken(&taken), Some("by_number"));
    Ok(())
}

#[azure_table::test]
async fn descending_field_is_stored_as_its_plain_value(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    let none = Doc {
        deleted: None,
        number: None,
        ..doc(7, 0)
    };
    docs.insert(&none).await?;
    let rows = table.typed::<DynamicEntity>().query().partition("t").all().await?;
    let keys: Vec<&str> = rows.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "$ix;by_change true 2517023007999999999 0000000007",
            "$ix;by_state Open 0000000007",
            "$ix;by_title 7 0000000007",
            "0000000007"
        ],
        "an absent value has no row"
    );
    assert_eq!(rows[3].get("changed"), Some(&time(0).into()));
    assert_eq!(rows[3].property::<Descending<DateTime>>("changed")?, none.changed);
    assert_eq!(rows[3].get("deleted"), None);
    assert_eq!(table.get(("t", 7)).await?, Some(none));
    assert_eq!(
        Doc::INDEXES[0].to_string(),
        "by_change = (listed: bool, changed: Descending<DateTime>)"
    );
    Ok(())
}

#[azure_table::test]
async fn filter_compares_a_descending_property_by_its_plain_value(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1]).await?;
    table.modify(("t", 2), |doc| doc.deleted = None).await?;
    let selected = async |filter| ids(docs.query().filter(filter).all().await);
    assert_eq!(selected(Doc::CHANGED.gt(time(5))).await?, [1], "newer");
    assert_eq!(selected(Doc::CHANGED.le(Descending(time(5)))).await?, [0, 2]);
    assert_eq!(selected(Doc::DELETED.lt(time(9))).await?, [0], "None never matches");
    assert_eq!(selected(Doc::CHANGED.between(time(1), time(5))).await?, [0, 2]);
    // Half a tick after the document's time, which no stored time has.
    let between = std::time::SystemTime::try_from(time(5)).unwrap() + TICK / 2;
    assert_eq!(selected(Doc::CHANGED.lt(between)).await?, [0, 2]);
    assert_eq!(selected(Doc::CHANGED.ge(between)).await?, [1]);
    assert!(selected(Doc::CHANGED.eq(between)).await?.is_empty());
    Ok(())
}

#[azure_table::test]
async fn build_and_repair_write_the_rows_of_descending_fields(table: TableClient<Doc>) -> Result<()> {
    for id in 0..3 {
        table.insert(&doc(id, id)).await?;
    }
    let docs = built(&table).await?;
    docs.verify().await?.ensure_none()?;
    assert_eq!(ids(docs.by(Doc::BY_CHANGE, ("t", true))?.all().await)?, [2, 1, 0]);
    // A writer that does not know the indexes.
    table
        .modify(("t", 0), |doc| {
            (doc.changed, doc.deleted, doc.number) = (time(9).into(), Some(time(9).into()), None);
        })
        .await?;
    let found = docs.verify().await?;
    assert_eq!(found.faults.len(), 5, "{:#?}", found.faults);
    assert_eq!(docs.repair(&found).await?, 5);
    docs.verify().await?.ensure_none()?;
    assert_eq!(ids(docs.by(Doc::BY_CHANGE, ("t", true))?.all().await)?, [0, 2, 1]);
    assert_eq!(ids(docs.by(Doc::BY_DELETION, ("t",))?.all().await)?, [0, 2, 1]);
    Ok(())
}

#[azure_table::test]
async fn range_has_both_ends_in_the_order_of_the_index(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1, 9, 7]).await?;
    let changed = |from, to| docs.between(Doc::BY_CHANGE, ("t", true, from), ("t", true, to));
    assert_eq!(ids(changed(time(9), time(5))?.all().await)?, [1, 3, 4, 0]);
    assert_eq!(ids(changed(time(9) - TICK, time(5) + TICK)?.all().await)?, [4]);
    assert_eq!(ids(changed(time(7), time(7))?.all().await)?, [4]);
    assert!(changed(time(4), time(2))?.all().await?.is_empty());
    assert_eq!(ids(changed(time(9), time(1))?.limit(3).all().await)?, [1, 3, 4]);
    // Open ends: to the last one of these fields, or from the first one.
    let until = docs.between(Doc::BY_CHANGE, ("t", true, time(5)), ("t", true))?;
    assert_eq!(ids(until.all().await)?, [0, 2]);
    let since = docs.between(Doc::BY_DELETION, ("t",), ("t", time(7)))?;
    assert_eq!(ids(since.all().await)?, [1, 3, 4]);
    // An ascending field.
    let titled = docs.between(Doc::BY_TITLE, ("t", "1"), ("t", "3"))?;
    assert_eq!(ids(titled.all().await)?, [1, 2, 3]);
    let numbered = docs.between(Doc::BY_NUMBER, ("t", 3), ("t", 2))?;
    assert_eq!(ids(numbered.all().await)?, [3, 2]);
    Ok(())
}

#[azure_table::test]
async fn range_goes_over_several_pages(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[0, 1, 2, 3, 4, 5, 6]).await?;
    let changed = || {
        Ok::<_, azure_table::Error>(
            docs.between(Doc::BY_CHANGE, ("t", true, time(5)), ("t", true, time(1)))?
                .page_size(2),
        )
    };
    let sizes = changed()?.pages().map_ok(|page| page.items().len());
    assert_eq!(sizes.try_collect::<Vec<_>>().await?, [2, 2, 1]);
    assert_eq!(ids(changed()?.stream().try_collect().await)?, [5, 4, 3, 2, 1]);
    let first = changed()?.pages().try_next().await?.unwrap();
    let rest = changed()?.resume_from(first.continuation().clone());
    assert_eq!(ids(rest.all().await)?, [3, 2, 1]);
    Ok(())
}

#[azure_table::test]
async fn range_that_no_index_can_read_is_rejected_before_any_request(spy: Spy, table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    spy.clear();
    let rejected =
        |query: Result<IndexQuery<_>>, why: &str| assert_error(&query.unwrap_err(), ErrorKind::InvalidInput, why);
    rejected(
        docs.between(Doc::BY_CHANGE, ("t", true, time(5)), ("t", true, time(9))),
        "swap the two (a `Descending` field has its greatest value first)",
    );
    rejected(
        docs.between(Doc::BY_CHANGE, ("t", true), ("u", true)),
        "needs all fields of the PartitionKey",
    );
    let by_name = docs.between(Doc::BY_STATE, ("t", State::Closed), ("t", State::Open));
    assert_error(
        &by_name.unwrap_err(),
        ErrorKind::InvalidInput,
        "does not sort as its values do",
    );
    assert_eq!(spy.requests(), 0);
    let one = docs.between(Doc::BY_STATE, ("t", State::Open), ("t", State::Open))?;
    assert_eq!(one.count().await?, 0);
    Ok(())
}

#[azure_table::test]
async fn count_is_the_number_of_entities_without_reading_them(spy: Spy, table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1, 9, 7]).await?;
    docs.modify(("t", 0), |doc| (doc.listed, doc.deleted) = (false, None))
        .await?;
    spy.clear();
    let listed = || docs.by(Doc::BY_CHANGE, ("t", true));
    assert_eq!((listed()?.count().await?, spy.requests()), (4, 1));
    assert_eq!(listed()?.page_size(2).count().await?, 4);
    assert_eq!(listed()?.limit(3).count().await?, 3);
    assert_eq!(docs.by(Doc::BY_DELETION, ("t",))?.count().await?, 4);
    assert_eq!(docs.by(Doc::BY_NUMBER, ("t", 9))?.count().await?, 0);
    let range = || docs.between(Doc::BY_CHANGE, ("t", true, time(9)), ("t", true, time(7)));
    assert_eq!(range()?.count().await?, range()?.all().await?.len());

    // A writer that does not know the index leaves a row behind.
    table.delete(("t", 1)).await?;
    assert_eq!((listed()?.count().await?, listed()?.all().await?.len()), (4, 3));
    Ok(())
}

#[azure_table::test]
async fn versioned_entity_is_replaced_only_in_that_version(table: TableClient<Doc>) -> Result<()> {
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1]).await?;
    let listed = || docs.by(Doc::BY_CHANGE, ("t", true));
    let mut newest = listed()?.versioned().first().await?.unwrap();
    assert_eq!(Some(&newest), table.get(("t", 1)).versioned().await?.as_ref());
    docs.modify(("t", 1), |doc| doc.title = "other".into()).await?;
    newest.listed = false;
    let error = docs.replace(&newest).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);

    let pages = listed()?.limit(2).versioned().page_size(2).pages();
    let read: Vec<_> = pages.map_ok(azure_table::Page::into_items).try_collect().await?;
    for mut doc in read.concat() {
        doc.listed = false;
        docs.replace(&doc).await?;
    }
    let left: Vec<_> = listed()?.versioned().stream().try_collect().await?;
    assert_eq!(left.iter().map(|doc| doc.id).collect::<Vec<_>>(), [2]);
    assert_eq!(listed()?.versioned().count().await?, 1);
    docs.delete(&left[0]).await?;
    let number = docs.by(Doc::BY_NUMBER, ("t", 2))?.versioned().all().await?;
    assert!(number.is_empty());
    docs.verify().await?.ensure_none()?;
    Ok(())
}

/// It promises no order.
#[tokio::test]
async fn cosmos_db_has_the_same_entities() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    let table = service.table::<Doc>("Docs")?;
    table.create_table().await?;
    let docs = built(&table).await?;
    insert(&docs, &[5, 9, 1, 9, 7]).await?;
    docs.modify(("t", 0), |doc| (doc.changed, doc.deleted) = (time(8).into(), None))
        .await?;
    let sorted = |docs: Result<Vec<Doc>>| {
        let mut ids = ids(docs)?;
        ids.sort_unstable();
        Ok::<_, azure_table::Error>(ids)
    };
    let range = || docs.between(Doc::BY_CHANGE, ("t", true, time(9)), ("t", true, time(8)));
    assert_eq!(sorted(range()?.all().await)?, [0, 1, 3]);
    assert_eq!(
        (range()?.count().await?, range()?.versioned().all().await?.len()),
        (3, 3)
    );
    let deleted = docs.between(Doc::BY_DELETION, ("t", time(7)), ("t",))?;
    assert_eq!(sorted(deleted.all().await)?, [2, 4]);
    let filter = Doc::CHANGED.ge(time(8));
    assert_eq!(sorted(docs.query().filter(filter).all().await)?, [0, 1, 3]);

    let mut read = docs.by(Doc::BY_NUMBER, ("t", 3))?.versioned().first().await?.unwrap();
    docs.modify(("t", 3), |doc| doc.listed = false).await?;
    read.number = None;
    assert_eq!(
        docs.replace(&read).await.unwrap_err().kind(),
        ErrorKind::ConditionNotMet
    );
    docs.verify().await?.ensure_none()?;
    Ok(())
}
