//! `#[derive(Projection)]`: some columns of an entity.

use azure_table::entity::MetadataLevel;
use azure_table::{
    DateTime, Descending, DynamicEntity, ETag, Key, Projection, ReadEntity, Result, TableClient, TableEntity,
};
use azure_table_tests::entities::Valued;

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

#[azure_table::test]
async fn projection_requests_only_its_columns(table: TableClient<Blog>) -> Result<()> {
    for rating in 1..=3 {
        table.insert(&blog(rating)).await?;
    }
    let summary = |rating| Summary {
        channel: "c".into(),
        posted: blog(rating).posted,
        stars: rating,
        views: None,
    };
    let query = table.query().filter(Blog::RATING.ge(2));
    let found = query.project::<Summary>().all().await?;
    assert_eq!(found, [summary(3), summary(2)]);
    let one = table.get(&blog(1)).project::<Summary>().await?;
    assert_eq!(one, Some(summary(1)));
    assert_eq!(table.get(&blog(4)).project::<Summary>().await?, None);

    // Each name once, and always the keys, so that an error can name the row.
    assert_eq!(Summary::SELECT, Some(&["PartitionKey", "RowKey", "rtg", "Views"][..]));
    assert_eq!(Summary::METADATA, MetadataLevel::None);

    table
        .typed()
        .insert(&DynamicEntity::new("c", "0000000000000000000"))
        .await?;
    let text = table.query().project::<Summary>().all().await.unwrap_err().to_string();
    assert!(text.contains("property `rtg`: it is missing"), "{text}");
    Ok(())
}

#[azure_table::test]
async fn keys_etag_and_timestamp_may_have_any_name(table: TableClient<Blog>) -> Result<()> {
    let etag = table.insert(&blog(1)).await?;
    let whole = table.query().project::<Whole>().first().await?.unwrap();
    assert_eq!((&*whole.whose, whole.when), ("c", blog(1).posted));
    assert_eq!(whole.etag, Some(etag));
    assert_eq!(whole.changed, Some(whole.at));
    assert_eq!((whole.views, whole.seen), (Some(-1), false));
    let selected = ["PartitionKey", "RowKey", "Timestamp", "Views"];
    assert_eq!(Whole::SELECT, Some(&selected[..]));
    assert_eq!(Whole::METADATA, MetadataLevel::Minimal);
    Ok(())
}

#[azure_table::test]
async fn a_projection_may_be_versioned(table: TableClient<Blog>) -> Result<()> {
    let etag = table.insert(&blog(1)).await?;
    let key = Key::of(&blog(1)).unwrap();
    let one = table.get(&key).project::<Summary>().versioned().await?.unwrap();
    let all = table.query().project::<Summary>().versioned().all().await?;
    assert_eq!((&one.etag, one.stars), (&etag, 1));
    assert_eq!(all, [one]);
    // A projection that selects the Timestamp itself does so once.
    let whole = table.get(&key).project::<Whole>().versioned().await?.unwrap();
    assert_eq!(whole.changed, Some(whole.timestamp));
    Ok(())
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

#[derive(Projection, Clone, Debug, PartialEq)]
#[table(of = Valued<T>)]
struct Value<T> {
    value: T,
}

#[azure_table::test]
async fn a_key_of_one_field_in_a_template_and_a_type_parameter_are_projected(
    orders: TableClient<Order>,
    values: TableClient<Valued<f64>>,
) -> Result<()> {
    let [a, b] = ["x", "y"].map(String::from);
    orders.insert(&Order { a, b, n: 7 }).await?;
    let numbers = orders.query().project::<Numbered>().all().await?;
    assert_eq!(numbers, [Numbered { number: 7 }]);

    values.insert(&Valued::new("g", "n", 2.5)).await?;
    let value = values.get(("g", "n")).project::<Value<f64>>().await?;
    assert_eq!(value, Some(Value { value: 2.5 }));
    Ok(())
}
