//! Rows of other versions of a struct: older names, missing and unknown properties, older forms.

use std::collections::BTreeMap;

use azure_table::entity::MetadataLevel;
use azure_table::{DynamicEntity, EdmValue, Error, ErrorKind, ReadEntity, Result, TableEntity};

use super::{names, stored, table};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", rename_all = "PascalCase")]
struct Aliased {
    #[table(alias = "Stars", alias = "rtg")]
    rating: i32,
    #[table(alias = "Body")]
    text: Option<String>,
}

#[tokio::test]
async fn older_name_is_read_if_the_current_one_is_missing() {
    let table = table::<Aliased>().await;
    let read = |properties: &[(&str, i32)]| {
        let mut row = DynamicEntity::new("p", "r");
        for (name, value) in properties {
            row.insert(*name, *value);
        }
        let table = &table;
        async move {
            table.typed().insert_or_replace(&row).await.unwrap();
            table.get(()).await.unwrap().unwrap().rating
        }
    };
    assert_eq!(read(&[("rtg", 1)]).await, 1);
    // In any order of the properties: the current name first, then the aliases in order.
    assert_eq!(read(&[("rtg", 1), ("Stars", 2)]).await, 2);
    assert_eq!(read(&[("rtg", 1), ("Rating", 3), ("Stars", 2)]).await, 3);

    let mut row = DynamicEntity::new("p", "r");
    row.insert("Stars", 4);
    row.insert("Body", "old");
    table.typed().insert_or_replace(&row).await.unwrap();
    let aliased = table.get(()).await.unwrap().unwrap();
    assert_eq!(
        aliased,
        Aliased {
            rating: 4,
            text: Some("old".into())
        }
    );
    table.replace(&aliased).await.unwrap();
    assert_eq!(names(&stored(&table).await), ["Rating", "Text"]);

    assert_eq!(<Aliased as TableEntity>::SCHEMA.properties[0].aliases, ["Stars", "rtg"]);
    azure_table::entity::assert_reads::<Aliased>("Aliased\nPartitionKey p\nRowKey r\nrtg Edm.Int32\nBody Edm.String\n");
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Old {
    #[table(alias = "txt")]
    text: String,
    #[table(chunked)]
    long: String,
    #[table(extra)]
    extra: BTreeMap<String, EdmValue>,
}

#[tokio::test]
async fn properties_of_a_newer_version_outlive_a_replace_by_an_older_one() {
    let table = table::<Old>().await;
    let mut row = DynamicEntity::new("p", "r");
    row.insert("text", "a");
    row.insert("long", "b");
    row.insert("Added", 5_i64);
    row.insert("When", azure_table::DateTime::from_unix_seconds(0));
    row.insert("long_9x", 1);
    table.typed().insert(&row).await.unwrap();

    let mut old = table.get(()).await.unwrap().unwrap();
    assert_eq!(old.extra.len(), 3);
    old.text = "c".into();
    table.replace(&old).await.unwrap();
    let after = stored(&table).await;
    assert_eq!(
        names(&after),
        ["Added", "When", "long", "long_9x", "long_chunks", "text"]
    );
    assert_eq!(after.get("Added"), Some(&EdmValue::Int64(5)));
    assert_eq!(after.get("text"), Some(&"c".into()));
    assert_eq!(table.get(()).await.unwrap(), Some(old.clone()));
    assert_eq!(Old::METADATA, MetadataLevel::Minimal);

    // Pieces and older names of fields are not extra properties.
    let mut row = after;
    row.insert("txt", "older");
    row.insert("long_1", "stale");
    table.typed().replace(&row).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(old.clone()));

    for name in ["text", "txt", "long_2", "long_chunks"] {
        let mut wrong = old.clone();
        wrong.extra.insert(name.to_owned(), EdmValue::Int32(1));
        let error = table.replace(&wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("property `{name}`")), "{error}");
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", deny_unknown_properties)]
struct Strict {
    #[table(alias = "txt")]
    text: String,
    #[table(chunked)]
    long: Option<String>,
}

#[tokio::test]
async fn unknown_property_can_be_rejected() {
    let table = table::<Strict>().await;
    let strict = Strict {
        text: "a".into(),
        long: Some("x".repeat(40_000)),
    };
    table.insert(&strict).await.unwrap();
    assert_eq!(table.get(()).await.unwrap(), Some(strict));
    let mut row = stored(&table).await;
    row.insert("txt", "older");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    assert!(table.get(()).await.unwrap().is_some());
    row.insert("Added", 1);
    table.typed().replace(&row).await.unwrap();
    let error = table.get(()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(
        error
            .to_string()
            .contains("property `Added`: the entity does not declare it"),
        "{error}"
    );
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "{n}", upgrade = "Person::from_first_version")]
struct Person {
    n: u32,
    first: String,
    last: String,
}

impl Person {
    fn from_first_version(old: &mut DynamicEntity) -> Result<Self> {
        let name: String = old.property("Name")?;
        let Some((first, last)) = name.split_once(' ') else {
            // The hook may report more than "property `first` is missing".
            return old.property::<i32>("Name").map(|_| unreachable!("it is text"));
        };
        Ok(Self {
            n: old.row_key.parse().unwrap(),
            first: first.into(),
            last: last.into(),
        })
    }
}

#[tokio::test]
async fn rows_of_an_older_form_are_upgraded() {
    let table = table::<Person>().await;
    let person = Person {
        n: 1,
        first: "Ada".into(),
        last: "Lovelace".into(),
    };
    table.insert(&person).await.unwrap();
    let mut old = DynamicEntity::new("p", "2");
    old.insert("Name", "Alan Turing");
    table.typed().insert(&old).await.unwrap();
    let second = Person {
        n: 2,
        first: "Alan".into(),
        last: "Turing".into(),
    };
    assert_eq!(table.query().all().await.unwrap(), [person, second]);
    assert_eq!(Person::METADATA, MetadataLevel::Minimal);

    old.row_key = "3".into();
    old.insert("Name", "Plato");
    table.typed().insert(&old).await.unwrap();
    let error: Error = table.query().all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("Name"), "{error}");
}

/// An `upgrade` that reads its row as the current struct would call itself without end for a row that it cannot mend.
#[test]
fn upgrade_that_does_not_mend_a_row_ends_with_both_errors() {
    #[derive(TableEntity, Debug)]
    #[table(partition_key = "p", row_key = "r", upgrade = "with_language")]
    struct Page {
        language: String,
        title: String,
    }

    fn with_language(row: &mut DynamicEntity) -> Result<Page> {
        row.insert("language", "en");
        row.to_entity()
    }

    let mut row = DynamicEntity::new("p", "r");
    row.insert("title", "t");
    assert_eq!(row.to_entity::<Page>().unwrap().language, "en");
    let text = DynamicEntity::new("p", "r")
        .to_entity::<Page>()
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("property `language`: it is missing; as an older row: "),
        "{text}"
    );
    assert_eq!(text.matches("as an older row").count(), 1, "{text}");
    assert!(text.contains("property `title`: it is missing"), "{text}");
}
