//! Rows of other versions of a struct: older names, missing and unknown properties, older forms.

use std::collections::BTreeMap;

use azure_table::entity::MetadataLevel;
use azure_table::{DynamicEntity, EdmValue, ErrorKind, ReadEntity, Result, TableClient, TableEntity};

use super::{assert_unreadable, names, row, store, stored};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", rename_all = "PascalCase")]
struct Aliased {
    #[table(alias = "Stars", alias = "rtg")]
    rating: i32,
    #[table(alias = "Body")]
    text: Option<String>,
}

#[azure_table::test]
async fn older_name_is_read_if_the_current_one_is_missing(table: TableClient<Aliased>) -> Result<()> {
    // In any order of the properties: the current name first, then the aliases in order.
    let [current, stars, rtg] = [("Rating", 3.into()), ("Stars", 2.into()), ("rtg", 1.into())];
    for (row, rating) in [
        (row(("p", "r"), [rtg.clone()]), 1),
        (row(("p", "r"), [rtg.clone(), stars.clone()]), 2),
        (row(("p", "r"), [rtg, current, stars]), 3),
    ] {
        store(&table, &row).await?;
        assert_eq!(table.get(()).await?.unwrap().rating, rating);
    }
    let row = row(("p", "r"), [("Stars", 4.into()), ("Body", "old".into())]);
    store(&table, &row).await?;
    let aliased = table.get(()).await?.unwrap();
    assert_eq!((aliased.rating, aliased.text.as_deref()), (4, Some("old")));
    table.replace(&aliased).await?;
    assert_eq!(names(&stored(&table).await), ["Rating", "Text"]);

    assert_eq!(<Aliased as TableEntity>::SCHEMA.properties[0].aliases, ["Stars", "rtg"]);
    azure_table::entity::assert_reads::<Aliased>("Aliased\nPartitionKey p\nRowKey r\nrtg Edm.Int32\nBody Edm.String\n");
    Ok(())
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

#[azure_table::test]
async fn properties_of_a_newer_version_outlive_a_replace_by_an_older_one(table: TableClient<Old>) -> Result<()> {
    let newer = [
        ("text", "a".into()),
        ("long", "b".into()),
        ("Added", 5_i64.into()),
        ("When", azure_table::DateTime::from_unix_seconds(0).into()),
        ("long_9x", 1.into()),
    ];
    store(&table, &row(("p", "r"), newer)).await?;

    let mut old = table.get(()).await?.unwrap();
    assert_eq!(old.extra.len(), 3);
    old.text = "c".into();
    table.replace(&old).await?;
    let after = stored(&table).await;
    let expected = ["Added", "When", "long", "long_9x", "text"];
    assert_eq!(names(&after), expected);
    assert_eq!(after.get("Added"), Some(&EdmValue::Int64(5)));
    assert_eq!(after.get("text"), Some(&"c".into()));
    assert_eq!(table.get(()).await?, Some(old.clone()));
    assert_eq!(Old::METADATA, MetadataLevel::Minimal);

    // Pieces and older names of fields are not extra properties.
    let mut row = after;
    row.insert("txt", "older");
    row.insert("long_1", "stale");
    store(&table, &row).await?;
    assert_eq!(table.get(()).await?, Some(old.clone()));

    for name in ["text", "txt", "long_2"] {
        let mut wrong = old.clone();
        wrong.extra.insert(name.to_owned(), EdmValue::Int32(1));
        let error = table.replace(&wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("property `{name}`")), "{error}");
    }
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r", deny_unknown_properties)]
struct Strict {
    #[table(alias = "txt")]
    text: String,
    #[table(chunked)]
    long: Option<String>,
}

#[azure_table::test]
async fn unknown_property_can_be_rejected(table: TableClient<Strict>) -> Result<()> {
    let strict = Strict {
        text: "a".into(),
        long: Some("x".repeat(40_000)),
    };
    table.insert(&strict).await?;
    let mut row = stored(&table).await;
    row.insert("txt", "older");
    store(&table, &row).await?;
    // Its own older name and the pieces of its own text are known.
    assert_eq!(table.get(()).await?, Some(strict));
    row.insert("Added", 1);
    assert_unreadable(&table, &row, "property `Added`: the entity does not declare it").await;
    Ok(())
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

#[azure_table::test]
async fn rows_of_an_older_form_are_upgraded(table: TableClient<Person>) -> Result<()> {
    let person = |n, first: &str, last: &str| {
        let [first, last] = [first, last].map(String::from);
        Person { n, first, last }
    };
    table.insert(&person(1, "Ada", "Lovelace")).await?;
    store(&table, &row(("p", "2"), [("Name", "Alan Turing".into())])).await?;
    let people = [person(1, "Ada", "Lovelace"), person(2, "Alan", "Turing")];
    assert_eq!(table.query().all().await?, people);
    assert_eq!(Person::METADATA, MetadataLevel::Minimal);
    let plato = row(("p", "3"), [("Name", "Plato".into())]);
    assert_unreadable(&table, &plato, "Name").await;
    Ok(())
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

    let title = row(("p", "r"), [("title", "t".into())]);
    assert_eq!(title.to_entity::<Page>().unwrap().language, "en");
    let text = DynamicEntity::new("p", "r").to_entity::<Page>();
    let text = text.unwrap_err().to_string();
    let why = "property `language`: it is missing; as an older row: ";
    assert!(text.contains(why), "{text}");
    assert_eq!(text.matches("as an older row").count(), 1, "{text}");
    assert!(text.contains("property `title`: it is missing"), "{text}");
}
