//! The types of properties that `#[derive(TableProperty)]` supports, and defaults.

use std::sync::Arc;

use azure_table::key::ReadTableKey;
use azure_table::{EdmType, EdmValue, ErrorKind, Property, TableEntity, TableKey, TableProperty};

use super::{stored, table};

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(rename_all = "camelCase")]
enum Mood {
    VeryHappy,
    #[table(rename = "meh", alias = "soSo", alias = "ok")]
    SoSo,
}

#[derive(TableProperty, Clone, Debug, PartialEq)]
enum Color {
    Red,
    Green,
    #[table(other)]
    Other(Arc<str>),
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(integer)]
enum Level {
    Low = -1,
    Middle,
    High = 10,
    Highest,
}

const FIRST: i32 = 7;

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(integer)]
#[repr(i32)]
enum Code {
    Zero,
    #[table(other)]
    Other(i32),
    Two,
    Seven = FIRST,
    Eight,
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Celsius(f64);

#[derive(TableProperty, Clone, Debug, PartialEq)]
struct Note {
    text: Option<String>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "{n}")]
struct Reading {
    n: u32,
    mood: Mood,
    maybe: Option<Mood>,
    color: Color,
    level: Level,
    code: Code,
    degrees: Celsius,
    note: Note,
}

fn reading() -> Reading {
    Reading {
        n: 1,
        mood: Mood::SoSo,
        maybe: None,
        color: Color::Other("blue".into()),
        level: Level::Highest,
        code: Code::Eight,
        degrees: Celsius(36.6),
        note: Note { text: None },
    }
}

#[tokio::test]
async fn enums_and_newtypes_are_stored_by_name_number_and_inner_value() {
    let table = table::<Reading>().await;
    let reading = reading();
    table.insert(&reading).await.unwrap();
    let row = stored(&table).await;
    let of = |name: &str| row.get(name).cloned();
    assert_eq!(of("mood"), Some("meh".into()));
    assert_eq!(of("maybe"), None);
    assert_eq!(of("color"), Some("blue".into()));
    assert_eq!(of("level"), Some(EdmValue::Int32(11)));
    assert_eq!(of("code"), Some(EdmValue::Int32(8)));
    assert_eq!(of("degrees"), Some(EdmValue::Double(36.6)));
    assert_eq!(of("note"), None);
    assert_eq!(table.get((1,)).await.unwrap(), Some(reading.clone()));

    let hot = Reading::DEGREES.gt(Celsius(36.0)) & Reading::MOOD.eq(Mood::SoSo) & Reading::LEVEL.ge(Level::High);
    assert_eq!(table.query().filter(hot).all().await.unwrap(), [reading]);
    let other = Reading::COLOR.eq(Color::Green) | Reading::CODE.ne(Code::Other(8));
    assert_eq!(table.query().filter(other).all().await.unwrap(), []);
}

#[tokio::test]
async fn every_variant_is_read_as_written() {
    let table = table::<Reading>().await;
    let colors = [Color::Red, Color::Green, Color::Other("violet".into())];
    let levels = [Level::Low, Level::Middle, Level::High, Level::Highest];
    let codes = [
        Code::Zero,
        Code::Two,
        Code::Seven,
        Code::Eight,
        Code::Other(1),
        Code::Other(-5),
    ];
    let mut n = 0;
    for color in &colors {
        for level in levels {
            for code in codes {
                n += 1;
                let reading = Reading {
                    n,
                    color: color.clone(),
                    level,
                    code,
                    maybe: Some(Mood::VeryHappy),
                    ..reading()
                };
                table.insert(&reading).await.unwrap();
                assert_eq!(table.get((n,)).await.unwrap(), Some(reading));
            }
        }
    }
    let numbers: Vec<_> = [Code::Zero, Code::Two, Code::Seven, Code::Eight, Code::Other(1)]
        .iter()
        .map(|code| code.to_edm().unwrap().unwrap().into_owned())
        .collect();
    assert_eq!(numbers, [0, 2, 7, 8, 1].map(EdmValue::Int32));
    assert_eq!(Level::EDM_TYPE, EdmType::Int32);
}

#[tokio::test]
async fn an_unknown_value_without_a_catch_all_is_an_error_that_lists_the_known_ones() {
    let table = table::<Reading>().await;
    table.insert(&reading()).await.unwrap();
    let mut row = stored(&table).await;
    for alias in ["soSo", "ok"] {
        row.insert("mood", alias);
        row.etag = Some(table.typed().replace(&row).await.unwrap());
        assert_eq!(table.get((1,)).await.unwrap().unwrap().mood, Mood::SoSo);
    }
    row.insert("mood", "sad");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    let error = table.get((1,)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    let text = error.to_string();
    assert!(
        text.contains("property `mood`: expected \"veryHappy\" or \"meh\", found \"sad\""),
        "{text}"
    );

    row.insert("mood", "meh");
    row.insert("level", 5);
    table.typed().replace(&row).await.unwrap();
    let text = table.get((1,)).await.unwrap_err().to_string();
    assert!(
        text.contains("property `level`: expected -1, 0, 10 or 11, found 5"),
        "{text}"
    );
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(key, rename_all = "lowercase")]
enum Region {
    North,
    South,
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(key)]
struct Number(u32);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{number:04}-{region}")]
struct Place {
    #[table(partition_key)]
    partition: Region,
    region: Region,
    number: Number,
    home: Region,
}

#[tokio::test]
async fn derived_properties_can_be_keys() {
    let table = table::<Place>().await;
    let place = Place {
        partition: Region::North,
        region: Region::South,
        number: Number(7),
        home: Region::South,
    };
    table.insert(&place).await.unwrap();
    let row = stored(&table).await;
    assert_eq!((&*row.partition_key, &*row.row_key), ("north", "0007-south"));
    assert_eq!(
        table.get((Region::North, Number(7), Region::South)).await.unwrap(),
        Some(place.clone())
    );
    let found = table
        .query()
        .partition(Region::North)
        .filter(Place::PARTITION.eq(Region::North))
        .all()
        .await
        .unwrap();
    assert_eq!(found, [place]);
    assert_eq!(Number::DIGITS, u32::DIGITS);
    assert_eq!(Region::read_key("south"), Ok(Region::South));
    assert!(
        Region::read_key("South")
            .unwrap_err()
            .to_string()
            .contains("\"north\" or \"south\"")
    );
}

fn five() -> i32 {
    5
}

mod texts {
    pub(super) fn unknown() -> Option<String> {
        Some("unknown".into())
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "")]
struct Defaults {
    #[table(default)]
    zero: i32,
    #[table(default = "five")]
    five: i32,
    #[table(default = texts::unknown)]
    text: Option<String>,
    #[table(default, chunked)]
    long: String,
    #[table(default = "Vec::new", json)]
    list: Vec<u8>,
}

#[tokio::test]
async fn missing_property_is_read_as_its_default() {
    let table = table::<Defaults>().await;
    let row = azure_table::DynamicEntity::new("p", "");
    table.typed().insert(&row).await.unwrap();
    let defaults = table.get(()).await.unwrap().unwrap();
    let expected = Defaults {
        zero: 0,
        five: 5,
        text: Some("unknown".into()),
        long: String::new(),
        list: Vec::new(),
    };
    assert_eq!(defaults, expected);
    let other = Defaults {
        zero: 1,
        five: 2,
        text: Some("x".into()),
        long: "y".into(),
        list: vec![1],
    };
    table.insert_or_replace(&other).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(other));
}
