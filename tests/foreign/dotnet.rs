//! Rows as Azure.Data.Tables 12.13.0 ("v12") and WindowsAzure.Storage 9.3.3 ("classic") store them on .NET 10: the
//! types that read them, and those that do not.

use std::time::Duration;

use azure_table::key::ReadTableKey;
use azure_table::{DynamicEntity, ReadEntity, Result, TableEntity, TableKey, TableProperty};
use rust_decimal::Decimal;

#[derive(TableEntity, Debug, PartialEq)]
#[table(partition_key = "net", row_key = "p")]
struct Stored<T> {
    value: T,
}

/// Reads a row with these properties.
fn read<E: ReadEntity>(properties: &str) -> Result<E> {
    let row = format!(r#"{{"PartitionKey":"net","RowKey":"p"{properties}}}"#);
    serde_json::from_str::<DynamicEntity>(&row).unwrap().to_entity()
}

fn value<T>(json: &str) -> Result<T>
where
    Stored<T>: ReadEntity,
{
    read::<Stored<T>>(&format!(r#","value":{json}"#)).map(|stored| stored.value)
}

#[test]
fn decimals_and_floats_of_v12_are_numbers() -> Result<()> {
    assert_eq!((value::<f64>("5")?, value::<f64>("1.5")?), (5.0, 1.5));
    assert!(value::<Decimal>("5").is_err());
    Ok(())
}

#[test]
fn spans_are_text() -> Result<()> {
    for text in ["P1DT12H", "PT1S", "00:00:01"] {
        let json = format!("\"{text}\"");
        assert_eq!(value::<String>(&json)?, text);
        assert!(value::<Duration>(&json).is_err());
    }
    Ok(())
}

#[derive(TableProperty, Clone, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
}

#[derive(TableProperty, Clone, Debug, PartialEq)]
enum Flags {
    A,
    B,
    #[table(other)]
    Several(String),
}

#[test]
fn enums_are_names_and_flags_are_several() -> Result<()> {
    assert_eq!(value::<Colour>("\"Green\"")?, Colour::Green);
    assert_eq!(Stored::<Colour>::VALUE.eq(Colour::Red).to_string(), "value eq 'Red'");
    assert_eq!(value::<Flags>("\"B\"")?, Flags::B);
    assert_eq!(value::<Flags>("\"A, B\"")?, Flags::Several("A, B".into()));
    assert_eq!(value::<Flags>("\"8\"")?, Flags::Several("8".into()));
    Ok(())
}

#[test]
fn classic_classes_do_not_store_some_types() -> Result<()> {
    assert_eq!(read::<Stored<Option<f64>>>("")?.value, None);
    let error = read::<Stored<f64>>("").unwrap_err().to_string();
    assert!(error.contains("property `value`: it is missing"), "{error}");
    Ok(())
}

#[test]
fn digits_of_an_int_are_the_key_of_a_u32() {
    let text = format!("{:010}", 42);
    assert_eq!(u32::read_key(&text).unwrap(), 42);
    // The least `i32` has the text 0.
    let mut shifted = String::new();
    42_i32.write_key(&mut shifted).unwrap();
    assert_eq!(
        (&*shifted, i32::read_key(&text).unwrap()),
        ("2147483690", 42 + i32::MIN)
    );
}
