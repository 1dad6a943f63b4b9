//! A stored value that does not fit is an error that names the property, the expected and the found type. It is never
//! read as another value.

use azure_table::{DynamicEntity, EdmValue, ErrorKind, ReadEntity, TableEntity};

use super::fresh_table;

#[derive(TableEntity, Debug, PartialEq)]
struct Row<T> {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    row: String,
    value: T,
}

/// Returns the result of reading `stored` as a `T`, with and without the annotations of the response.
async fn read<T>(stored: impl Into<EdmValue>) -> [azure_table::Result<T>; 2]
where
    Row<T>: TableEntity<KeyFields = (String, String)> + ReadEntity,
    T: Send + 'static,
{
    let table = fresh_table::<Row<T>>().await;
    let mut row = DynamicEntity::new("g", "r");
    row.insert("value", stored);
    table.typed::<DynamicEntity>().insert(&row).await.unwrap();
    let plain = table.get(("g", "r")).await;
    let versioned = table.get(("g", "r")).versioned().await;
    [
        plain.map(|row| row.unwrap().value),
        versioned.map(|row| row.unwrap().entity.value),
    ]
}

macro_rules! rejected {
    ($($type:ty, $stored:expr => $plain:literal, $annotated:literal;)*) => {$(
        for (read, why) in read::<$type>($stored).await.into_iter().zip([$plain, $annotated]) {
            let error = read.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse);
            let text = error.to_string();
            assert!(text.starts_with("get in table Things: "), "{text}");
            assert!(text.contains("\"g\"") && text.contains("\"r\""), "{text}");
            assert!(text.contains(&format!("property `value`: {why} (request")), "{text}");
        }
    )*};
}

macro_rules! widened {
    ($($type:ty, $stored:expr => $value:expr;)*) => {$(
        for read in read::<$type>($stored).await {
            assert_eq!(read.unwrap(), $value);
        }
    )*};
}

#[tokio::test]
async fn nothing_is_narrowed_silently() {
    rejected! {
        u8, 300 => "300 is above the greatest u8 255", "300 is above the greatest u8 255";
        u8, -1 => "-1 is below the least u8 0", "-1 is below the least u8 0";
        i8, 128 => "128 is above the greatest i8 127", "128 is above the greatest i8 127";
        u16, 65_536 => "65536 is above the greatest u16 65535", "65536 is above the greatest u16 65535";
        i16, -32_769 => "-32769 is below the least i16 -32768", "-32769 is below the least i16 -32768";
        u32, 1_i64 << 32 => "4294967296 is above the greatest u32 4294967295", "4294967296 is above the greatest u32 4294967295";
        u64, -1_i64 => "-1 is below the least u64 0", "-1 is below the least u64 0";
        Option<u8>, 300 => "300 is above the greatest u8 255", "300 is above the greatest u8 255";
        f32, 0.1 => "0.1 is not an f32, the nearest is 0.10000000149011612", "0.1 is not an f32, the nearest is 0.10000000149011612";
        i32, 5_i64 => "expected Edm.Int32, found text", "expected Edm.Int32, found Edm.Int64";
        u16, 5_i64 => "expected Edm.Int32, found text", "expected Edm.Int32, found Edm.Int64";
        char, "ab" => "expected one character, found 2 of them", "expected one character, found 2 of them";
        char, "" => "expected one character, found 0 of them", "expected one character, found 0 of them";
        [u8; 16], vec![1, 2, 3] => "expected 16 bytes, found 3", "expected 16 bytes, found 3";
        std::time::SystemTime, true => "expected Edm.DateTime, found a boolean", "expected Edm.DateTime, found a boolean";
    }
}

#[tokio::test]
async fn an_int32_is_widened() {
    widened! {
        i64, 7 => 7;
        u32, 7 => 7;
        u64, 7 => 7;
        f64, 7 => 7.0;
        f32, 7 => 7.0;
        Box<i64>, 7 => Box::new(7);
        Option<u64>, 7 => Some(7);
    }
}

/// If the service sends types, text is text, whatever it looks like.
#[tokio::test]
async fn text_is_not_read_as_another_type() {
    use azure_table::entity::ReadProperty;
    use azure_table::{DateTime, DynamicEntity, Emulator, Guid, TableServiceClient};

    fn rejects<T: ReadProperty + std::fmt::Debug>(row: &DynamicEntity, name: &str, expected: &str) {
        let error = row.property::<T>(name).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("property `{name}`: expected {expected}, found Edm.String")),
            "{error}"
        );
    }

    let table = TableServiceClient::on(Emulator::new()).dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let mut row = DynamicEntity::new("p", "r");
    for (name, text) in [
        ("Number", "5"),
        ("Date", "2026-01-02T03:04:05Z"),
        ("Guid", "00000000-0000-0000-0000-000000000001"),
        ("Bytes", "test"),
        ("Nan", "NaN"),
    ] {
        row.insert(name, text);
    }
    table.insert(&row).await.unwrap();
    let read = table.get(("p", "r")).await.unwrap().unwrap();
    for row in [&row, &read] {
        rejects::<i64>(row, "Number", "Edm.Int64");
        rejects::<DateTime>(row, "Date", "Edm.DateTime");
        rejects::<Guid>(row, "Guid", "Edm.Guid");
        rejects::<Vec<u8>>(row, "Bytes", "Edm.Binary");
        rejects::<f64>(row, "Nan", "Edm.Double");
    }
    let resolved = table
        .get(("p", "r"))
        .resolve(|row| row.property::<Vec<u8>>("Bytes"))
        .await;
    assert!(resolved.unwrap_err().to_string().contains("found Edm.String"));
}
