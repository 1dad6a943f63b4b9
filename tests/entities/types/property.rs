//! An entity with a property of every type is read as it was written, and each property is found by a filter.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table::filter::NamedColumn;
use azure_table::{
    DateTime, Descending, DynamicEntity, EdmType, ErrorKind, Filter, Guid, Result, TableClient, TableEntity,
};
use bytes::Bytes;

/// Names that .NET writes, whose letters have marks, and one that it does not write.
#[azure_table::test]
async fn property_names_are_identifiers_of_dotnet(table: TableClient) -> Result<()> {
    let names = ["हिन्दी", "ก่อน", "e\u{301}", "a‿b", "_1"];
    for (at, name) in names.into_iter().enumerate() {
        let mut row = DynamicEntity::new("p", at.to_string());
        row.insert(name, 7);
        table.insert(&row).await?;
        let filters: [Filter<DynamicEntity>; 3] = [
            NamedColumn::new(name, EdmType::Int32).eq(7),
            Filter::raw(format!("7 eq {name}")),
            Filter::with_parameters(&format!("{name} eq @{name}"), [(name, 7.into())]),
        ];
        for filter in filters {
            let found = table.query().filter(filter).all().await?;
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].get(name), Some(&7.into()), "{name}");
        }
    }
    let mut row = DynamicEntity::new("p", "r");
    row.insert("m²", 7);
    let error = table.insert(&row).await.unwrap_err();
    assert!(error.to_string().contains("it contains '²'"), "{error}");
    Ok(())
}

/// The stored type of each field, and its values in the least row, the middle one and the greatest.
macro_rules! everything {
    ($($edm:ident $field:ident: $type:ty = $least:expr, $middle:expr, $greatest:expr;)*) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        struct Everything {
            #[table(partition_key)]
            group: String,
            #[table(row_key)]
            row: u32,
            $($field: $type,)*
        }

        fn three() -> [Everything; 3] {
            let group = String::from("g");
            [
                Everything { group: group.clone(), row: 0, $($field: $least,)* },
                Everything { group: group.clone(), row: 1, $($field: $middle,)* },
                Everything { group, row: 2, $($field: $greatest,)* },
            ]
        }

        const STORED: &[(&str, EdmType)] = &[$((stringify!($field), EdmType::$edm)),*];
    };
}

fn system(time: DateTime) -> SystemTime {
    SystemTime::try_from(time).unwrap()
}

fn between() -> DateTime {
    DateTime::from_unix_seconds(0) - Duration::from_nanos(100)
}

everything! {
    String string: String = "".into(), "O'Brien".into(), "ü漢".into();
    String cow: Cow<'static, str> = "".into(), "O'Brien".into(), "ü漢".into();
    String shared_text: Arc<str> = "".into(), "O'Brien".into(), "ü漢".into();
    String boxed_text: Box<str> = "".into(), "O'Brien".into(), "ü漢".into();
    String letter: char = '\'', 'O', '漢';
    Boolean flag: bool = false, false, true;
    Int32 int_8: i8 = i8::MIN, -1, i8::MAX;
    Int32 int_16: i16 = i16::MIN, -1, i16::MAX;
    Int32 int_32: i32 = i32::MIN, -1, i32::MAX;
    Int64 int_64: i64 = i64::MIN, -1, i64::MAX;
    Int32 unsigned_8: u8 = 0, 1, u8::MAX;
    Int32 unsigned_16: u16 = 0, 1, u16::MAX;
    Int64 unsigned_32: u32 = 0, 1, u32::MAX;
    Int64 unsigned_64: u64 = 0, 1, i64::MAX as u64;
    Double single: f32 = f32::MIN, 0.1, f32::INFINITY;
    Double double: f64 = f64::MIN, 0.1, f64::INFINITY;
    DateTime moment: DateTime = DateTime::MIN_STORED, between(), DateTime::MAX;
    DateTime system: SystemTime = system(DateTime::MIN_STORED), system(between()), system(DateTime::MAX);
    DateTime newest: Descending<DateTime> = Descending(DateTime::MIN_STORED), Descending(between()), Descending(DateTime::MAX);
    Guid id: Guid = Guid([0; 16]), Guid([7; 16]), Guid([255; 16]);
    Binary bytes: Vec<u8> = vec![], b"abc".to_vec(), vec![255; 100];
    Binary shared_bytes: Bytes = Bytes::new(), Bytes::from_static(b"abc"), vec![255; 100].into();
    Binary array: [u8; 3] = [0; 3], *b"abc", [255; 3];
    Int64 boxed: Box<i64> = Box::new(i64::MIN), Box::new(-1), Box::new(i64::MAX);
    String maybe_text: Option<Arc<str>> = None, Some("O'Brien".into()), Some("ü漢".into());
    Int32 maybe_number: Option<u16> = None, Some(7), Some(u16::MAX);
}

