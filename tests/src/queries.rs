//! Queries: conditions, order, pages.

use azure_table::{Column, DynamicEntity, ErrorKind, Filter, TableClient};
use futures::TryStreamExt;

use crate::Backend;
use crate::entities::{AllTypes, Post, Tracked};
use crate::errors::Rejected as _;

async fn numbers(backend: &Backend, rows: u32) -> TableClient<Tracked> {
    let table = backend.fresh_table::<Tracked>().await;
    for chunk in (0..rows).collect::<Vec<_>>().chunks(100) {
        let mut batch = table.batch();
        for number in chunk {
            let value = format!("v{}", number % 3);
            batch.insert(&Tracked::new("g", *number, &value)).unwrap();
        }
        batch.submit().await.unwrap();
    }
    table
}

/// Comparisons and their combinations select the matching rows.
pub async fn filters_select_the_matching_rows(backend: &Backend) {
    let table = numbers(backend, 10).await;
    let (number, value) = (Tracked::NUMBER, Tracked::VALUE);
    for (filter, expected) in [
        (number.eq(4), &[4][..]),
        (number.lt(2), &[0, 1]),
        (number.le(2) & number.ne(1), &[0, 2]),
        (number.gt(8) | number.eq(0), &[0, 9]),
        (number.between(3, 5), &[3, 4, 5]),
        (number.is_in([7, 1]), &[1, 7]),
        (number.is_in([0_u32; 0]), &[]),
        (value.eq("v1"), &[1, 4, 7]),
        (!value.eq("v1") & number.le(4), &[0, 2, 3]),
        (value.starts_with("v") & number.ge(8), &[8, 9]),
        (value.starts_with("v2"), &[2, 5, 8]),
        ((number.eq(1) | number.eq(2)) & value.eq("v2"), &[2]),
        (Filter::raw("value eq 'v0' and RowKey lt '0000000005'"), &[0, 3]),
    ] {
        let text = filter.to_string();
        let rows = table.query().partition("g").filter(filter).all().await.unwrap();
        let found: Vec<_> = rows.into_iter().map(|row| row.number).collect();
        assert_eq!(found, expected, "{text}");
    }
    backend.drop_table(&table).await;
}

/// Each type is compared with a literal of its own type.
pub async fn every_type_is_comparable(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let sample = AllTypes::sample("p", "r");
    table.insert(&sample).await.unwrap();
    let hits = [
        AllTypes::TEXT.eq(&sample.text),
        AllTypes::FLAG.eq(true),
        AllTypes::SMALL.lt(0),
        AllTypes::LARGE.eq(i64::MAX),
        AllTypes::RATIO.between(4.5, 5.5),
        AllTypes::RATIO.eq(5.0),
        AllTypes::MOMENT.eq(sample.moment),
        AllTypes::ID.eq(sample.id),
        AllTypes::BYTES.eq(&sample.bytes[..]),
        AllTypes::MAYBE.ge(1 << 40),
        AllTypes::PARTITION.eq("p") & AllTypes::ROW.starts_with("r"),
    ];
    for filter in hits {
        let misses = !filter.clone();
        for (filter, rows) in [(filter, 1), (misses, 0)] {
            let text = filter.to_string();
            assert_eq!(table.query().filter(filter).all().await.unwrap().len(), rows, "{text}");
        }
    }
    backend.drop_table(&table).await;
}

/// A row without the property matches no comparison with it.
pub async fn an_absent_property_matches_nothing(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let mut with = DynamicEntity::new("p", "with");
    with.insert("X", 1);
    table.insert(&with).await.unwrap();
    table.insert(&DynamicEntity::new("p", "without")).await.unwrap();
    let x = Column::<DynamicEntity, i32>::property("X");
    for (filter, rows) in [(x.eq(1), 1), (x.ne(1), 0), (x.ne(2), 1), (x.lt(5), 1), (x.ge(5), 0)] {
        let text = filter.to_string();
        assert_eq!(table.query().filter(filter).all().await.unwrap().len(), rows, "{text}");
    }
    backend.drop_table(&table).await;
}

