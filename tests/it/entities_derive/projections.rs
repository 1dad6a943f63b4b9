//! `#[derive(Projection)]`: some columns of an entity.

use azure_table::entity::MetadataLevel;
use azure_table::{DateTime, Descending, ETag, Key, Projection, ReadEntity, TableEntity};

use super::table;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
    text: String,
    #[table(rename = "rtg")]
    rating: i32,
    views: Option<i64>,
    #[table(timestamp)]
    changed: Option<DateTime>,
}

#[derive(Projection, Clone, Debug, PartialEq)]
#[table(of = Blog)]
struct Summary {
    channel: String,
    posted: Descending<DateTime>,
    #[table(column = "RATING")]
    stars: i32,
    views: Option<i64>,
}

#[derive(Projection, Clone, Debug)]
#[table(of = "Blog")]
struct Whole {
    #[table(partition_key)]
    whose: String,
    #[table(row_key)]
    when: Descending<DateTime>,
    #[table(etag)]
    etag: Option<ETag>,
    #[table(timestamp)]
    changed: Option<DateTime>,
    #[table(default = "minus_one")]
    views: Option<i64>,
    #[table(ignore)]
    seen: bool,
    #[table(column = "CHANGED")]
    at: DateTime,
}

fn minus_one() -> Option<i64> {
    Some(-1)
}

fn blog(rating: i32) -> Blog {
    let posted = DateTime::from_unix_seconds(i64::from(rating));
    Blog {
        channel: "c".into(),
        posted: posted.into(),
        text: "t".into(),
        rating,
        views: None,
        changed: None,
    }
}

#[tokio::test]
async fn projection_requests_only_its_columns() {
    let table = table::<Blog>().await;
    for rating in 1..=3 {
        table.insert(&blog(rating)).await.unwrap();
    }
    let summary = |rating| Summary {
        channel: "c".into(),
        posted: blog(rating).posted,
        stars: rating,
        views: None,
    };
    let found = table
        .query()
        .filter(Blog::RATING.ge(2))
        .project::<Summary>()
        .all()
        .await
        .unwrap();
    assert_eq!(found, [summary(3), summary(2)]);
    let one = table.get(&blog(1)).project::<Summary>().await.unwrap();
    assert_eq!(one, Some(summary(1)));
    assert_eq!(table.get(&blog(4)).project::<Summary>().await.unwrap(), None);

    // Each name once, and always the keys, so that an error can name the row.
    assert_eq!(Summary::SELECT, Some(&["PartitionKey", "RowKey", "rtg", "Views"][..]));
    assert_eq!(Summary::METADATA, MetadataLevel::None);
}

#[tokio::test]
async fn keys_etag_and_timestamp_may_have_any_name() {
    let table = table::<Blog>().await;
    let etag = table.insert(&blog(1)).await.unwrap();
    let whole = table.query().project::<Whole>().first().await.unwrap().unwrap();
    assert_eq!((&*whole.whose, whole.when), ("c", blog(1).posted));
    assert_eq!(whole.etag, Some(etag));
    assert_eq!(whole.changed, Some(whole.at));
    assert_eq!((whole.views, whole.seen), (Some(-1), false));
    assert_eq!(
        Whole::SELECT,
        Some(&["PartitionKey", "RowKey", "Timestamp", "Views"][..])
    );
    assert_eq!(Whole::METADATA, MetadataLevel::Minimal);
}

#[tokio::test]
async fn a_projection_may_be_versioned() {
    let table = table::<Blog>().await;
    let etag = table.insert(&blog(1)).await.unwrap();
    let key = Key::of(&blog(1)).unwrap();
    let one = table.get(&key).project::<Summary>().versioned().await.unwrap().unwrap();
    let all = table.query().project::<Summary>().versioned().all().await.unwrap();
    assert_eq!((&one.etag, one.stars), (&etag, 1));
    assert_eq!(all, [one]);
    // A projection that selects the Timestamp itself does so once.
    let whole = table.get(&key).project::<Whole>().versioned().await.unwrap().unwrap();
    assert_eq!(whole.changed, Some(whole.timestamp));
}

#[tokio::test]
async fn a_missing_property_is_an_error_that_names_it() {
    let table = table::<Blog>().await;
    table
        .typed()
        .insert(&azure_table::DynamicEntity::new("c", "0000000000000000000"))
        .await
        .unwrap();
    let text = table.query().project::<Summary>().all().await.unwrap_err().to_string();
    assert!(text.contains("property `rtg`: it is missing"), "{text}");
}

/// A key that is a template of one field, an entity without constants, a generic projection.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{a}-{b}", row_key = "o-{n}", columns = off)]
struct Order {
    a: String,
    b: String,
    n: u32,
}

#[derive(Projection, Clone, Debug, PartialEq)]
#[table(of = Order)]
struct Numbered {
    #[table(row_key)]
    number: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Holder<T> {
    value: T,
    other: i32,
}

#[derive(Projection, Clone, Debug, PartialEq)]
#[table(of = Holder<T>)]
struct Value<T> {
    value: T,
}

#[tokio::test]
async fn a_key_of_one_field_in_a_template_and_a_type_parameter_are_projected() {
    let orders = table::<Order>().await;
    orders
        .insert(&Order {
            a: "x".into(),
            b: "y".into(),
            n: 7,
        })
        .await
        .unwrap();
    let numbers = orders.query().project::<Numbered>().all().await.unwrap();
    assert_eq!(numbers, [Numbered { number: 7 }]);

    let holders = table::<Holder<f64>>().await;
    holders.insert(&Holder { value: 2.5, other: 1 }).await.unwrap();
    let value = holders.get(()).project::<Value<f64>>().await.unwrap();
    assert_eq!(value, Some(Value { value: 2.5 }));
}
