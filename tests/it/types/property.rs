//! An entity with a property of every type is read as it was written, and each property is found by a filter.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table::filter::NamedColumn;
use azure_table::{DateTime, DynamicEntity, EdmType, Filter, Guid, TableEntity};
use bytes::Bytes;

use azure_table_tests::key_order::fresh_table;

/// Names that .NET writes, whose letters have marks, and one that it does not write.
#[tokio::test]
async fn property_names_are_identifiers_of_dotnet() {
    let table = fresh_table::<DynamicEntity>().await;
    let names = ["हिन्दी", "ก่อน", "e\u{301}", "a‿b", "_1"];
    for (at, name) in names.into_iter().enumerate() {
        let mut row = DynamicEntity::new("p", at.to_string());
        row.insert(name, 7);
        table.insert(&row).await.unwrap();
        let filters: [Filter<DynamicEntity>; 3] = [
            NamedColumn::new(name, EdmType::Int32).eq(7),
            Filter::raw(format!("7 eq {name}")),
            Filter::with_parameters(&format!("{name} eq @{name}"), [(name, 7.into())]),
        ];
        for filter in filters {
            let found = table.query().filter(filter).all().await.unwrap();
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].get(name), Some(&7.into()), "{name}");
        }
    }
    let mut row = DynamicEntity::new("p", "r");
    row.insert("m²", 7);
    let error = table.insert(&row).await.unwrap_err();
    assert!(error.to_string().contains("it contains '²'"), "{error}");
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Everything {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    row: u32,
    string: String,
    cow: Cow<'static, str>,
    shared_text: Arc<str>,
    boxed_text: Box<str>,
    letter: char,
    flag: bool,
    int_8: i8,
    int_16: i16,
    int_32: i32,
    int_64: i64,
    unsigned_8: u8,
    unsigned_16: u16,
    unsigned_32: u32,
    unsigned_64: u64,
    single: f32,
    double: f64,
    moment: DateTime,
    system: SystemTime,
    id: Guid,
    bytes: Vec<u8>,
    shared_bytes: Bytes,
    array: [u8; 3],
    boxed: Box<i64>,
    maybe_text: Option<Arc<str>>,
    maybe_number: Option<u16>,
}

/// The smallest values, some between, and the largest; all three in the same order.
fn three() -> [Everything; 3] {
    let system = |time: DateTime| SystemTime::try_from(time).unwrap();
    let between = DateTime::from_unix_seconds(0) - Duration::from_nanos(100);
    let least = Everything {
        group: "g".into(),
        row: 0,
        string: "".into(),
        cow: "".into(),
        shared_text: "".into(),
        boxed_text: "".into(),
        letter: '\'',
        flag: false,
        int_8: i8::MIN,
        int_16: i16::MIN,
        int_32: i32::MIN,
        int_64: i64::MIN,
        unsigned_8: 0,
        unsigned_16: 0,
        unsigned_32: 0,
        unsigned_64: 0,
        single: f32::MIN,
        double: f64::MIN,
        moment: DateTime::MIN_STORED,
        system: system(DateTime::MIN_STORED),
        id: Guid([0; 16]),
        bytes: vec![],
        shared_bytes: Bytes::new(),
        array: [0; 3],
        boxed: Box::new(i64::MIN),
        maybe_text: None,
        maybe_number: None,
    };
    let middle = Everything {
        row: 1,
        string: "O'Brien".into(),
        cow: "O'Brien".into(),
        shared_text: "O'Brien".into(),
        boxed_text: "O'Brien".into(),
        letter: 'O',
        int_8: -1,
        int_16: -1,
        int_32: -1,
        int_64: -1,
        unsigned_8: 1,
        unsigned_16: 1,
        unsigned_32: 1,
        unsigned_64: 1,
        single: 0.1,
        double: 0.1,
        moment: between,
        system: system(between),
        id: Guid([7; 16]),
        bytes: b"abc".to_vec(),
        shared_bytes: Bytes::from_static(b"abc"),
        array: *b"abc",
        boxed: Box::new(-1),
        maybe_text: Some("O'Brien".into()),
        maybe_number: Some(7),
        ..least.clone()
    };
    let greatest = Everything {
        row: 2,
        string: "ü漢".into(),
        cow: "ü漢".into(),
        shared_text: "ü漢".into(),
        boxed_text: "ü漢".into(),
        letter: '漢',
        flag: true,
        int_8: i8::MAX,
        int_16: i16::MAX,
        int_32: i32::MAX,
        int_64: i64::MAX,
        unsigned_8: u8::MAX,
        unsigned_16: u16::MAX,
        unsigned_32: u32::MAX,
        unsigned_64: i64::MAX as u64,
        single: f32::INFINITY,
        double: f64::INFINITY,
        moment: DateTime::MAX,
        system: system(DateTime::MAX),
        id: Guid([255; 16]),
        bytes: vec![255; 100],
        shared_bytes: vec![255; 100].into(),
        array: [255; 3],
        boxed: Box::new(i64::MAX),
        maybe_text: Some("ü漢".into()),
        maybe_number: Some(u16::MAX),
        ..least.clone()
    };
    [least, middle, greatest]
}

