//! Plans, sets of keys, counts, and rows that cannot be decoded.

use std::sync::{Arc, Mutex};

use azure_table::filter::AccessPath;
use azure_table::query::BadRow;
use azure_table::testing::Spy;
use azure_table::{
    Continuation, DynamicEntity, EdmValue, Emulator, ErrorKind, Filter, Key, TableClient, TableEntity,
    TableServiceClient,
};
use azure_table_tests::entities::Blog;
use azure_table_tests::errors::{assert_contains, assert_error};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::api::create;

fn blog(channel: &str, id: u32, rating: i32) -> Blog {
    Blog {
        author: (rating > 2).then(|| "O'Brien".into()),
        ..Blog::new(channel, id, rating)
    }
}

/// Stores a row whose rating has another type.
async fn store_bad_row(blogs: &TableClient<Blog>, row_key: &str, rating: impl Into<EdmValue>) {
    let mut bad = DynamicEntity::new("a", row_key);
    bad.insert("rating", rating);
    blogs.typed().insert_or_replace(&bad).await.unwrap();
}

async fn blogs() -> (TableServiceClient, TableClient<Blog>) {
    let service = TableServiceClient::from_transport(Emulator::new().page_size(2));
    let blogs = service.table::<Blog>("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    for (channel, id) in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1)] {
        blogs.insert(&blog(channel, id, id.cast_signed())).await.unwrap();
    }
    (service, blogs)
}

#[tokio::test]
async fn plan_names_the_access_path_and_its_reason() {
    let (_, blogs) = blogs().await;
    let of_a = |filter: Filter<Blog>| blogs.query().partition("a").filter(filter);
    let of_any = |filter: Filter<Blog>| blogs.query().filter(filter);
    let absent = "`rating` is absent or not Edm.Int32";
    for (query, path, note) in [
        (of_a(Blog::ID.eq(1)), AccessPath::Point, "`get`"),
        (of_a(Blog::ID.ge(2)), AccessPath::RowRange, ""),
        (of_a(Blog::RATING.ge(2)), AccessPath::Partition, absent),
        (of_any(Blog::CHANNEL.between("a", "b")), AccessPath::PartitionRange, ""),
        (of_any(Blog::ID.eq(1)), AccessPath::TableScan, ".partition("),
        (
            of_any(Blog::CHANNEL.is_in(["a", "b"])),
            AccessPath::TableScan,
            "`get_many`",
        ),
        (blogs.query(), AccessPath::TableScan, ".partition("),
        (of_a(Blog::ID.is_in(0..16)), AccessPath::Partition, "17 comparisons"),
    ] {
        let plan = query.plan().unwrap();
        assert_eq!(plan.path(), path, "{plan}");
        assert!(!plan.reason().is_empty(), "{plan}");
        assert!(plan.request_text().starts_with("GET http"), "{plan}");
        assert_contains(&plan, note);
    }
}

#[tokio::test]
async fn denied_query_is_rejected_before_it_is_sent() {
    let (service, _) = blogs().await;
    let denying = |path| service.deny_access(path).table::<Blog>("Blogs").unwrap();
    let blogs = denying(AccessPath::TableScan);
    let two = blogs.query().filter(Blog::CHANNEL.is_in(["a", "b"]));
    let error = two.all().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    for words in [
        "the whole table",
        "inside of an `or`",
        "`get_many`",
        "allow it for this call",
    ] {
        assert_contains(&error, words);
    }
    assert_eq!(blogs.query().partition("a").all().await.unwrap().len(), 3);
    assert_eq!(blogs.query().allow_table_scan().all().await.unwrap().len(), 5);
    let path = blogs.query().plan().unwrap().path();
    assert_eq!(path, AccessPath::TableScan, "it can be planned");
    // A condition that bounds no key is a scan, whatever it compares.
    for filter in [
        Blog::CHANNEL.ge(""),
        Blog::CHANNEL.starts_with(""),
        Blog::CHANNEL.gt(""),
    ] {
        let error = blogs.query().filter(filter.clone()).all().await.unwrap_err();
        assert!(error.to_string().contains("the whole table"), "{filter}: {error}");
    }
    let strict = denying(AccessPath::Partition);
    assert!(strict.query().partition("a").all().await.is_err());
}

