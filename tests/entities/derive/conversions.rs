//! `with`, `json` and `chunked`: values that are stored in another form than their type's.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use azure_table::entity::WireValue;
use azure_table::{Edm, EdmType, EdmValue, ErrorKind, Result, TableClient, TableEntity, ValueError};

use super::{assert_unreadable, names, row, store, stored};

type Converted<T> = std::result::Result<T, ValueError>;

/// Durations as milliseconds.
mod millis {
    use super::*;

    pub(super) const EDM_TYPE: EdmType = EdmType::Int64;

    pub(super) fn to_edm(value: &Duration) -> Converted<Option<Edm<'_>>> {
        let millis = i64::try_from(value.as_millis()).map_err(|_| ValueError::new("it is too long"))?;
        Ok(Some(Edm::Int64(millis)))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Converted<Duration> {
        let millis = u64::try_from(value.as_i64()?).map_err(|_| ValueError::new("it is negative"))?;
        Ok(Duration::from_millis(millis))
    }
}

/// Any type with a text, by generic functions.
mod shown {
    use super::*;

    pub(super) const EDM_TYPE: EdmType = EdmType::String;

    pub(super) fn to_edm<T: Display>(value: &T) -> Converted<Option<Edm<'static>>> {
        Ok(Some(Edm::String(value.to_string().into())))
    }

    pub(super) fn from_wire<T: FromStr>(value: WireValue<'_>) -> Converted<T> {
        value.as_str()?.parse().map_err(|_| ValueError::new("it is none"))
    }
}

/// Text, by a function that takes `&str`.
mod capitals {
    use super::*;

    pub(super) const EDM_TYPE: EdmType = EdmType::String;

    pub(super) fn to_edm(value: &str) -> Converted<Option<Edm<'_>>> {
        Ok(Some(Edm::String(value.to_uppercase().into())))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Converted<String> {
        Ok(value.as_str()?.to_lowercase())
    }
}

/// Two bytes, by a function that takes any number.
mod pair {
    use super::*;

    pub(super) const EDM_TYPE: EdmType = EdmType::Binary;

    pub(super) fn to_edm(value: &[u8]) -> Converted<Option<Edm<'_>>> {
        Ok(Some(Edm::Binary(value.into())))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Converted<[u8; 2]> {
        let bytes = value.as_binary()?[..].try_into();
        bytes.map_err(|_| ValueError::new("it is not two bytes"))
    }
}

/// A number, by a module for the option: `None` and 0 are absent.
mod positive {
    use super::*;

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(value: &Option<i32>) -> Converted<Option<Edm<'_>>> {
        Ok(value.filter(|value| *value > 0).map(Edm::Int32))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Converted<Option<i32>> {
        value.as_i32().map(Some)
    }
}

/// A type instead of a module.
struct Negated;

impl Negated {
    const EDM_TYPE: EdmType = EdmType::Boolean;

    fn to_edm(value: &bool) -> Converted<Option<Edm<'_>>> {
        Ok(Some(Edm::Boolean(!value)))
    }

    fn from_wire(value: WireValue<'_>) -> Converted<bool> {
        value.as_bool().map(|value| !value)
    }
}

