//! Operands of filters: literals have the type of the field, text and bytes have any form.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table::filter::InKey;
use azure_table::key::{Base64Url, Escaped};
use azure_table::{Column, DateTime, Descending, DynamicEntity, Guid, Property, TableKey};
use bytes::Bytes;

fn column<T: Property>() -> Column<DynamicEntity, T> {
    Column::property("N")
}

fn key<T: TableKey>() -> Column<DynamicEntity, T, InKey> {
    Column::row_key()
}

#[test]
fn a_literal_needs_no_type() {
    let id: Guid = "a455c695-df98-5678-aaaa-81d3367e5a34".parse().unwrap();
    let since: DateTime = "2008-07-10T00:00:00Z".parse().unwrap();
    for (filter, text) in [
        (column::<i8>().ge(-3), "N ge -3"),
        (column::<i16>().ge(3), "N ge 3"),
        (column::<i32>().ge(3), "N ge 3"),
        (column::<i64>().ge(3), "N ge 3L"),
        (column::<u8>().ge(3), "N ge 3"),
        (column::<u16>().is_in([3, 4]), "N eq 3 or N eq 4"),
        (column::<u32>().between(3, 4), "N ge 3L and N le 4L"),
        (column::<u64>().ge(3), "N ge 3L"),
        (column::<Option<i64>>().ge(3), "N ge 3L"),
        (column::<Box<i64>>().ge(3), "N ge 3L"),
        (column::<f32>().ge(0.5), "N ge 0.5"),
        // An `f32` is compared as the double that it was stored as.
        (column::<f32>().eq(0.1), "N eq 0.10000000149011612"),
        (column::<f64>().ge(3.0), "N ge 3.0"),
        (column::<bool>().eq(true), "N eq true"),
        (column::<char>().eq('\''), "N eq ''''"),
        (column::<String>().eq("o'clock"), "N eq 'o''clock'"),
        (
            column::<Guid>().eq(id),
            "N eq guid'a455c695-df98-5678-aaaa-81d3367e5a34'",
        ),
        (column::<DateTime>().eq(since), "N eq datetime'2008-07-10T00:00:00Z'"),
        (column::<[u8; 2]>().eq([1, 2]), "N eq X'0102'"),
        (column::<[u8; 2]>().eq(b"ab"), "N eq X'6162'"),
        (key::<u8>().ge(3), "RowKey ge '003'"),
        (key::<i64>().ge(-1), "RowKey ge '09223372036854775807'"),
        (key::<Descending<i16>>().ge(0), "RowKey le '32767'"),
        (key::<Escaped<u8>>().ge(3), "RowKey ge '003'"),
    ] {
        assert_eq!(filter.to_string(), text);
    }
}

#[test]
fn operands_of_text_have_any_form() {
    fn all<T: Property<Compared = String>>() {
        let (owned, borrowed) = (String::from("x"), "x");
        let column = column::<T>();
        for filter in [
            column.eq("x"),
            column.eq(&borrowed),
            column.eq(&owned),
            column.eq(owned.clone()),
            column.eq(Cow::from("x")),
            column.eq(&Cow::from("x")),
            column.eq(Arc::<str>::from("x")),
            column.eq(&Arc::<str>::from("x")),
            column.eq(Box::<str>::from("x")),
            column.is_in(["x"]),
            column.is_in(["x"].iter()),
            column.is_in(&[owned]),
        ] {
            assert_eq!(filter.to_string(), "N eq 'x'");
        }
        assert_eq!(column.starts_with("x").to_string(), "N ge 'x' and N lt 'y'");
    }
    all::<String>();
    all::<&str>();
    all::<Cow<'_, str>>();
    all::<Box<str>>();
    all::<Arc<str>>();
    all::<Option<Arc<str>>>();
    all::<&Option<Box<str>>>();
}

#[test]
fn operands_of_bytes_have_any_form() {
    fn all<T: Property<Compared = Vec<u8>>>() {
        let column = column::<T>();
        for filter in [
            column.eq(b"ab"),
            column.eq(*b"ab"),
            column.eq(&b"ab"[..]),
            column.eq(b"ab".to_vec()),
            column.eq(&b"ab".to_vec()),
            column.eq(Bytes::from_static(b"ab")),
            column.eq(&Bytes::from_static(b"ab")),
        ] {
            assert_eq!(filter.to_string(), "N eq X'6162'");
        }
    }
    all::<Vec<u8>>();
    all::<&[u8]>();
    all::<Bytes>();
    all::<Option<Bytes>>();
}

#[test]
fn keys_take_what_their_field_wraps() {
    let owned = String::from("a/b");
    for (filter, text) in [
        (key::<Arc<str>>().eq("x"), "x"),
        (key::<Box<str>>().eq(String::from("x")), "x"),
        (key::<Cow<'_, str>>().eq(&owned), "a/b"),
        (key::<Escaped<String>>().eq("a/b"), "a.1b"),
        (key::<Escaped<String>>().eq(&owned), "a.1b"),
        (key::<Base64Url<Vec<u8>>>().eq(b"\xff"), "_w"),
        (key::<(u8, bool)>().eq((3, true)), "003 true"),
        (key::<Descending<u8>>().is_in([3].iter()), "252"),
    ] {
        assert_eq!(filter.to_string(), format!("RowKey eq '{text}'"));
    }
}

#[test]
fn a_system_time_stands_for_a_date() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_999);
    let text = "1970-01-01T00:00:00.0000019Z";
    let shown = format!("N gt datetime'{text}'");
    assert_eq!(column::<DateTime>().gt(time).to_string(), shown);
    assert_eq!(column::<SystemTime>().gt(time).to_string(), shown);
    let date: DateTime = text.parse().unwrap();
    let posted = key::<Descending<DateTime>>();
    // The exact time is between this step of 100 ns and the next.
    assert_eq!(posted.lt(time), posted.le(date));
    assert_eq!(key::<DateTime>().ge(time), key::<DateTime>().gt(date));
    let id = Guid([0; 16]);
    assert_eq!(column::<Guid>().eq(id), column::<Option<Guid>>().eq(id));
}