/// Rows have the order of their keys; a descending time puts the newest first.
pub async fn rows_are_in_key_order(backend: &Backend) {
    let table = backend.fresh_table::<Post>().await;
    for (minutes, id) in [(1, "b"), (3, "a"), (2, "c"), (1, "a")] {
        let post = Post::at("ch", minutes, id, minutes as i32);
        table.insert(&post).await.unwrap();
    }
    table.insert(&Post::at("other", 9, "z", 9)).await.unwrap();
    let posts = table.query().partition("ch").all().await.unwrap();
    let order: Vec<_> = posts.iter().map(|p| (p.rating, p.id.as_str())).collect();
    assert_eq!(order, [(3, "a"), (2, "c"), (1, "a"), (1, "b")]);
    let one = table.get(("ch", Post::time(2), "c")).await.unwrap().unwrap();
    assert_eq!(one, Post::at("ch", 2, "c", 2));
    assert_eq!(table.query().all().await.unwrap().len(), 5);
    backend.drop_table(&table).await;
}

/// Small pages yield the same rows as large ones; a continuation resumes after its page.
pub async fn pages_are_joined_without_loss(backend: &Backend) {
    let table = numbers(backend, 25).await;
    let all: Vec<u32> = (0..25).collect();

    let query = || table.query().partition("g").page_size(10);
    let pages: Vec<_> = query().pages().try_collect().await.unwrap();
    let sizes: Vec<_> = pages.iter().map(|page| page.items().len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 25);
    assert!(sizes.len() >= 3 && sizes.iter().all(|size| *size <= 10), "{sizes:?}");
    assert!(pages.last().unwrap().continuation().is_finished());

    let text = serde_json::to_string(pages[0].continuation()).unwrap();
    let rest = query().resume_from(serde_json::from_str(&text).unwrap());
    let rest: Vec<_> = rest.stream().try_collect().await.unwrap();
    let numbers = pages[0].items().iter().chain(&rest).map(|row| row.number);
    assert_eq!(numbers.collect::<Vec<_>>(), all);

    let limited: Vec<_> = query().limit(12).stream().try_collect().await.unwrap();
    assert!(limited.iter().map(|row| &row.number).eq(&all[..12]));
    assert_eq!(table.query().partition("g").first().await.unwrap().unwrap().number, 0);
    assert_eq!(table.query().partition("g").limit(0).all().await.unwrap(), []);
    backend.drop_table(&table).await;
}

/// More than a thousand rows need more than one page, and none is lost.
pub async fn more_than_a_page_is_streamed(backend: &Backend) {
    let table = numbers(backend, 1_100).await;
    let pages: Vec<_> = table.query().pages().try_collect().await.unwrap();
    assert!(pages.len() > 1);
    let rows: Vec<_> = table.query().stream().try_collect().await.unwrap();
    assert!(rows.iter().map(|row| row.number).eq(0..1_100));
    backend.drop_table(&table).await;
}

/// Rows of a query have their version on request.
pub async fn queried_rows_are_versioned(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let sample = AllTypes::sample("p", "r");
    let etag = table.insert(&sample).await.unwrap();
    let mut rows = table.query().partition("p").versioned().all().await.unwrap();
    let mut row = rows.pop().unwrap();
    assert_eq!((&row.entity, &row.etag), (&sample, &etag));
    row.small = 1;
    table.replace(&row).await.unwrap();
    assert!(table.replace(&row).await.is_err());
    backend.drop_table(&table).await;
}

