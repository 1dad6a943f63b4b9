//! Borrowed fields are written, and read back by an entity that owns them.

use std::borrow::Cow;

use azure_table::{DateTime, Guid, Result, TableClient, TableEntity};

#[derive(TableEntity)]
struct Borrowed<'a> {
    #[table(partition_key)]
    group: &'a str,
    #[table(row_key)]
    row: Cow<'a, str>,
    text: &'a str,
    cow: Cow<'a, str>,
    bytes: &'a [u8],
    array: &'a [u8; 2],
    number: &'a i64,
    time: &'a DateTime,
    boxed: Box<Guid>,
    maybe: Option<&'a str>,
}

#[derive(TableEntity, Debug, PartialEq)]
struct Owned {
    #[table(partition_key)]
    group: Box<str>,
    #[table(row_key)]
    row: std::sync::Arc<str>,
    text: String,
    cow: Cow<'static, str>,
    bytes: bytes::Bytes,
    array: [u8; 2],
    number: i64,
    time: DateTime,
    boxed: Box<Guid>,
    maybe: Option<Box<str>>,
}

#[azure_table::test]
async fn borrowed_fields_are_written(table: TableClient<Owned>) -> Result<()> {
    let (text, bytes) = (String::from("text"), vec![1, 2, 3]);
    let borrowed = Borrowed {
        group: &text[..1],
        row: Cow::Borrowed(&text[1..]),
        text: &text,
        cow: Cow::Borrowed(&text),
        bytes: &bytes,
        array: &[1, 2],
        number: &7,
        time: &DateTime::MAX,
        boxed: Box::new(Guid([7; 16])),
        maybe: Some(&text),
    };
    table.typed::<Borrowed<'_>>().insert(&borrowed).await?;
    let owned = Owned {
        group: "t".into(),
        row: "ext".into(),
        text: text.clone(),
        cow: text.clone().into(),
        bytes: bytes.into(),
        array: [1, 2],
        number: 7,
        time: DateTime::MAX,
        boxed: Box::new(Guid([7; 16])),
        maybe: Some("text".into()),
    };
    assert_eq!(table.get(("t", "ext")).await?.unwrap(), owned);
    let filter = Owned::GROUP.eq("t")
        & Owned::ROW.eq(&text[1..])
        & Owned::BOXED.eq(Guid([7; 16]))
        & Owned::BYTES.eq([1, 2, 3])
        & Owned::MAYBE.eq("text");
    assert_eq!(table.query().filter(filter).all().await?, [owned]);
    // The columns of the borrowed entity compare with the same values.
    assert_eq!(Borrowed::TEXT.eq("x").to_string(), "text eq 'x'");
    assert_eq!(Borrowed::COW.starts_with("x").to_string(), "cow ge 'x' and cow lt 'y'");
    assert_eq!(Borrowed::BYTES.eq(b"ab").to_string(), "bytes eq X'6162'");
    assert_eq!(Borrowed::ARRAY.eq([1, 2]).to_string(), "array eq X'0102'");
    assert_eq!(Borrowed::NUMBER.ge(3).to_string(), "number ge 3L");
    Ok(())
}
