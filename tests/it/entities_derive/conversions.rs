//! `with`, `json` and `chunked`: values that are stored in another form than their type's.

use std::collections::BTreeMap;

use azure_table::entity::WireValue;
use azure_table::{Edm, EdmType, EdmValue, ErrorKind, TableEntity, ValueError};

use super::{names, stored, table};

/// Durations as milliseconds.
mod millis {
    use std::time::Duration;

    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::Int64;

    pub(super) fn to_edm(value: &Duration) -> Result<Option<Edm<'_>>, ValueError> {
        let millis = i64::try_from(value.as_millis()).map_err(|_| ValueError::new("it is too long"))?;
        Ok(Some(Edm::Int64(millis)))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<Duration, ValueError> {
        let millis = u64::try_from(value.as_i64()?).map_err(|_| ValueError::new("it is negative"))?;
        Ok(Duration::from_millis(millis))
    }
}

/// Any type with a text, by generic functions.
mod shown {
    use std::fmt::Display;
    use std::str::FromStr;

    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::String;

    pub(super) fn to_edm<T: Display>(value: &T) -> Result<Option<Edm<'static>>, ValueError> {
        Ok(Some(Edm::String(value.to_string().into())))
    }

    pub(super) fn from_wire<T: FromStr>(value: WireValue<'_>) -> Result<T, ValueError> {
        value.as_str()?.parse().map_err(|_| ValueError::new("it is none"))
    }
}

/// Text, by a function that takes `&str`.
mod capitals {
    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::String;

    pub(super) fn to_edm(value: &str) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::String(value.to_uppercase().into())))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<String, ValueError> {
        Ok(value.as_str()?.to_lowercase())
    }
}

/// Two bytes, by a function that takes any number.
mod pair {
    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::Binary;

    pub(super) fn to_edm(value: &[u8]) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Binary(value.into())))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<[u8; 2], ValueError> {
        value.as_binary()?[..]
            .try_into()
            .map_err(|_| ValueError::new("it is not two bytes"))
    }
}

/// A type instead of a module.
struct Negated;

impl Negated {
    const EDM_TYPE: EdmType = EdmType::Boolean;

    fn to_edm(value: &bool) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Boolean(!value)))
    }

    fn from_wire(value: WireValue<'_>) -> Result<bool, ValueError> {
        value.as_bool().map(|value| !value)
    }
}

