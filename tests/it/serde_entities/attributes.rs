//! The attributes of serde on a stored struct.

use std::collections::{BTreeMap, HashMap};

use azure_table::entity::SerdeEntity;
use azure_table::{DateTime, DynamicEntity, ETag, EdmValue};
use azure_table_tests::key_order::fresh_table;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{One, one};

/// The value as it is stored, in the plain form.
fn stored<T: Serialize>(value: &T) -> DynamicEntity {
    DynamicEntity::from_entity(&SerdeEntity::new(value)).unwrap()
}

fn read<T: DeserializeOwned>(row: &DynamicEntity) -> T {
    row.to_entity::<SerdeEntity<T>>().unwrap().into_inner()
}

fn read_error<T: DeserializeOwned>(row: &DynamicEntity) -> String {
    row.to_entity::<SerdeEntity<T>>().err().unwrap().to_string()
}

fn write_error<T: Serialize>(value: T) -> String {
    let error = DynamicEntity::from_entity(&SerdeEntity::new(value));
    error.unwrap_err().to_string()
}

/// A row with the keys `pk` and `rk`.
fn row<const N: usize>(properties: [(&str, EdmValue); N]) -> DynamicEntity {
    let mut row = DynamicEntity::new("pk", "rk");
    for (name, value) in properties {
        row.insert(name, value);
    }
    row
}

#[test]
fn strict_struct_reads_its_own_rows_and_rejects_other_properties() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "PascalCase")]
    struct Strict {
        partition_key: String,
        row_key: String,
        size: i32,
    }
    let mut row = row([("Size", 5.into())]);
    // The service's own members are not unknown fields.
    row.timestamp = Some(DateTime::from_unix_seconds(0));
    row.etag = Some(ETag::new("W/\"1\""));
    let strict: Strict = read(&row);
    assert_eq!(strict.size, 5);
    row.insert("Colour", "red");
    let error = read_error::<Strict>(&row);
    assert!(error.contains("unknown field `Colour`"), "{error}");
}

#[test]
fn flattened_fields_are_properties_of_the_entity() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Keys {
        #[serde(rename = "PartitionKey")]
        group: String,
        #[serde(rename = "RowKey")]
        id: String,
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Person {
        #[serde(flatten)]
        keys: Keys,
        age: i64,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }
    let [group, id] = ["pk", "rk"].map(String::from);
    let person = Person {
        keys: Keys { group, id },
        age: 7,
        rest: BTreeMap::from([("city".into(), "Oslo".into()), ("floor".into(), json!(3))]),
    };
    let mut row = stored(&person);
    assert_eq!((row.partition_key.as_str(), row.row_key.as_str()), ("pk", "rk"));
    assert_eq!(row.properties.keys().collect::<Vec<_>>(), ["age", "city", "floor"]);
    assert_eq!(read::<Person>(&row), person);

    // Other types are read by their EDM type. Timestamp and ETag are read, too, and not sent back.
    row.timestamp = Some(DateTime::from_unix_seconds(0));
    row.etag = Some(ETag::new("W/\"1\""));
    row.insert("age", 7_i64);
    row.insert("floor", 3_i64);
    row.insert("large", i64::MAX);
    row.insert("ratio", 5.0);
    let again: Person = read(&row);
    assert_eq!(again.age, 7);
    assert_eq!(again.rest["Timestamp"], "1970-01-01T00:00:00Z");
    assert_eq!(again.rest["odata.etag"], "W/\"1\"");
    assert_eq!(
        [&again.rest["large"], &again.rest["ratio"]],
        [&json!(i64::MAX), &json!(5.0)]
    );
    let written = DynamicEntity::from_entity(&SerdeEntity::new(again).annotated()).unwrap();
    assert_eq!(written.properties, row.properties);
}

