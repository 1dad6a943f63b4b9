//! The types of properties that `#[derive(TableProperty)]` supports, and defaults.

use std::sync::Arc;

use azure_table::key::ReadTableKey;
use azure_table::{
    DynamicEntity, EdmType, EdmValue, Property, Result, TableClient, TableEntity, TableKey, TableProperty,
};

use super::{assert_unreadable, store, stored};

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

#[azure_table::test]
async fn enums_and_newtypes_are_stored_by_name_number_and_inner_value(table: TableClient<Reading>) -> Result<()> {
    let reading = reading();
    table.insert(&reading).await?;
    let row = stored(&table).await;
    let of = |name: &str| row.get(name).cloned();
    assert_eq!(of("mood"), Some("meh".into()));
    assert_eq!(of("maybe"), None);
    assert_eq!(of("color"), Some("blue".into()));
    assert_eq!(of("level"), Some(EdmValue::Int32(11)));
    assert_eq!(of("code"), Some(EdmValue::Int32(8)));
    assert_eq!(of("degrees"), Some(EdmValue::Double(36.6)));
    assert_eq!(of("note"), None);
    assert_eq!(table.get((1,)).await?, Some(reading.clone()));

    let hot = Reading::DEGREES.gt(Celsius(36.0)) & Reading::MOOD.eq(Mood::SoSo) & Reading::LEVEL.ge(Level::High);
    assert_eq!(table.query().filter(hot).all().await?, [reading]);
    let other = Reading::COLOR.eq(Color::Green) | Reading::CODE.ne(Code::Other(8));
    assert_eq!(table.query().filter(other).all().await?, []);
    Ok(())
}

#[azure_table::test]
async fn every_variant_is_read_as_written(table: TableClient<Reading>) -> Result<()> {
    let colors = [Color::Red, Color::Green, Color::Other("violet".into())];
    let levels = [Level::Low, Level::Middle, Level::High, Level::Highest];
    use Code::{Eight, Other, Seven, Two, Zero};
    for (n, code) in [Zero, Two, Seven, Eight, Other(1), Other(-5)].into_iter().enumerate() {
        let reading = Reading {
            n: n as u32,
            color: colors[n % 3].clone(),
            level: levels[n % 4],
            code,
            maybe: Some(Mood::VeryHappy),
            ..reading()
        };
        table.insert(&reading).await?;
        assert_eq!(table.get((n as u32,)).await?, Some(reading));
    }
    let number = |code: Code| code.to_edm().unwrap().unwrap().into_owned();
    assert_eq!(
        [Zero, Two, Seven, Eight, Other(1)].map(number),
        [0, 2, 7, 8, 1].map(EdmValue::Int32)
    );
    assert_eq!(Level::EDM_TYPE, EdmType::Int32);
    Ok(())
}

#[azure_table::test]
async fn an_unknown_value_is_an_error_that_lists_the_known_ones(table: TableClient<Reading>) -> Result<()> {
    table.insert(&reading()).await?;
    let mut row = stored(&table).await;
    for alias in ["soSo", "ok"] {
        row.insert("mood", alias);
        store(&table, &row).await?;
        assert_eq!(table.get((1,)).await?.unwrap().mood, Mood::SoSo);
    }
    row.insert("mood", "sad");
    let why = "property `mood`: expected \"veryHappy\" or \"meh\", found \"sad\"";
    assert_unreadable(&table, &row, why).await;
    row.insert("mood", "meh");
    row.insert("level", 5);
    let why = "property `level`: expected -1, 0, 10 or 11, found 5";
    assert_unreadable(&table, &row, why).await;
    Ok(())
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

#[azure_table::test]
async fn derived_properties_can_be_keys(table: TableClient<Place>) -> Result<()> {
    let place = Place {
        partition: Region::North,
        region: Region::South,
        number: Number(7),
        home: Region::South,
    };
    table.insert(&place).await?;
    let row = stored(&table).await;
    assert_eq!((&*row.partition_key, &*row.row_key), ("north", "0007-south"));
    let key = (Region::North, Number(7), Region::South);
    assert_eq!(table.get(key).await?, Some(place.clone()));
    let query = table.query().partition(Region::North);
    let found = query.filter(Place::PARTITION.eq(Region::North)).all().await?;
    assert_eq!(found, [place]);
    assert_eq!(Number::DIGITS, u32::DIGITS);
    assert_eq!(Region::read_key("south"), Ok(Region::South));
    let error = Region::read_key("South").unwrap_err().to_string();
    assert!(error.contains("\"north\" or \"south\""), "{error}");
    Ok(())
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

#[azure_table::test]
async fn missing_property_is_read_as_its_default(table: TableClient<Defaults>) -> Result<()> {
    table.typed().insert(&DynamicEntity::new("p", "")).await?;
    let expected = Defaults {
        zero: 0,
        five: 5,
        text: Some("unknown".into()),
        long: String::new(),
        list: Vec::new(),
    };
    assert_eq!(table.get(()).await?, Some(expected));
    let other = Defaults {
        zero: 1,
        five: 2,
        text: Some("x".into()),
        long: "y".into(),
        list: vec![1],
    };
    table.insert_or_replace(&other).await?;
    assert_eq!(table.get(()).await?, Some(other));
    Ok(())
}