#[azure_table::test]
async fn all_values_survive_at_both_metadata_levels(table: TableClient<Everything>) -> Result<()> {
    for entity in three() {
        table.insert(&entity).await?;
        assert_eq!(table.get(&entity).await?.unwrap(), entity);
        assert_eq!(table.get(&entity).versioned().await?.unwrap().entity, entity);
    }
    assert_eq!(table.query().all().await?, three());
    // Written again from the read entity, and through an entity without a struct.
    let read = table.get(("g", 1)).versioned().await?.unwrap();
    table.replace(&read).await?;
    let dynamic = table.typed::<DynamicEntity>();
    let row = dynamic.get(("g", "0000000001")).await?.unwrap();
    dynamic.replace(&row).await?;
    assert_eq!(table.get(("g", 1)).await?.unwrap(), read.entity);

    assert_eq!(row.properties.len(), STORED.len());
    for (name, edm_type) in STORED {
        assert_eq!(row.properties[*name].edm_type(), *edm_type, "{name}");
    }
    Ok(())
}

/// Each column compared with the value of the middle row: `eq`, `ne`, `lt` and `ge`.
fn filters_of_the_middle(middle: &Everything) -> Vec<[Filter<Everything>; 4]> {
    macro_rules! compared {
        ($($column:ident: $value:expr),*) => {
            vec![$({
                let (column, value) = (Everything::$column, $value);
                [column.eq(value), column.ne(value), column.lt(value), column.ge(value)]
            }),*]
        };
    }
    compared! {
        ROW: middle.row, STRING: &middle.string, COW: &middle.cow, SHARED_TEXT: &middle.shared_text,
        BOXED_TEXT: &middle.boxed_text, LETTER: middle.letter, INT_8: middle.int_8, INT_16: middle.int_16,
        INT_32: middle.int_32, INT_64: middle.int_64, UNSIGNED_8: middle.unsigned_8, UNSIGNED_16: middle.unsigned_16,
        UNSIGNED_32: middle.unsigned_32, UNSIGNED_64: middle.unsigned_64, SINGLE: middle.single,
        DOUBLE: middle.double, MOMENT: middle.moment, NEWEST: middle.newest, SYSTEM: middle.system, ID: middle.id, BYTES: &middle.bytes,
        SHARED_BYTES: &middle.shared_bytes, ARRAY: &middle.array, BOXED: *middle.boxed
    }
}

#[azure_table::test]
async fn every_property_is_found_by_a_filter(table: TableClient<Everything>) -> Result<()> {
    for entity in three() {
        table.insert(&entity).await?;
    }
    let mut filters = vec![
        (Everything::FLAG.eq(true), &[2][..]),
        (Everything::MAYBE_TEXT.eq("O'Brien"), &[1]),
        (Everything::MAYBE_NUMBER.gt(7), &[2]),
        (Everything::SHARED_TEXT.starts_with("O'"), &[1]),
    ];
    for of_a_column in filters_of_the_middle(&three()[1]) {
        filters.extend(of_a_column.into_iter().zip([&[1][..], &[0, 2], &[0], &[1, 2]]));
    }
    for (filter, expected) in filters {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await?;
        let found: Vec<_> = found.iter().map(|entity| entity.row).collect();
        assert_eq!(found, expected, "{text}");
    }
    Ok(())
}

#[azure_table::test]
async fn u64_beyond_int64_is_rejected_before_it_is_sent(table: TableClient<Everything>) -> Result<()> {
    let [mut entity, ..] = three();
    entity.unsigned_64 = u64::MAX;
    let why = "property `unsigned_64`: 18446744073709551615 is above the greatest Edm.Int64 9223372036854775807";
    let error = table.insert(&entity).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().ends_with(why), "{error}");
    let query = table.query().filter(Everything::UNSIGNED_64.lt(u64::MAX));
    let error = query.all().await.unwrap_err();
    assert!(error.to_string().contains("is above the greatest Edm.Int64"), "{error}");
    Ok(())
}

#[azure_table::test]
async fn nan_comes_back_in_both_sizes_and_a_system_time_is_rounded_down_to_100_ns(
    table: TableClient<Everything>,
) -> Result<()> {
    let [mut entity, ..] = three();
    (entity.single, entity.double) = (f32::NAN, f64::NAN);
    let whole = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_700);
    entity.system = whole + Duration::from_nanos(99);
    table.insert(&entity).await?;
    let read = table.get(&entity).await?.unwrap();
    assert!(read.single.is_nan() && read.double.is_nan());
    assert_eq!(read.system, whole);
    assert_eq!(DateTime::truncate(entity.system), whole);
    assert_eq!(DateTime::truncate(whole), whole);

    let [mut entity, ..] = three();
    entity.system = DateTime::truncate(SystemTime::now());
    table.replace(&entity).await?;
    assert_eq!(table.get(&entity).await?, Some(entity));
    Ok(())
}