fn least<T: From<u8>>() -> T {
    T::from(1)
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Any<T: std::fmt::Display + std::str::FromStr> {
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
    #[table(default = "Default::default")]
    views: i64,
}

#[tokio::test]
async fn the_functions_of_a_module_are_called_as_any_function() {
    let table = table::<Any<f32>>().await;
    let any = Any {
        generic: 0.5,
        number: 7,
        text: "x".into(),
        capitals: "word".into(),
        pair: [1, 2],
        negated: true,
        views: 3,
    };
    table.insert(&any).await.unwrap();
    let mut row = stored(&table).await;
    assert_eq!(row.get("number"), Some(&"7".into()));
    assert_eq!(row.get("capitals"), Some(&"WORD".into()));
    assert_eq!(row.get("negated"), Some(&EdmValue::Boolean(false)));
    assert_eq!(table.get(()).await.unwrap(), Some(any.clone()));

    row.remove("number");
    row.remove("views");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    let read = table.get(()).await.unwrap();
    let expected = Any {
        number: 1,
        views: 0,
        ..any
    };
    assert_eq!(read, Some(expected));
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", rename_all = "PascalCase")]
struct Converted {
    #[table(with = "millis", alias = "Ms")]
    elapsed: std::time::Duration,
    #[table(with = millis, default)]
    pause: std::time::Duration,
    #[table(json)]
    tags: BTreeMap<String, Vec<i32>>,
    #[table(json)]
    maybe: Option<(i32, i32)>,
}

#[tokio::test]
async fn a_module_converts_and_json_is_text() {
    let table = table::<Converted>().await;
    let converted = Converted {
        elapsed: std::time::Duration::from_millis(1_500),
        pause: std::time::Duration::ZERO,
        tags: BTreeMap::from([("a'\"".to_owned(), vec![1, 2])]),
        maybe: None,
    };
    table.insert(&converted).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(names(&row), ["Elapsed", "Pause", "Tags"]);
    assert_eq!(row.get("Elapsed"), Some(&EdmValue::Int64(1_500)));
    assert_eq!(row.get("Tags"), Some(&"{\"a'\\\"\":[1,2]}".into()));
    assert_eq!(table.get(()).await.unwrap(), Some(converted.clone()));

    let schema = <Converted as TableEntity>::SCHEMA;
    let types: Vec<_> = schema.properties.iter().map(|p| p.edm_type).collect();
    assert_eq!(
        types,
        [EdmType::Int64, EdmType::Int64, EdmType::String, EdmType::String]
    );

    let converted = Converted {
        maybe: Some((1, 2)),
        ..converted
    };
    table.replace(&converted).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(converted.clone()));

    // The old name is read, the pause has a default, and the JSON of `None` is `null`.
    let mut row = stored(&table).await;
    let elapsed = row.remove("Elapsed").unwrap();
    row.insert("Ms", elapsed);
    row.remove("Pause");
    row.insert("Maybe", "null");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    let read = table.get(()).await.unwrap().unwrap();
    assert_eq!(
        read,
        Converted {
            maybe: None,
            ..converted
        }
    );
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

#[tokio::test]
async fn json_that_does_not_read_back_is_an_error_of_the_write() {
    let table = table::<Measured>().await;
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
    table.insert(&right).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(right));
}

/// A number, by a module for the option: `None` and 0 are absent.
mod positive {
    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(value: &Option<i32>) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(value.filter(|value| *value > 0).map(Edm::Int32))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<Option<i32>, ValueError> {
        value.as_i32().map(Some)
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct OfOption {
    #[table(with = "positive")]
    count: Option<i32>,
}

#[tokio::test]
async fn a_module_for_an_option_reads_an_absent_property_as_none() {
    let table = table::<OfOption>().await;
    table.insert(&OfOption { count: Some(1) }).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(OfOption { count: Some(1) }));
    table.replace(&OfOption { count: None }).await.unwrap();
    assert_eq!(stored(&table).await.properties.len(), 0);
    assert_eq!(table.get(()).await.unwrap(), Some(OfOption { count: None }));
}

/// Optional fields, by modules for the type inside.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Lifted {
    #[table(with = "millis")]
    pause: Option<std::time::Duration>,
    #[table(with = "millis", alias = "Was", default = "a_second")]
    limit: Option<std::time::Duration>,
    #[table(with = "capitals")]
    name: Option<String>,
    #[table(with = "pair")]
    pair: Option<[u8; 2]>,
    #[table(with = "Negated")]
    negated: Option<bool>,
}

fn a_second() -> Option<std::time::Duration> {
    Some(std::time::Duration::from_secs(1))
}

#[tokio::test]
async fn a_module_for_a_type_converts_an_option_of_it() {
    let table = table::<Lifted>().await;
    let some = Lifted {
        pause: Some(std::time::Duration::from_millis(5)),
        limit: Some(std::time::Duration::ZERO),
        name: Some("word".into()),
        pair: Some([1, 2]),
        negated: Some(true),
    };
    table.insert(&some).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(row.get("pause"), Some(&EdmValue::Int64(5)));
    assert_eq!(row.get("name"), Some(&"WORD".into()));
    assert_eq!(row.get("negated"), Some(&EdmValue::Boolean(false)));
    assert_eq!(table.get(()).await.unwrap(), Some(some));

    let none = Lifted {
        pause: None,
        limit: None,
        name: None,
        pair: None,
        negated: None,
    };
    table.replace(&none).await.unwrap();
    let mut row = stored(&table).await;
    assert_eq!(names(&row), Vec::<&str>::new(), "`None` is the absence of the property");
    let of_default = Lifted {
        limit: a_second(),
        ..none.clone()
    };
    assert_eq!(table.get(()).await.unwrap(), Some(of_default));

    row.insert("Was", 2_000_i64);
    table.typed().insert_or_replace(&row).await.unwrap();
    let of_older_name = Lifted {
        limit: Some(std::time::Duration::from_secs(2)),
        ..none
    };
    assert_eq!(table.get(()).await.unwrap(), Some(of_older_name));

    row.insert("pause", -1_i64);
    table.typed().insert_or_replace(&row).await.unwrap();
    let error = table.get(()).await.unwrap_err().to_string();
    assert!(error.contains("property `pause`: it is negative"), "{error}");
}

#[tokio::test]
async fn a_failed_conversion_names_the_property() {
    let table = table::<Converted>().await;
    let mut row = azure_table::DynamicEntity::new("p", "r");
    row.insert("Elapsed", -1_i64);
    row.insert("Tags", "{}");
    table.typed().insert(&row).await.unwrap();
    let message = |row: azure_table::DynamicEntity| {
        let table = &table;
        async move {
            table.typed().insert_or_replace(&row).await.unwrap();
            let error = table.get(()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse);
            error.to_string()
        }
    };
    let text = message(row.clone()).await;
    assert!(text.contains("property `Elapsed`: it is negative"), "{text}");
    row.remove("Elapsed");
    let text = message(row.clone()).await;
    assert!(text.contains("property `Elapsed`: it is missing"), "{text}");
    row.insert("Elapsed", 1_i64);
    row.insert("Tags", "[]");
    let text = message(row.clone()).await;
    assert!(text.contains("property `Tags`: its JSON does not fit"), "{text}");
    row.remove("Tags");
    let text = message(row).await;
    assert!(text.contains("property `Tags`: it is missing"), "{text}");

    let too_long = Converted {
        elapsed: std::time::Duration::MAX,
        pause: std::time::Duration::ZERO,
        tags: BTreeMap::new(),
        maybe: None,
    };
    let error = table.insert(&too_long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("property `Elapsed`: it is too long"),
        "{error}"
    );
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

#[tokio::test]
async fn a_long_value_is_stored_in_pieces() {
    let table = table::<Long>().await;
    let text: String = ('a'..='z').chain(['ü', '漢', '😀']).cycle().take(70_000).collect();
    let long = Long {
        text,
        bytes: Some((0..=255).cycle().take(140_000).collect()),
        other: 1,
    };
    table.insert(&long).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(
        names(&row),
        [
            "Text",
            "Text_1",
            "Text_2",
            "Text_chunks",
            "bytes",
            "bytes_1",
            "bytes_2",
            "bytes_chunks",
            "other"
        ]
    );
    assert_eq!(table.get(()).await.unwrap(), Some(long));
}

/// The size of a piece is part of the stored form. Earlier versions wrote pieces of the service's limits.
#[tokio::test]
async fn pieces_of_earlier_versions_are_read() {
    let table = table::<Long>().await;
    let long = Long {
        text: "x".repeat(70_000),
        bytes: Some(vec![7; 140_000]),
        other: 1,
    };
    table.insert(&long).await.unwrap();
    let row = stored(&table).await;
    for index in ["", "_1"] {
        assert_eq!(row.get(&format!("Text{index}")), Some(&"x".repeat(32_000).into()));
        assert_eq!(row.get(&format!("bytes{index}")), Some(&vec![7_u8; 64_000].into()));
    }
    let mut old = row;
    for (index, start) in ["", "_1", "_2"].into_iter().zip(0..) {
        let text = &long.text[start * 32_768..long.text.len().min((start + 1) * 32_768)];
        old.insert(format!("Text{index}"), text);
        let bytes = long.bytes.as_ref().and_then(|bytes| bytes.chunks(65_536).nth(start));
        old.insert(format!("bytes{index}"), bytes.unwrap().to_vec());
    }
    table.typed().insert_or_replace(&old).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(long));
}

#[tokio::test]
async fn pieces_that_a_shorter_merge_left_are_not_read() {
    let table = table::<Long>().await;
    let long = Long {
        text: "x".repeat(70_000),
        bytes: None,
        other: 1,
    };
    table.insert(&long).await.unwrap();
    let short = Long {
        text: "short".into(),
        ..long
    };
    table.merge(&short).await.unwrap();
    // The service still stores them.
    assert!(stored(&table).await.get("Text_2").is_some());
    assert_eq!(table.get(()).await.unwrap(), Some(short.clone()));
    table.replace(&short).await.unwrap();
    assert_eq!(names(&stored(&table).await), ["Text", "Text_chunks", "other"]);
}

#[tokio::test]
async fn a_value_from_before_it_was_chunked_is_its_only_piece() {
    let table = table::<Long>().await;
    let mut row = azure_table::DynamicEntity::new("p", "r");
    row.insert("Body", "old");
    row.insert("other", 1);
    table.typed().insert(&row).await.unwrap();
    assert_eq!(
        table.get(()).await.unwrap(),
        Some(Long {
            text: "old".into(),
            bytes: None,
            other: 1
        })
    );
    row.insert("Text", "new");
    table.typed().insert_or_replace(&row).await.unwrap();
    assert_eq!(table.get(()).await.unwrap().unwrap().text, "new");
    row.remove("Text");
    row.remove("Body");
    table.typed().insert_or_replace(&row).await.unwrap();
    let text = table.get(()).await.unwrap_err().to_string();
    assert!(text.contains("property `Text`: it is missing"), "{text}");
}