#[tokio::test]
async fn all_values_survive_at_both_metadata_levels() {
    let table = fresh_table::<Everything>().await;
    for entity in three() {
        table.insert(&entity).await.unwrap();
        assert_eq!(table.get(&entity).await.unwrap().unwrap(), entity);
        assert_eq!(table.get(&entity).versioned().await.unwrap().unwrap().entity, entity);
    }
    assert_eq!(table.query().all().await.unwrap(), three());
    // Written again from the read entity, and through an entity without a struct.
    let read = table.get(("g", 1)).versioned().await.unwrap().unwrap();
    table.replace(&read).await.unwrap();
    let dynamic = table.typed::<DynamicEntity>();
    let row = dynamic.get(("g", "0000000001")).await.unwrap().unwrap();
    dynamic.replace(&row).await.unwrap();
    assert_eq!(table.get(("g", 1)).await.unwrap().unwrap(), read.entity);
}

#[tokio::test]
async fn every_type_is_stored_as_documented() {
    let table = fresh_table::<Everything>().await;
    table.insert(&three()[1]).await.unwrap();
    let row = table.typed::<DynamicEntity>().query().first().await.unwrap().unwrap();
    let of_type = |edm_type| {
        let mut names: Vec<_> = row
            .properties
            .iter()
            .filter(|(_, value)| value.edm_type() == edm_type)
            .collect();
        names.sort_by_key(|(name, _)| name.as_str());
        names.into_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        of_type(EdmType::String),
        ["boxed_text", "cow", "letter", "maybe_text", "shared_text", "string"]
    );
    assert_eq!(of_type(EdmType::Boolean), ["flag"]);
    assert_eq!(
        of_type(EdmType::Int32),
        ["int_16", "int_32", "int_8", "maybe_number", "unsigned_16", "unsigned_8"]
    );
    assert_eq!(
        of_type(EdmType::Int64),
        ["boxed", "int_64", "unsigned_32", "unsigned_64"]
    );
    assert_eq!(of_type(EdmType::Double), ["double", "single"]);
    assert_eq!(of_type(EdmType::DateTime), ["moment", "system"]);
    assert_eq!(of_type(EdmType::Guid), ["id"]);
    assert_eq!(of_type(EdmType::Binary), ["array", "bytes", "shared_bytes"]);
}