#[test]
fn tagged_and_untagged_enums_are_distinguished_by_their_properties() {
    type Deposit = One<i64>;
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Fee {
        #[serde(rename = "PartitionKey")]
        account: String,
        #[serde(rename = "RowKey")]
        id: String,
        reason: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "Kind", rename_all = "lowercase")]
    enum Tagged {
        Deposit(Deposit),
        Fee(Fee),
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Deposit(Deposit),
        Fee(Fee),
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Nested {
        Fee(Fee),
    }
    let fee = || {
        let [account, id, reason] = ["pk", "rk", "late"].map(String::from);
        Fee { account, id, reason }
    };
    let row = stored(&Tagged::Fee(fee()));
    assert_eq!(row.get("Kind"), Some(&"fee".into()));
    assert_eq!(read::<Tagged>(&row), Tagged::Fee(fee()));
    let large = Tagged::Deposit(one(i64::MAX));
    let row = DynamicEntity::from_entity(&SerdeEntity::new(&large).annotated()).unwrap();
    assert_eq!(read::<Tagged>(&row), large);
    for value in [Untagged::Deposit(one(5)), Untagged::Fee(fee())] {
        assert_eq!(read::<Untagged>(&stored(&value)), value);
    }
    for (error, what) in [
        (write_error(Nested::Fee(fee())), "variant `Fee`"),
        (read_error::<Nested>(&row), "enum `Nested`"),
    ] {
        assert!(
            error.contains(what) && error.contains("#[serde(tag = \"Kind\")]"),
            "{error}"
        );
    }
}

#[test]
fn defaults_aliases_newtypes_and_options_are_read() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Title(String);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(transparent)]
    struct Id {
        text: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Film {
        #[serde(rename = "PartitionKey")]
        genre: Id,
        #[serde(rename = "RowKey")]
        id: Option<String>,
        title: Title,
        #[serde(alias = "stars")]
        rating: Option<i32>,
        #[serde(default)]
        seen: bool,
        #[serde(skip)]
        cached: Option<String>,
        boxed: Option<Box<str>>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer(Film);
    let expected = Outer(Film {
        genre: Id { text: "pk".into() },
        id: Some("rk".into()),
        title: Title("M".into()),
        rating: Some(5),
        seen: false,
        cached: None,
        boxed: None,
    });
    let film: Outer = read(&row([("title", "M".into()), ("stars", 5.into())]));
    assert_eq!(film, expected);
    let stored = stored(&film);
    assert!(stored.properties.keys().eq(["rating", "seen", "title"]), "{stored:?}");
    assert_eq!(read::<Outer>(&stored), expected);
}

#[test]
fn map_is_an_entity() {
    let map: HashMap<String, String> = [("PartitionKey", "pk"), ("RowKey", "rk"), ("Text", "Hello")]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
    let row = stored(&map);
    assert_eq!(row.get("Text"), Some(&"Hello".into()));
    assert_eq!(read::<HashMap<String, String>>(&row), map);
    let error = write_error(HashMap::from([(1, "x")]));
    assert!(error.contains("the name of a property is not text"), "{error}");
}

#[tokio::test]
async fn timestamp_and_etag_are_read_where_a_field_asks_for_them_and_never_sent() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Stamped {
        #[serde(rename = "PartitionKey")]
        pk: String,
        #[serde(rename = "RowKey")]
        rk: String,
        #[serde(rename = "Timestamp", default)]
        changed: Option<DateTime>,
        #[serde(rename = "odata.etag", default)]
        etag: Option<String>,
    }
    let things = fresh_table::<SerdeEntity<Stamped>>().await;
    let stamped = Stamped {
        pk: "pk".into(),
        rk: "rk".into(),
        changed: Some(DateTime::from_unix_seconds(0)),
        etag: Some("W/\"old\"".into()),
    };
    assert_eq!(stored(&stamped).properties.len(), 0);
    let etag = things.insert(&SerdeEntity(stamped)).await.unwrap();
    let row = things.get(("pk", "rk")).versioned().await.unwrap().unwrap();
    assert_eq!(row.changed, Some(row.timestamp));
    assert_eq!(row.entity.etag.as_deref(), Some(etag.as_str()));
    let rows = things.query().all().await.unwrap();
    assert_eq!(rows, [row.entity]);
}