/// Separate queries for partitions, keys and ranges yield the rows of one query, in order.
pub async fn sets_of_keys_are_queried_in_parts(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    for group in ["a", "b", "c", "d'"] {
        let mut batch = table.batch();
        for number in 0..6 {
            batch.insert(&Tracked::new(group, number, "v")).unwrap();
        }
        batch.submit().await.unwrap();
    }
    let reported =
        |rows: Vec<Tracked>| -> Vec<(String, u32)> { rows.into_iter().map(|row| (row.group, row.number)).collect() };
    let of = |groups: &[&str], numbers: &[u32]| -> Vec<(String, u32)> {
        let pairs = groups
            .iter()
            .flat_map(|group| numbers.iter().map(|n| ((*group).to_owned(), *n)));
        pairs.collect()
    };
    let small = || table.query().page_size(4);
    let parts = small().fan_out().partitions(["d'", "a", "x"]);
    let rows = reported(parts.all().await.unwrap());
    assert_eq!(rows, of(&["a", "d'"], &[0, 1, 2, 3, 4, 5]));
    let keys = small().filter(Tracked::GROUP.is_in(["c", "a"]) & Tracked::NUMBER.is_in([5, 2, 9]));
    assert_eq!(reported(keys.fan_out().all().await.unwrap()), of(&["a", "c"], &[2, 5]));
    let ends = small()
        .partition("b")
        .filter(Tracked::NUMBER.lt(1) | Tracked::NUMBER.ge(5));
    assert_eq!(reported(ends.fan_out().all().await.unwrap()), of(&["b"], &[0, 5]));
    let limited = small().limit(7).fan_out().partitions(["a", "b"]).concurrency(2);
    assert_eq!(limited.all().await.unwrap().len(), 7);

    let ranges = small().scan().ranges(["b", "cc"]).concurrency(2);
    let mut rows: Vec<_> = ranges.stream().try_collect().await.unwrap();
    rows.sort_by_key(|row: &Tracked| (row.group.clone(), row.number));
    assert_eq!(reported(rows), of(&["a", "b", "c", "d'"], &[0, 1, 2, 3, 4, 5]));
    assert_eq!(small().scan().ranges(["c"]).count().await.unwrap(), 24);
    backend.drop_table(&table).await;
}

/// A continuation is a position: a row written after it is returned, one written before it is not, and a row that was
/// returned is not returned again.
pub async fn continuation_is_not_a_snapshot(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    for number in [10, 20, 30, 40] {
        table.insert(&Tracked::new("g", number, "v")).await.unwrap();
    }
    let query = || table.query().partition("g").page_size(2).prefetch(0);
    let mut pages = query().pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!(first.items().iter().map(|row| row.number).collect::<Vec<_>>(), [10, 20]);
    for number in [5, 15, 35, 45] {
        table.insert(&Tracked::new("g", number, "v")).await.unwrap();
    }
    table.delete(("g", 40)).await.unwrap();
    table.insert_or_replace(&Tracked::new("g", 20, "w")).await.unwrap();
    let mut rest = Vec::new();
    while let Some(page) = pages.try_next().await.unwrap() {
        rest.extend(page.into_items().into_iter().map(|row| row.number));
    }
    assert_eq!(rest, [30, 35, 45]);
    // The row of the position may be deleted by then.
    table.delete(("g", 30)).await.unwrap();
    let rest = query().resume_from(first.continuation().clone()).all().await.unwrap();
    assert_eq!(rest.iter().map(|row| row.number).collect::<Vec<_>>(), [35, 45]);
    backend.drop_table(&table).await;
}

/// A table that is deleted between two pages is an error, not an end.
pub async fn a_table_deleted_between_pages_is_an_error(backend: &Backend) {
    let table = numbers(backend, 5).await;
    let mut rows = table.query().page_size(2).prefetch(0).stream();
    assert_eq!(rows.try_next().await.unwrap().unwrap().number, 0);
    backend.drop_table(&table).await;
    assert_eq!(rows.try_next().await.unwrap().unwrap().number, 1);
    let error = rows.try_next().await.rejected();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
    assert!(rows.try_next().await.unwrap().is_none(), "it ends after an error");
}