/// Each column compared with the value of the middle row: `eq`, `ne`, `lt` and `ge`.
fn filters_of_the_middle(middle: &Everything) -> Vec<[Filter<Everything>; 4]> {
    macro_rules! compared {
        ($($column:ident: $field:ident),*) => {
            vec![$({
                let (column, value) = (Everything::$column, &middle.$field);
                [column.eq(value), column.ne(value), column.lt(value), column.ge(value)]
            }),*]
        };
    }
    let boxed = (Everything::BOXED, *middle.boxed);
    let mut filters = compared! {
        ROW: row, STRING: string, COW: cow, SHARED_TEXT: shared_text, BOXED_TEXT: boxed_text, LETTER: letter,
        INT_8: int_8, INT_16: int_16, INT_32: int_32, INT_64: int_64,
        UNSIGNED_8: unsigned_8, UNSIGNED_16: unsigned_16, UNSIGNED_32: unsigned_32, UNSIGNED_64: unsigned_64,
        SINGLE: single, DOUBLE: double, MOMENT: moment, SYSTEM: system, ID: id,
        BYTES: bytes, SHARED_BYTES: shared_bytes, ARRAY: array
    };
    filters.push([
        boxed.0.eq(boxed.1),
        boxed.0.ne(boxed.1),
        boxed.0.lt(boxed.1),
        boxed.0.ge(boxed.1),
    ]);
    filters
}

#[tokio::test]
async fn every_property_is_found_by_a_filter() {
    let table = fresh_table::<Everything>().await;
    let [least, middle, greatest] = three();
    for entity in [&least, &middle, &greatest] {
        table.insert(entity).await.unwrap();
    }
    let rows = async |filter: Filter<Everything>| {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await.unwrap();
        (found.iter().map(|entity| entity.row).collect::<Vec<_>>(), text)
    };
    for filters in filters_of_the_middle(&middle) {
        for (filter, expected) in filters.into_iter().zip([&[1][..], &[0, 2], &[0], &[1, 2]]) {
            let (found, text) = rows(filter).await;
            assert_eq!(found, expected, "{text}");
        }
    }
    assert_eq!(rows(Everything::FLAG.eq(true)).await.0, [2]);
    assert_eq!(rows(Everything::MAYBE_TEXT.eq("O'Brien")).await.0, [1]);
    assert_eq!(rows(Everything::MAYBE_NUMBER.gt(7)).await.0, [2]);
    assert_eq!(rows(Everything::SHARED_TEXT.starts_with("O'")).await.0, [1]);
}

#[tokio::test]
async fn u64_beyond_int64_is_rejected_before_it_is_sent() {
    let table = fresh_table::<Everything>().await;
    let entity = Everything {
        unsigned_64: u64::MAX,
        ..three()[0].clone()
    };
    let why = "property `unsigned_64`: 18446744073709551615 is above the greatest Edm.Int64 9223372036854775807";
    let error = table.insert(&entity).await.unwrap_err();
    assert_eq!(error.kind(), azure_table::ErrorKind::InvalidInput);
    assert!(error.to_string().ends_with(why), "{error}");
    let error = table
        .query()
        .filter(Everything::UNSIGNED_64.lt(u64::MAX))
        .all()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("is above the greatest Edm.Int64"), "{error}");
}

#[tokio::test]
async fn nan_comes_back_in_both_sizes() {
    let table = fresh_table::<Everything>().await;
    let entity = Everything {
        single: f32::NAN,
        double: f64::NAN,
        ..three()[0].clone()
    };
    table.insert(&entity).await.unwrap();
    let read = table.get(&entity).await.unwrap().unwrap();
    assert!(read.single.is_nan() && read.double.is_nan());
}

#[tokio::test]
async fn a_system_time_is_rounded_down_to_100_ns() {
    let table = fresh_table::<Everything>().await;
    let whole = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_700);
    let entity = Everything {
        system: whole + Duration::from_nanos(99),
        ..three()[0].clone()
    };
    table.insert(&entity).await.unwrap();
    assert_eq!(table.get(&entity).await.unwrap().unwrap().system, whole);
    assert_eq!(DateTime::truncate(entity.system), whole);
    assert_eq!(DateTime::truncate(whole), whole);
}

#[tokio::test]
async fn a_truncated_time_is_read_as_it_was_written() {
    let table = fresh_table::<Everything>().await;
    let entity = Everything {
        system: DateTime::truncate(SystemTime::now()),
        ..three()[0].clone()
    };
    table.insert(&entity).await.unwrap();
    assert_eq!(table.get(&entity).await.unwrap(), Some(entity));
}