#[test]
fn any_value_is_json_text() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Page {
        #[serde(rename = "PartitionKey")]
        site: String,
        #[serde(rename = "RowKey")]
        id: String,
        #[serde(with = "azure_table::entity::json_text")]
        tags: Vec<String>,
        #[serde(with = "azure_table::entity::json_text", default)]
        links: Option<Vec<String>>,
    }
    let [site, id] = ["pk", "rk"].map(String::from);
    let page = Page {
        site,
        id,
        tags: vec!["a".into(), "b".into()],
        links: None,
    };
    let mut row = stored(&page);
    assert_eq!(row.properties.keys().collect::<Vec<_>>(), ["tags"]);
    assert_eq!(row.get("tags"), Some(&r#"["a","b"]"#.into()));
    assert_eq!(read::<Page>(&row), page);
    row.insert("tags", "[1]");
    let error = read_error::<Page>(&row);
    assert!(error.contains("property `tags`: its JSON does not fit"), "{error}");
}

#[test]
fn missing_or_wrong_keys_are_errors_that_name_key_type_and_remedy() {
    #[derive(Serialize)]
    struct Keyless {
        #[serde(rename = "PartitionKey")]
        pk: &'static str,
        row_key: &'static str,
    }
    let (pk, row_key) = ("pk", "rk");
    let error = write_error(Keyless { pk, row_key });
    assert!(error.starts_with("RowKey: `"), "{error}");
    assert!(error.contains("Keyless` has no value of this name"), "{error}");
    assert!(error.contains("#[serde(rename = \"RowKey\")]"), "{error}");

    let error = write_error(BTreeMap::from([("PartitionKey", 5), ("RowKey", 6)]));
    assert_eq!(
        error,
        "PartitionKey: expected text, found Edm.Int32; make it a string field"
    );
    let error = write_error(BTreeMap::from([("PartitionKey", None), ("RowKey", Some("rk"))]));
    assert!(error.starts_with("PartitionKey: `"), "{error}");
    let error = write_error(json!({"PartitionKey": "a/b", "RowKey": "rk"}));
    assert!(error.contains("PartitionKey") && error.contains("'/'"), "{error}");
    for error in [write_error(5), write_error("x"), write_error(vec![1])] {
        assert!(
            error.contains("an entity is a struct or a map of named values"),
            "{error}"
        );
    }
}

#[test]
fn property_names_that_the_service_rejects_are_errors() {
    let views = ("views@odata.type", "Edm.Int64");
    let error = write_error(BTreeMap::from([("PartitionKey", "p"), ("RowKey", "r"), views]));
    assert!(error.contains("property `views@odata.type`"), "{error}");
    assert!(error.contains("`.annotated()`"), "{error}");
    let error = write_error(BTreeMap::from([("PartitionKey", "p"), ("RowKey", "r"), ("a-b", "x")]));
    assert!(error.contains("property name \"a-b\": it contains '-'"), "{error}");
    assert_eq!(stored(&one(())).properties.len(), 0);
    assert!(read_error::<One<i32>>(&row([])).contains("property `value`: it is missing"));
}

#[test]
fn name_that_occurs_twice_is_an_error_before_a_request() {
    #[derive(Serialize)]
    struct Flattened {
        #[serde(rename = "PartitionKey")]
        pk: &'static str,
        #[serde(rename = "RowKey")]
        rk: &'static str,
        title: &'static str,
        #[serde(flatten)]
        others: BTreeMap<&'static str, &'static str>,
    }
    let flattened = |name| Flattened {
        pk: "pk",
        rk: "rk",
        title: "first",
        others: BTreeMap::from([(name, "second")]),
    };
    assert_eq!(stored(&flattened("Title")).properties.len(), 2);
    for name in ["title", "RowKey"] {
        let error = write_error(flattened(name));
        let why = format!("{name}: the value has two members of this name");
        assert!(error.starts_with(&why) && error.contains("#[serde(rename"), "{error}");
    }

    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Inner(BTreeMap<&'static str, &'static str>),
    }
    let members = BTreeMap::from([("PartitionKey", "p"), ("RowKey", "r"), ("kind", "x")]);
    let error = write_error(Tagged::Inner(members));
    assert!(error.starts_with("kind: the value has two members"), "{error}");
}
