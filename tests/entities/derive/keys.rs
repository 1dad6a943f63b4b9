//! Templates with widths and with several fields.

use azure_table::key::KeyPiece;
use azure_table::{ErrorKind, Result, TableClient, TableEntity};

use super::stored;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{component};{bucket:04}", row_key = "v{version:02}-{id}")]
struct Part {
    component: String,
    bucket: u32,
    version: u64,
    id: String,
    size: i32,
}

fn part(version: u64, id: &str) -> Part {
    Part {
        component: "disk".into(),
        bucket: 7,
        version,
        id: id.into(),
        size: 1,
    }
}

#[azure_table::test]
async fn a_width_shortens_and_limits_the_digits_of_a_field(table: TableClient<Part>) -> Result<()> {
    let first = part(3, "a-b");
    table.insert(&first).await?;
    let row = stored(&table).await;
    assert_eq!((&*row.partition_key, &*row.row_key), ("disk;0007", "v03-a-b"));
    assert_eq!(table.get(("disk", 7, 3, "a-b")).await?, Some(first.clone()));
    assert_eq!(table.get(&first).await?, Some(first.clone()));

    let second = part(12, "c");
    table.insert(&second).await?;
    let found = table.query().partition(("disk", 7)).all().await?;
    assert_eq!(found, [first, second]);
    assert_eq!(
        <Part as TableEntity>::SCHEMA.key.partition_key[2],
        KeyPiece::Padded("bucket", 4)
    );
    let error = table.insert(&part(100, "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "RowKey, field `version`: 100 has more than 2 digits";
    assert!(error.to_string().contains(why), "{error}");
    Ok(())
}

/// The width of a generic field is checked when the type is known.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "{n:05}")]
struct Counted<N> {
    n: N,
}

#[azure_table::test]
async fn a_generic_field_can_have_a_width(table: TableClient<Counted<u64>>) -> Result<()> {
    table.insert(&Counted { n: 42 }).await?;
    assert_eq!(stored(&table).await.row_key, "00042");
    assert_eq!(table.get((42,)).await?, Some(Counted { n: 42 }));
    Ok(())
}

/// A field that is a tuple is one key field.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{area}")]
struct Tupled {
    area: (String, u32),
    #[table(row_key)]
    place: (u64, String),
    size: i32,
}

#[azure_table::test]
async fn a_tuple_is_a_key_field(table: TableClient<Tupled>) -> Result<()> {
    let tupled = Tupled {
        area: ("north".into(), 7),
        place: (8, "x".into()),
        size: 1,
    };
    table.insert(&tupled).await?;
    let key = (("north".to_owned(), 7), (8, "x".to_owned()));
    assert_eq!(table.get(key).await?, Some(tupled.clone()));
    let filter = Tupled::PLACE.ge((8, String::new())) & Tupled::SIZE.eq(1);
    let found = table
        .query()
        .partition(("north".to_owned(), 7))
        .filter(filter)
        .all()
        .await?;
    assert_eq!(found, [tupled]);
    Ok(())
}
