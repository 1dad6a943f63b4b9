//! The types of rust_decimal, url and ulid, the dates of chrono, jiff and time, and the Timestamp as their times.

use azure_table::key::{Day, ReadTableKey};
use azure_table::{
    DateTime, Descending, DynamicEntity, ETag, EdmType, ErrorKind, Key, Projection, Result, TableClient, TableEntity,
    TableKey, TableProperty,
};
use chrono::{NaiveDate, Utc};
use proptest::prelude::*;
use rust_decimal::Decimal;
use ulid::Ulid;
use url::Url;

use azure_table_tests::key_order::{are_keys_of_a_typed_client, fresh_table, stand_in_both_orders, stand_in_order};

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
struct Price(Decimal);

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Order {
    #[table(partition_key)]
    day: NaiveDate,
    #[table(row_key)]
    id: Ulid,
    total: Decimal,
    rebate: Option<Price>,
    page: Url,
    parent: Option<Ulid>,
    chrono: NaiveDate,
    jiff: jiff::civil::Date,
    time: Option<time::Date>,
}

fn order(id: u128, total: &str, page: &str, day: &str) -> Order {
    let date: Day = day.parse().unwrap();
    Order {
        day: "2024-02-29".parse::<Day>().unwrap().into(),
        id: Ulid::from(id),
        total: total.parse().unwrap(),
        rebate: (id == 1).then_some(Price(Decimal::ONE)),
        page: page.parse().unwrap(),
        parent: (id > 1).then(|| Ulid::from(id - 1)),
        chrono: date.into(),
        jiff: date.into(),
        time: Some(date.into()),
    }
}

fn three() -> [Order; 3] {
    [
        order(1, "9.00", "https://contoso.com/a", "1601-01-01"),
        order(2, "10.50", "https://contoso.com/b?c=d", "2024-02-29"),
        order(
            u128::MAX,
            "-0.0000000000000000000000000001",
            "mailto:ada@contoso.com",
            "9999-12-31",
        ),
    ]
}

#[azure_table::test]
async fn values_of_other_crates_survive_in_their_documented_form(table: TableClient<Order>) -> Result<()> {
    for order in three() {
        table.insert(&order).await?;
        let read = table.get((order.day, order.id)).versioned().await?.unwrap();
        assert_eq!(read.entity, order);
        assert_eq!(read.total.scale(), order.total.scale());
    }
    assert_eq!(table.query().all().await?, three());
    let key = Key::of(&three()[1]).unwrap();
    let row_key = "00000000000000000000000002";
    assert_eq!((key.partition_key(), key.row_key()), ("2024-02-29", row_key));
    let dynamic = table.typed::<DynamicEntity>();
    let row = dynamic.get(("2024-02-29", row_key)).await?.unwrap();
    assert_eq!(row.get("total"), Some(&"10.50".into()));
    assert_eq!(row.get("page"), Some(&"https://contoso.com/b?c=d".into()));
    assert_eq!(row.get("parent"), Some(&"00000000000000000000000001".into()));
    for name in ["chrono", "jiff", "time"] {
        assert_eq!(row.get(name).unwrap().edm_type(), EdmType::DateTime);
        let midnight = row.property::<DateTime>(name)?.to_string();
        assert_eq!(midnight, "2024-02-29T00:00:00Z");
    }
    Ok(())
}

