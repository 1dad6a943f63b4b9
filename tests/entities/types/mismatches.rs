//! A stored value that does not fit is an error that names the property, the expected and the found type. It is never
//! read as another value.

use std::time::SystemTime;

use azure_table::{Column, DateTime, DynamicEntity, EdmValue, ErrorKind, Guid, ReadEntity, TableClient, TableEntity};
use azure_table_patterns::Changes;

use azure_table_tests::entities::Valued;
use azure_table_tests::key_order::fresh_table;

/// Returns the result of reading `stored` as a `T`, with and without the annotations of the response.
async fn read<T>(stored: impl Into<EdmValue>) -> [azure_table::Result<T>; 2]
where
    Valued<T>: TableEntity<KeyFields = (String, String)> + ReadEntity,
    T: Send + 'static,
{
    let table = fresh_table::<Valued<T>>().await;
    let mut row = DynamicEntity::new("g", "r");
    row.insert("value", stored);
    table.typed().insert(&row).await.unwrap();
    let plain = table.get(("g", "r")).await;
    let versioned = table.get(("g", "r")).versioned().await;
    [
        plain.map(|row| row.unwrap().value),
        versioned.map(|row| row.unwrap().entity.value),
    ]
}

macro_rules! rejected {
    ($($type:ty, $stored:expr => $plain:literal $(, $annotated:literal)?;)*) => {$(
        let both = [$plain, $plain];
        $(let both = [both[0], $annotated];)?
        for (read, why) in read::<$type>($stored).await.into_iter().zip(both) {
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
        u8, 300 => "300 is above the greatest u8 255";
        u8, -1 => "-1 is below the least u8 0";
        i8, 128 => "128 is above the greatest i8 127";
        u16, 65_536 => "65536 is above the greatest u16 65535";
        i16, -32_769 => "-32769 is below the least i16 -32768";
        u32, 1_i64 << 32 => "4294967296 is above the greatest u32 4294967295";
        u64, -1_i64 => "-1 is below the least u64 0";
        Option<u8>, 300 => "300 is above the greatest u8 255";
        f32, 0.1 => "0.1 is not an f32, the nearest is 0.10000000149011612";
        i32, 5_i64 => "expected Edm.Int32, found text", "expected Edm.Int32, found Edm.Int64";
        u16, 5_i64 => "expected Edm.Int32, found text", "expected Edm.Int32, found Edm.Int64";
        char, "ab" => "expected one character, found 2 of them";
        char, "" => "expected one character, found 0 of them";
        [u8; 16], vec![1, 2, 3] => "expected 16 bytes, found 3";
        std::time::SystemTime, true => "expected Edm.DateTime, found a boolean";
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

/// A plain read receives no types. The other reads receive them, and read the same.
#[tokio::test]
async fn text_is_read_by_its_text() {
    let date: DateTime = "2026-01-02T03:04:05Z".parse().unwrap();
    let guid: Guid = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    widened! {
        i64, "5" => 5;
        u32, "5" => 5;
        DateTime, "2026-01-02T03:04:05Z" => date;
        SystemTime, "2026-01-02T03:04:05Z" => SystemTime::try_from(date).unwrap();
        Guid, "00000000-0000-0000-0000-000000000001" => guid;
        Vec<u8>, "test" => vec![0xb5, 0xeb, 0x2d];
        f64, "Infinity" => f64::INFINITY;
        String, 5_i64 => "5";
        String, date => "2026-01-02T03:04:05Z";
        String, guid => guid.to_string();
        String, vec![0xb5, 0xeb, 0x2d] => "test";
        i64, vec![0xd7, 0x6d, 0xf8] => 1234;
    }
    rejected! {
        DateTime, "soon" => "expected a date and time such as 2026-01-02T03:04:05Z, found \"soon\"";
        i32, "5" => "expected Edm.Int32, found text", "expected Edm.Int32, found Edm.String";
        i64, "five" => "expected Edm.Int64, found text", "expected Edm.Int64, found Edm.String";
        f64, "1.5" => "expected Edm.Double, found text", "expected Edm.Double, found Edm.String";
        bool, "true" => "expected Edm.Boolean, found text", "expected Edm.Boolean, found Edm.String";
        String, 5 => "expected Edm.String, found the number 5";
    }
}

/// `modify`, `lenient`, streams of changes and upgrades read like `get`; `DynamicEntity` keeps the types.
#[azure_table::test]
async fn every_read_of_a_row_has_the_same_result(table: TableClient<Valued<DateTime>>) -> azure_table::Result<()> {
    let date: DateTime = "2026-01-02T03:04:05Z".parse().unwrap();
    table
        .typed()
        .insert(&Valued::new("g", "r", "2026-01-02T03:04:05Z"))
        .await?;

    assert_eq!(table.query().all().await?[0].value, date);
    assert_eq!(table.query().versioned().all().await?[0].entity.value, date);
    assert_eq!(table.query().lenient().all().await?[0].as_ref().unwrap().value, date);
    let stored = table.typed::<DynamicEntity>().get(("g", "r")).await?.unwrap();
    assert_eq!(stored.get("value"), Some(&EdmValue::from("2026-01-02T03:04:05Z")));
    assert_eq!(stored.property::<DateTime>("value")?, date);
    assert_eq!(stored.to_entity::<Valued<DateTime>>()?.value, date);
    let resolved = table.get(("g", "r")).resolve(|row| row.property::<DateTime>("value"));
    assert_eq!(resolved.await?, Some(date));
    let mut changes = Changes::new(table.query()).max_polls(1).stream()?;
    let changed = changes.try_next().await?.unwrap();
    assert_eq!(changed.entity.value, date);

    // Only filters see the type, until an upgrade stores the field's type.
    let value = Column::<Valued<DateTime>, DateTime>::property("value");
    let found = || table.query().filter(value.eq(date));
    assert_eq!(found().count().await?, 0);
    assert_eq!(table.upgrade_where(table.query()).await?.applied(), 1);
    assert_eq!(found().count().await?, 1);
    assert_eq!(table.upgrade_where(table.query()).await?.unchanged(), 1);
    Ok(())
}