fn least<T: From<u8>>() -> T {
    T::from(1)
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Any<T: Display + FromStr> {
    #[table(with = "shown")]
    generic: T,
    #[table(with = "self::shown", default = "least")]
    number: u16,
    #[table(with = "super::conversions::shown")]
    text: String,
    #[table(with = "capitals")]
    capitals: String,
    #[table(with = "pair")]
    pair: [u8; 2],
    #[table(with = "Negated")]
    negated: bool,
    #[table(with = "positive")]
    positive: Option<i32>,
    #[table(default = "Default::default")]
    views: i64,
}

#[azure_table::test]
async fn the_functions_of_a_module_are_called_as_any_function(table: TableClient<Any<f32>>) -> Result<()> {
    let mut any = Any {
        generic: 0.5,
        number: 7,
        text: "x".into(),
        capitals: "word".into(),
        pair: [1, 2],
        negated: true,
        positive: Some(1),
        views: 3,
    };
    table.insert(&any).await?;
    let mut row = stored(&table).await;
    assert_eq!(row.get("number"), Some(&"7".into()));
    assert_eq!(row.get("capitals"), Some(&"WORD".into()));
    assert_eq!(row.get("negated"), Some(&EdmValue::Boolean(false)));
    assert_eq!(table.get(()).await?, Some(any.clone()));

    // A module for an option reads an absent property as `None`.
    for name in ["number", "views", "positive"] {
        row.remove(name);
    }
    store(&table, &row).await?;
    (any.number, any.views, any.positive) = (1, 0, None);
    assert_eq!(table.get(()).await?, Some(any.clone()));
    table.replace(&any).await?;
    assert_eq!(stored(&table).await.get("positive"), None);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", rename_all = "PascalCase")]
struct Timed {
    #[table(with = "millis", alias = "Ms")]
    elapsed: Duration,
    #[table(with = millis, default)]
    pause: Duration,
    #[table(json)]
    tags: BTreeMap<String, Vec<i32>>,
    #[table(json)]
    maybe: Option<(i32, i32)>,
}

#[azure_table::test]
async fn a_module_converts_and_json_is_text(table: TableClient<Timed>) -> Result<()> {
    let mut timed = Timed {
        elapsed: Duration::from_millis(1_500),
        pause: Duration::ZERO,
        tags: BTreeMap::from([("a'\"".to_owned(), vec![1, 2])]),
        maybe: None,
    };
    table.insert(&timed).await?;
    let row = stored(&table).await;
    assert_eq!(names(&row), ["Elapsed", "Pause", "Tags"]);
    assert_eq!(row.get("Elapsed"), Some(&EdmValue::Int64(1_500)));
    assert_eq!(row.get("Tags"), Some(&"{\"a'\\\"\":[1,2]}".into()));
    assert_eq!(table.get(()).await?, Some(timed.clone()));

    let types = Timed::SCHEMA.properties.iter().map(|p| p.edm_type);
    let (number, text) = (EdmType::Int64, EdmType::String);
    assert_eq!(types.collect::<Vec<_>>(), [number, number, text, text]);

    timed.maybe = Some((1, 2));
    table.replace(&timed).await?;
    assert_eq!(table.get(()).await?, Some(timed.clone()));

    // The old name is read, the pause has a default, and the JSON of `None` is `null`.
    let mut row = stored(&table).await;
    let elapsed = row.remove("Elapsed").unwrap();
    row.insert("Ms", elapsed);
    row.remove("Pause");
    row.insert("Maybe", "null");
    store(&table, &row).await?;
    timed.maybe = None;
    assert_eq!(table.get(()).await?, Some(timed));
    Ok(())
}

#[azure_table::test]
async fn a_failed_conversion_names_the_property(table: TableClient<Timed>) -> Result<()> {
    let (elapsed, tags) = (("Elapsed", 1_i64.into()), ("Tags", "{}".into()));
    for (wrong, why) in [
        (
            row(("p", "r"), [("Elapsed", (-1_i64).into()), tags.clone()]),
            "`Elapsed`: it is negative",
        ),
        (row(("p", "r"), [tags]), "`Elapsed`: it is missing"),
        (
            row(("p", "r"), [elapsed.clone(), ("Tags", "[]".into())]),
            "`Tags`: its JSON does not fit",
        ),
        (row(("p", "r"), [elapsed]), "`Tags`: it is missing"),
    ] {
        assert_unreadable(&table, &wrong, &format!("property {why}")).await;
    }
    let too_long = Timed {
        elapsed: Duration::MAX,
        pause: Duration::ZERO,
        tags: BTreeMap::new(),
        maybe: None,
    };
    let error = table.insert(&too_long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("property `Elapsed`: it is too long"),
        "{error}"
    );
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Measured {
    #[table(json)]
    levels: Vec<f64>,
    #[table(json)]
    mean: f64,
    #[table(json)]
    peaks: Option<Vec<Option<f64>>>,
}

#[azure_table::test]
async fn json_that_does_not_read_back_is_an_error_of_the_write(table: TableClient<Measured>) -> Result<()> {
    let measured = |levels: &[f64], mean| Measured {
        levels: levels.to_vec(),
        mean,
        peaks: Some(vec![None, Some(1.5)]),
    };
    for (wrong, property) in [
        (measured(&[1.0, f64::NAN], 1.0), "property `levels`: "),
        (measured(&[], f64::INFINITY), "property `mean`: "),
    ] {
        let error = table.insert(&wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let why = "its JSON could not be read back: invalid type: null, expected f64";
        assert!(error.to_string().contains(&format!("{property}{why}")), "{error}");
    }
    let right = measured(&[1.0, f64::MAX], -0.5);
    table.insert(&right).await?;
    assert_eq!(table.get(()).await?, Some(right));
    Ok(())
}

/// Optional fields, by modules for the type inside.
#[derive(TableEntity, Clone, Debug, Default, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Lifted {
    #[table(with = "millis")]
    pause: Option<Duration>,
    #[table(with = "millis", alias = "Was", default = "a_second")]
    limit: Option<Duration>,
    #[table(with = "capitals")]
    name: Option<String>,
    #[table(with = "pair")]
    pair: Option<[u8; 2]>,
    #[table(with = "Negated")]
    negated: Option<bool>,
}

fn a_second() -> Option<Duration> {
    Some(Duration::from_secs(1))
}

#[azure_table::test]
async fn a_module_for_a_type_converts_an_option_of_it(table: TableClient<Lifted>) -> Result<()> {
    let some = Lifted {
        pause: Some(Duration::from_millis(5)),
        limit: Some(Duration::ZERO),
        name: Some("word".into()),
        pair: Some([1, 2]),
        negated: Some(true),
    };
    table.insert(&some).await?;
    let row = stored(&table).await;
    assert_eq!(row.get("pause"), Some(&EdmValue::Int64(5)));
    assert_eq!(row.get("name"), Some(&"WORD".into()));
    assert_eq!(row.get("negated"), Some(&EdmValue::Boolean(false)));
    assert_eq!(table.get(()).await?, Some(some));

    table.replace(&Lifted::default()).await?;
    let mut row = stored(&table).await;
    assert_eq!(names(&row), [""; 0], "`None` is the absence of the property");
    let with_limit = |limit| Lifted {
        limit,
        ..Lifted::default()
    };
    assert_eq!(table.get(()).await?, Some(with_limit(a_second())));

    row.insert("Was", 2_000_i64);
    store(&table, &row).await?;
    assert_eq!(table.get(()).await?, Some(with_limit(Some(Duration::from_secs(2)))));

    row.insert("pause", -1_i64);
    assert_unreadable(&table, &row, "property `pause`: it is negative").await;
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Long {
    #[table(chunked, rename = "Text", alias = "Body")]
    text: String,
    #[table(chunked)]
    bytes: Option<Vec<u8>>,
    other: i32,
}

impl Long {
    fn new(text: impl Into<String>, bytes: Option<Vec<u8>>) -> Self {
        let text = text.into();
        Self { text, bytes, other: 1 }
    }
}

#[azure_table::test]
async fn a_long_value_is_stored_in_pieces(table: TableClient<Long>) -> Result<()> {
    let text: String = ('a'..='z').chain(['ü', '漢', '😀']).cycle().take(70_000).collect();
    let long = Long::new(text, Some((0..=255).cycle().take(140_000).collect()));
    table.insert(&long).await?;
    let pieces = "Text Text_1 Text_2 Text_3 bytes bytes_1 bytes_2 bytes_3 other";
    assert_eq!(names(&stored(&table).await).join(" "), pieces);
    assert_eq!(table.get(()).await?, Some(long));

    // A character of two units does not fit the end of a piece.
    let long = Long::new(format!("x{}", "😀".repeat(20_000)), None);
    table.replace(&long).await?;
    assert_eq!(table.get(()).await?, Some(long));
    Ok(())
}

/// A writer may choose any size of pieces, up to the service's limits.
#[azure_table::test]
async fn pieces_of_any_size_are_read(table: TableClient<Long>) -> Result<()> {
    let long = Long::new("x".repeat(70_000), Some(vec![7; 140_000]));
    table.insert(&long).await?;
    let mut row = stored(&table).await;
    for index in ["_1", "_2"] {
        assert_eq!(row.get(&format!("Text{index}")), Some(&"x".repeat(32_000).into()));
        assert_eq!(row.get(&format!("bytes{index}")), Some(&vec![7_u8; 64_000].into()));
    }
    for (index, start) in ["_1", "_2", "_3"].into_iter().zip(0..) {
        let text = &long.text[start * 32_768..long.text.len().min((start + 1) * 32_768)];
        row.insert(format!("Text{index}"), text);
        let bytes = long.bytes.as_ref().and_then(|bytes| bytes.chunks(65_536).nth(start));
        row.insert(format!("bytes{index}"), bytes.unwrap().to_vec());
    }
    store(&table, &row).await?;
    assert_eq!(table.get(()).await?, Some(long));
    Ok(())
}

#[azure_table::test]
async fn pieces_that_a_shorter_merge_left_are_not_read(table: TableClient<Long>) -> Result<()> {
    table.insert(&Long::new("x".repeat(70_000), None)).await?;
    let short = Long::new("short", None);
    table.merge(&short).await?;
    // The service still stores them.
    assert!(stored(&table).await.get("Text_2").is_some());
    assert_eq!(table.get(()).await?, Some(short.clone()));
    table.replace(&short).await?;
    assert_eq!(names(&stored(&table).await), ["Text", "other"]);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", rename_all = "PascalCase")]
struct Plain {
    text: String,
}

/// A release before `chunked` reads and writes rows of later ones.
#[azure_table::test]
async fn program_that_knows_no_pieces_reads_no_part_of_a_text(table: TableClient<Long>) -> Result<()> {
    let long = Long::new("x".repeat(32_001), None);
    table.insert(&long).await?;
    let plain = table.typed::<Plain>();
    assert_unreadable(&plain, &stored(&table).await, "property `Text`").await;

    // Its text is the whole value, whatever pieces are beside it. Digits are no number of pieces.
    for text in ["short", "12"] {
        plain.merge(&Plain { text: text.into() }).await?;
        assert_eq!(table.get(()).await?, Some(Long::new(text, None)));
    }
    table.merge(&long).await?;
    assert_eq!(table.get(()).await?, Some(long.clone()));

    let mut row = stored(&table).await;
    row.remove("Text_2");
    assert_unreadable(&table, &row, "property `Text`: its piece `Text_2` is missing").await;
    row.insert("Text", 1);
    assert_unreadable(&table, &row, "property `Text`: 1 is not the number of its pieces").await;
    Ok(())
}

#[azure_table::test]
async fn a_value_from_before_it_was_chunked_is_its_only_piece(table: TableClient<Long>) -> Result<()> {
    let mut row = row(("p", "r"), [("Body", "old".into()), ("other", 1.into())]);
    store(&table, &row).await?;
    assert_eq!(table.get(()).await?, Some(Long::new("old", None)));
    row.insert("Text", "new");
    store(&table, &row).await?;
    assert_eq!(table.get(()).await?.unwrap().text, "new");
    row.remove("Text");
    row.remove("Body");
    assert_unreadable(&table, &row, "property `Text`: it is missing").await;
    Ok(())
}