#[azure_table::test]
async fn values_of_other_crates_are_found_by_filters(table: TableClient<Order>) -> Result<()> {
    let all = three();
    for order in &all {
        table.insert(order).await?;
    }
    let middle = &all[1];
    for (filter, expected) in [
        (Order::TOTAL.eq(middle.total), vec![1]),
        (Order::TOTAL.ne(middle.total), vec![0, 2]),
        (Order::TOTAL.is_in([all[0].total, all[2].total]), vec![0, 2]),
        // A different text of the same number.
        (Order::TOTAL.eq(middle.total.normalize()), vec![]),
        (Order::REBATE.eq(Price(Decimal::ONE)), vec![0]),
        (Order::PAGE.eq(&middle.page), vec![1]),
        (Order::PAGE.gt(middle.page.clone()), vec![2]),
        (Order::PARENT.ge(middle.id), vec![2]),
        (Order::ID.le(middle.id), vec![0, 1]),
        (Order::DAY.eq(middle.day), vec![0, 1, 2]),
        (Order::CHRONO.ge(middle.chrono), vec![1, 2]),
        (Order::JIFF.lt(middle.jiff), vec![0]),
        (
            Order::TIME.between(all[0].time.unwrap(), middle.time.unwrap()),
            vec![0, 1],
        ),
    ] {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await?;
        let expected: Vec<_> = expected.into_iter().map(|at: usize| all[at].clone()).collect();
        assert_eq!(found, expected, "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn keys_of_other_crates_stand_in_order() {
    let days = ["0001-01-01", "1999-12-31", "2008-10-09", "2008-10-10", "9999-12-31"];
    let days = days.map(|day| day.parse::<Day>().unwrap());
    stand_in_both_orders(days.map(NaiveDate::from).into()).await;
    stand_in_both_orders(days.map(jiff::civil::Date::from).into()).await;
    stand_in_both_orders(days.map(time::Date::from).into()).await;
    stand_in_order([0, 9, 10, 31, 32, u128::MAX].map(Ulid::from).into()).await;
    are_keys_of_a_typed_client([days[2], days[3]].map(jiff::civil::Date::from)).await;
    are_keys_of_a_typed_client([days[2], days[3]].map(time::Date::from)).await;
}

#[azure_table::test]
async fn value_of_another_crate_beyond_its_limit_is_an_error_that_names_it(table: TableClient<Order>) -> Result<()> {
    let [order, ..] = three();
    let mut far = order.clone();
    far.chrono = NaiveDate::from_ymd_opt(12_000, 1, 1).unwrap();
    let error = table.insert(&far).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "property `chrono`: the date +12000-01-01 is outside of the years 1 to 9999";
    assert!(error.to_string().ends_with(why), "{error}");
    let mut early = order.clone();
    early.jiff = jiff::civil::date(1600, 12, 31);
    let error = table.insert(&early).await.unwrap_err().to_string();
    let why = "property `jiff`: 1600-12-31T00:00:00Z is before the earliest date stored, 1601-01-01T00:00:00Z";
    assert!(error.ends_with(why), "{error}");

    table.insert(&order).await?;
    let key = Key::of(&order)?;
    let dynamic = table.typed::<DynamicEntity>();
    let row = dynamic.query().first().await?.unwrap();
    let long = "0.12345678901234567890123456789";
    for (name, value, why) in [
        ("total", "1e400", "\"1e400\" is not a Decimal: "),
        ("total", long, &format!("\"{long}\" is not a Decimal: ")),
        (
            "page",
            "/a?sig=secret",
            "the text is not a URL: relative URL without a base",
        ),
        (
            "parent",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "expected a ULID (26 characters), found ",
        ),
    ] {
        let mut wrong = row.clone();
        wrong.insert(name, value);
        dynamic.insert_or_replace(&wrong).await?;
        let error = table.get(&key).await.unwrap_err().to_string();
        assert!(error.contains(&format!("property `{name}`: {why}")), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    Ok(())
}

/// Each type that a field with `timestamp` may have.
macro_rules! stamped {
    ($($test:ident: $type:ty, $plus_a_second:expr;)*) => {$(
        #[tokio::test]
        async fn $test() {
            #[derive(TableEntity, Clone, Debug)]
            struct Note {
                #[table(partition_key)]
                owner: String,
                #[table(row_key)]
                id: u32,
                text: String,
                #[table(timestamp)]
                changed: Option<$type>,
                #[table(etag)]
                etag: Option<ETag>,
            }

            #[derive(Projection)]
            #[table(of = Note)]
            struct Changed {
                #[table(timestamp)]
                at: Option<$type>,
            }

            let table = fresh_table::<Note>().await;
            let note = Note { owner: "o".into(), id: 1, text: "t".into(), changed: None, etag: None };
            table.insert(&note).await.unwrap();
            let read = table.get(("o", 1)).await.unwrap().unwrap();
            let row = table.typed::<DynamicEntity>().query().first().await.unwrap().unwrap();
            let changed = read.changed.unwrap();
            assert_eq!(DateTime::try_from(changed).unwrap(), row.timestamp.unwrap());
            let plus_a_second: fn($type) -> $type = $plus_a_second;
            for (filter, count) in [
                (Note::CHANGED.ge(changed), 1),
                (Note::CHANGED.lt(plus_a_second(changed)), 1),
                (Note::CHANGED.gt(plus_a_second(changed)), 0),
            ] {
                let text = filter.to_string();
                assert_eq!(table.query().filter(filter).all().await.unwrap().len(), count, "{text}");
            }
            let projected = table.query().project::<Changed>().all().await.unwrap();
            assert_eq!(projected[0].at, Some(changed));
        }
    )*};
}
stamped! {
    timestamp_of_the_system: std::time::SystemTime, |time| time + std::time::Duration::from_secs(1);
    timestamp_of_chrono: chrono::DateTime<Utc>, |time| time + chrono::TimeDelta::seconds(1);
    timestamp_of_jiff: jiff::Timestamp, |time| time + std::time::Duration::from_secs(1);
    timestamp_of_time: time::OffsetDateTime, |time| time + std::time::Duration::from_secs(1);
}

/// Texts and order equal our own type's.
fn has_the_texts_of<T: ReadTableKey + PartialEq + std::fmt::Debug>(value: T, own: &str) -> Result<(), TestCaseError> {
    let mut text = String::new();
    value.write_key(&mut text).unwrap();
    prop_assert_eq!(&text, own);
    prop_assert_eq!(T::read_key(&text).unwrap(), value);
    Ok(())
}

proptest! {
    #[test]
    fn dates_have_the_text_of_our_own(ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks()) {
        let day = Day::from(DateTime::from_ticks(ticks).unwrap());
        has_the_texts_of(NaiveDate::from(day), &day.to_string())?;
        has_the_texts_of(jiff::civil::Date::from(day), &day.to_string())?;
        has_the_texts_of(time::Date::from(day), &day.to_string())?;
        let mut descending = String::new();
        Descending(day).write_key(&mut descending).unwrap();
        has_the_texts_of(Descending(NaiveDate::from(day)), &descending)?;
        has_the_texts_of(Descending(jiff::civil::Date::from(day)), &descending)?;
        has_the_texts_of(Descending(time::Date::from(day)), &descending)?;
    }
}