/// A set that is too long for a URL can still be planned, and the error names a remedy.
#[tokio::test]
async fn set_too_long_for_a_url_is_planned_and_rejected() {
    let (_, blogs) = blogs().await;
    let channels = (0..2_000).map(|n| format!("channel-{n}"));
    let query = blogs.query().filter(Blog::CHANNEL.is_in(channels));
    let plan = query.plan().unwrap();
    assert_eq!((plan.path(), plan.request_text()), (AccessPath::TableScan, ""));
    let error = query.clone().all().await.unwrap_err().to_string();
    for text in [plan.to_string(), error] {
        assert_contains(&text, "more than the limit of 65534");
        assert_contains(&text, "`fan_out`");
    }
    assert_eq!(query.fan_out().plan().unwrap().requests(), 2_000);
}

#[tokio::test]
async fn get_many_keeps_the_order_of_the_keys() {
    let (_, blogs) = blogs().await;
    let many = blogs.get_many([("c", 1), ("a", 9), ("a", 1)]).concurrency(2);
    assert_eq!(many.requests(), 3);
    let read = many.all().await.unwrap();
    let reported: Vec<_> = read
        .iter()
        .map(|(key, blog)| (key.partition_key(), blog.is_some()))
        .collect();
    assert_eq!(reported, [("c", true), ("a", false), ("a", true)]);

    // A failed read is an item; the others continue.
    let keys = ["a/", "b"].map(|channel| blog(channel, 1, 1));
    let mut many = blogs.get_many(&keys).versioned();
    assert!(many.try_next().await.unwrap_err().to_string().contains("'/'"));
    let (_, found) = many.try_next().await.unwrap().unwrap();
    assert!(!found.unwrap().etag.as_str().is_empty());
    assert!(many.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn keys_and_count_read_only_the_keys() {
    let (_, blogs) = blogs().await;
    let keys = blogs.query().partition("a").keys();
    assert_contains(keys.clone().request_text().unwrap(), "select=PartitionKey%2CRowKey");
    let keys: Vec<Key<Blog>> = keys.all().await.unwrap();
    assert_eq!(keys.len(), 3);
    assert_eq!(blogs.get(keys[1].clone()).await.unwrap().unwrap().id, 2);
    assert_eq!(blogs.query().count().await.unwrap(), 5);
    assert_eq!(blogs.query().filter(Blog::RATING.ge(2)).count().await.unwrap(), 2);
    assert_eq!(blogs.query().limit(3).count().await.unwrap(), 3);
}

#[tokio::test]
async fn a_bad_row_does_not_end_a_stream() {
    let (_, blogs) = blogs().await;
    store_bad_row(&blogs, "0000000002", "many").await;
    assert!(blogs.query().all().await.is_err());

    let rows: Vec<Result<Blog, BadRow>> = blogs.query().lenient().all().await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 4);
    let bad = rows.iter().find_map(|row| row.as_ref().err()).unwrap();
    assert_contains(bad, r#"entity ("a", "0000000002")"#);
    assert_contains(bad, "property `rating`");
    assert_eq!(bad.row().unwrap().get("rating"), Some(&"many".into()));

    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let query = blogs.query();
    let skipping = query.skip_bad_rows(move |bad| log.lock().unwrap().push(bad.to_string()));
    assert_eq!(skipping.clone().all().await.unwrap().len(), 4);
    assert_eq!(seen.lock().unwrap().len(), 1);
    let limited = skipping.limit(3).all().await.unwrap();
    assert_eq!(limited.len(), 3, "what is left out counts for no limit");
}

/// A reader that continues after the row in the error misses no other row.
#[tokio::test]
async fn rows_before_a_bad_row_are_yielded_before_its_error() {
    let blogs = create::<Blog>(Emulator::new().page_size(4), "Blogs").await;
    for id in 1..10 {
        blogs.insert(&blog("a", id, 1)).await.unwrap();
    }
    store_bad_row(&blogs, "0000000007", "many").await;

    let mut rows = blogs.query().stream();
    for id in 1..7 {
        assert_eq!(rows.try_next().await.unwrap().unwrap().id, id);
    }
    let error = rows.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert_eq!(error.entity(), Some(("a", "0000000007")), "{error}");
    assert!(rows.try_next().await.unwrap().is_none());
    let limited = blogs.query().limit(6).all().await.unwrap();
    assert_eq!(limited.len(), 6, "the limit is reached");

    // A job that stores a position after each page repeats no row, and receives the error each time.
    let mut pages = blogs.query().pages();
    let full = pages.try_next().await.unwrap().unwrap();
    assert_eq!(full.items().len(), 4);
    for mut pages in [
        pages,
        blogs.query().resume_from(full.continuation().clone()).pages(),
        blogs.query().filter(Blog::ID.ge(6)).pages(),
    ] {
        assert_eq!(pages.try_next().await.unwrap_err().entity(), error.entity());
        assert!(pages.try_next().await.unwrap().is_none());
    }
    assert_eq!(blogs.query().pages().collect::<Vec<_>>().await.len(), 2);
    let last = blogs.query().last_rows(3, 2).await.unwrap_err();
    assert_eq!(last.entity(), error.entity(), "{last}");
    let limited: Vec<_> = blogs.query().limit(6).pages().try_collect().await.unwrap();
    assert_eq!(limited[1].items().len(), 2);
    assert!(limited[1].continuation().is_finished(), "it does not repeat the page");

    let mut scan = blogs.query().scan().stream();
    assert_eq!(scan.try_next_page().await.unwrap().unwrap().len(), 4);
    let position = scan.position().clone();
    assert_eq!(scan.try_next_page().await.unwrap().unwrap().len(), 2);
    assert!(scan.try_next_page().await.is_err());
    assert_eq!(*scan.position(), position);
    let rest = blogs.query().scan().resume_from(position);
    assert_eq!(rest.count().await.unwrap(), 5);
}

#[tokio::test]
async fn skipped_row_keeps_its_types_in_any_shape() {
    let (_, blogs) = blogs().await;
    store_bad_row(&blogs, "0000000002", i64::MAX).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let skipping = blogs.query().skip_bad_rows(move |bad| {
        let row = bad.row().unwrap();
        log.lock().unwrap().push(row.get("rating").cloned());
    });
    assert_eq!(skipping.clone().select((Blog::RATING,)).all().await.unwrap().len(), 4);
    let resolved = skipping.resolve(|row| row.property::<i32>("rating"));
    assert_eq!(resolved.all().await.unwrap().len(), 4);
    assert_eq!(*seen.lock().unwrap(), [Some(i64::MAX.into()), Some(i64::MAX.into())]);
}

#[tokio::test]
async fn a_continuation_belongs_to_its_query() {
    let (_, blogs) = blogs().await;
    let query = || blogs.query().filter(Blog::RATING.ge(1));
    let mut pages = query().pages();
    let first = pages.try_next().await.unwrap().unwrap();
    let kept = serde_json::to_string(first.continuation()).unwrap();
    let position = || serde_json::from_str::<Continuation>(&kept).unwrap();
    let rest = query().page_size(1).resume_from(position()).keys().all().await.unwrap();
    assert_eq!(rest.len() + first.items().len(), 5);
    for other in [blogs.query(), blogs.query().filter(Blog::RATING.ge(2))] {
        let error = other.resume_from(position()).all().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert!(error.to_string().contains("belongs to another query"), "{error}");
    }
}

#[test]
fn filter_is_evaluated_in_memory() {
    let it = blog("a", 7, 3);
    for (filter, expected) in [
        (Blog::RATING.ge(3) & Blog::CHANNEL.eq("a"), true),
        (Blog::ID.lt(7), false),
        (Blog::AUTHOR.eq("O'Brien"), true),
        (!Blog::AUTHOR.starts_with("P"), true),
        (Blog::RATING.is_in([1, 2]), false),
    ] {
        assert_eq!(filter.matches(&it).unwrap(), expected, "{filter}");
    }
    let of_absent = Blog::AUTHOR.ne("x").matches(&blog("a", 1, 1)).unwrap();
    assert!(!of_absent, "what is absent meets no comparison");
    let error = (Blog::RATING.ge(3) & Filter::raw("true")).matches(&it).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn raw_filter_that_cannot_be_parsed_is_named_with_the_place() {
    let (service, blogs) = blogs().await;
    for (text, place) in [
        ("rating gee 3", "is not understood from character 8 on, \"gee 3\""),
        (
            "rating ge 3 AND id eq 1",
            "is not understood from character 13 on, \"AND id eq 1\"",
        ),
        (
            "author eq 'é' or rating >= 3",
            "is not understood from character 25 on, \">= 3\"",
        ),
        (
            "author eq 'O'Brien''",
            "is not understood from character 14 on, \"Brien''\"",
        ),
        ("length(author) gt 3", "is not understood from character "),
        ("rating ge", "ends too early"),
        (
            "rating ge 99999999999",
            "is not understood from character 11 on, \"99999999999\"",
        ),
    ] {
        let raw = || Filter::raw(text);
        // The text is the caller's, without the other conditions and their values.
        let of_partition = blogs.query().partition("SECRET").filter(raw());
        let of_author = blogs.query().filter(Blog::AUTHOR.eq("SECRET") & !raw());
        for error in [
            blogs.query().filter(raw()).all().await.unwrap_err(),
            of_partition.count().await.unwrap_err(),
            of_author.first().await.unwrap_err(),
            service.list_tables().filter(Filter::raw(text)).await.unwrap_err(),
        ] {
            assert_contains(&error, &format!("the filter {text:?} {place}"));
            assert!(matches!(error.status(), Some(400 | 501)), "{error}");
            let of_service = error.service_message().unwrap_or_default();
            let own = error.to_string().replace(of_service, "");
            assert!(!own.contains("SECRET"), "{own}");
        }
    }
}

#[azure_table::test]
async fn raw_filter_that_is_no_single_condition_is_not_sent(
    blogs: TableClient<Blog>,
    service: TableServiceClient,
    spy: Spy,
) {
    spy.clear();
    for (text, why) in [
        (
            "rating eq 1) or (rating eq 2",
            "closes a parenthesis that is not open, at character 12",
        ),
        ("(rating eq 1", "leaves the parenthesis open at character 1"),
        ("author eq 'O'Brien'", "leaves the quote open at character 19"),
    ] {
        let raw = || blogs.query().filter(Filter::raw(text));
        let negated = blogs.query().filter(Blog::ID.eq(1) & !Filter::raw(text));
        for error in [
            raw().all().await.unwrap_err(),
            raw().partition("a").count().await.unwrap_err(),
            negated.first().await.unwrap_err(),
            blogs.delete_where(raw()).await.unwrap_err().into(),
            service.list_tables().filter(Filter::raw(text)).await.unwrap_err(),
        ] {
            assert_error(
                &error,
                ErrorKind::InvalidInput,
                &format!("filter: the text {text:?} {why}"),
            );
            assert_eq!(spy.requests(), 0);
        }
    }
}

#[azure_table::test]
async fn plan_names_the_rows_that_an_alias_reads_and_a_filter_misses(people: TableClient<Renamed>) {
    let of_group = || people.query().partition("p");
    let plan = of_group().filter(Renamed::NAME.eq("Ada")).plan().unwrap();
    let note = "rows that store `name` under its older name `fullname` are skipped silently: upgrade them first";
    assert!(plan.notes().iter().any(|of_plan| of_plan == note), "{plan}");
    let plan = of_group().plan().unwrap();
    assert!(!plan.to_string().contains("fullname"), "{plan}");
}

#[derive(TableEntity)]
struct Renamed {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    #[table(alias = "fullname")]
    name: String,
}
