//! The rows of a page are the same values and errors, whether read straight from the text or as rows.

#![expect(dead_code, reason = "the fields are compared by their text")]

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use azure_table::entity::{ReadProperty, WireValue};
use azure_table::operation::GetEntity;
use azure_table::testing::{ResponseTemplate, Script};
use azure_table::{
    DateTime, ETag, EdmType, EdmValue, Error, Guid, Key, Property, ReadEntity, TableEntity, TableQuery,
    TableServiceClient, ValueError, Versioned,
};
use bytes::Bytes;
use http::Response;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::Config;

use super::cases;

#[derive(Debug, TableEntity)]
#[table(row_key = "{first}-{second}")]
struct Converted {
    #[table(partition_key)]
    partition: String,
    first: u32,
    second: String,
    text: String,
    maybe: Option<String>,
    small: i32,
    byte: Option<u8>,
    large: i64,
    ratio: f64,
    single: Option<f32>,
    flag: bool,
    moment: Option<DateTime>,
    id: Option<Guid>,
    bytes: Option<Vec<u8>>,
    letter: Option<char>,
    lasts: Option<Duration>,
    #[table(json, default)]
    list: Vec<u8>,
    #[table(with = "doubled", default)]
    twice: i32,
    #[table(default)]
    count: u16,
    #[table(ignore)]
    cached: u8,
}

mod doubled {
    use azure_table::entity::WireValue;
    use azure_table::{EdmType, EdmValue, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(value: &i32) -> Result<Option<EdmValue>, ValueError> {
        Ok(Some((value * 2).into()))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<i32, ValueError> {
        value.as_i32().map(|stored| stored / 2)
    }
}

/// The service's own properties.
#[derive(Debug, TableEntity)]
struct System {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(timestamp)]
    timestamp: Option<DateTime>,
    #[table(etag)]
    etag: Option<ETag>,
    text: Option<String>,
}

macro_rules! many {
    ($($field:ident)*) => {
        /// More fields than fit into the registers of a processor.
        #[derive(Debug, TableEntity)]
        #[table(columns = off)]
        struct Many {
            #[table(partition_key)]
            partition: String,
            #[table(row_key)]
            row: String,
            $($field: Option<i64>,)*
        }
    };
}
many! { text a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4
d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 large small }

/// The members of a row, each in some forms, with `|` between them. The first are valid for every type above.
const MEMBERS: [&str; 21] = [
    r#""PartitionKey":"p"|"PartitionKey":"\u0070\n"|"PartitionKey":null"#,
    r#""RowKey":"0000000007-x"|"RowKey":"0000000007-\""|"RowKey":"x""#,
    r#""Timestamp":"2026-01-02T03:04:05.1Z"||"Timestamp":"then""#,
    r#""odata.etag":"W/\"x\""|"odata.etag":"x"||"odata.etag":null"#,
    r#""text":"1"|"text":"\u0031"|"text":1|"text":"a\ud83d"|"#,
    r#"|"maybe":"a"|"maybe":"ä\t"|"maybe":null"#,
    r#""small":5|"small":-5|"small":2147483648|"small" : 5|"small":05|"#,
    r#"|"byte":255|"byte":256|"byte":1.0"#,
    r#""large@odata.type":"Edm.Int64","large":"7"|"large":"7"|"large":7|"large":"7x""#,
    r#""ratio":1.5|"ratio@odata.type":"Edm.Double","ratio":"NaN"|"ratio":1e400"#,
    r#"|"single":0.5|"single":0.1"#,
    r#""flag":true|"flag":false|"flag":"true"|"flag":tru"#,
    r#"|"moment@odata.type":"Edm.DateTime","moment":"2026-01-02T03:04:05Z"|"moment":"2026""#,
    r#"|"id@odata.type":"Edm.Guid","id":"c9da6455-213d-42c9-9a79-3e9149a57833"|"id":"c9""#,
    r#"|"bytes@odata.type":"Edm.Binary","bytes":"AAH\/"|"bytes":"!""#,
    r#"|"letter":"é"|"letter":"""#,
    r#"|"lasts@odata.type":"Edm.Int64","lasts":"5"|"lasts":-1"#,
    r#"|"list":"[1,2]"|"list":"[1,""#,
    r#"|"twice":8|"twice":"8""#,
    r#"|"count":3|"text@odata.type":"Edm.String""#,
    r#"|"other":"x"|"other":{"a":[1]}|"other@odata.type":"Edm.Guid","other":"1""#,
];

/// A row: mostly valid, mostly in one order, sometimes with a member twice or without its end.
fn row() -> impl Strategy<Value = String> {
    fn forms(member: &str) -> Vec<&str> {
        member.split('|').collect()
    }
    let member = |member| {
        let forms = forms(member);
        prop_oneof![300 => Just(forms[0]), 60 => Just(forms[1]), 1 => select(forms)]
    };
    let members: Vec<_> = MEMBERS.into_iter().map(member).collect();
    let changes = prop_oneof![20 => Just(0), 1 => Just(1), 2 => Just(2), 1 => Just(3), 1 => Just(4)];
    (members, changes, any::<prop::sample::Index>()).prop_map(|(mut members, change, at)| {
        let at = at.index(members.len());
        match change {
            1 => members.swap(4, 4 + at % 16),
            2 => members.insert(at, forms(MEMBERS[(at + 1) % MEMBERS.len()])[at % 2]),
            4 => members.clear(),
            3 => members.reverse(),
            _ => {}
        }
        members.retain(|member| !member.is_empty());
        // One in some rows has white space.
        let comma = if at == 0 { " ,\n" } else { "," };
        format!("{{{}}}", members.join(comma))
    })
}

/// Rows that differ, then some of them again.
fn page() -> impl Strategy<Value = String> {
    let rows = prop::collection::vec((row(), 1..4_usize), 1..8);
    let cut = prop_oneof![20 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (rows, cut).prop_map(|(rows, cut)| {
        let rows = rows.iter().flat_map(|(row, times)| vec![row.as_str(); *times]);
        let page = format!(r#"{{"value":[{}]}}"#, rows.collect::<Vec<_>>().join(","));
        let end = cut.map_or(page.len(), |cut| {
            let at = cut.index(page.len());
            (0..=at).rev().find(|at| page.is_char_boundary(*at)).unwrap_or(0)
        });
        page[..end].to_owned()
    })
}

/// Returns the rows of a page before its first error, and that error.
async fn rows<E, P: Debug + 'static>(
    page: &str,
    form: impl FnOnce(TableQuery<E>) -> TableQuery<E, P>,
) -> (Vec<String>, Option<String>)
where
    E: TableEntity + ReadEntity + 'static,
{
    let response = ResponseTemplate::from(Response::new(Bytes::from(page.to_owned())));
    let service = TableServiceClient::from_transport(Script::new().then_any(response));
    let table = service.table::<E>("Things").unwrap();
    let mut stream = form(table.query().allow_table_scan()).stream();
    let mut found = Vec::new();
    loop {
        match stream.try_next().await {
            Ok(Some(row)) => found.push(format!("{row:?}")),
            Ok(None) => return (found, None),
            Err(e) => return (found, Some(whole_text(&e))),
        }
    }
}

/// Returns the text of an error, with that of its source.
fn whole_text(error: &Error) -> String {
    format!(
        "{error}; {:?}",
        std::error::Error::source(error).map(ToString::to_string)
    )
}

/// Asserts that a page is read alike in both ways. The rows that a closure gets are complete.
async fn assert_read_alike<E: TableEntity + ReadEntity + Debug + 'static>(page: &str) {
    // Only the values: at this metadata level an error may have another reason than at the one of a closure.
    let (entities, error) = rows::<E, _>(page, |query| query).await;
    let (whole, _) = rows::<E, _>(page, |query| query.skip_bad_rows(|_| {})).await;
    assert!(whole.starts_with(&entities), "{page}\n{entities:?}\n{whole:?}");
    assert!(
        error.is_some() || entities.len() == whole.len(),
        "{page}\n{entities:?}\n{whole:?}"
    );
    let versions = rows::<E, _>(page, TableQuery::versioned).await;
    let whole = rows::<E, _>(page, |query| query.versioned().resolve(Versioned::<E>::read)).await;
    assert_eq!(versions, whole, "{page}");
}

/// Returns the entity that a get reads from the first row of a page, or the error.
async fn entity<E, P: Debug + 'static>(page: &str, form: impl FnOnce(GetEntity<E>) -> GetEntity<E, P>) -> String
where
    E: TableEntity + ReadEntity + 'static,
{
    let row = page.trim_start_matches(r#"{"value":["#);
    let end = row.find("},{").map_or(row.len(), |end| end + 1);
    let row = row[..end].trim_end_matches("]}").to_owned();
    let response = ResponseTemplate::from(Response::new(Bytes::from(row)));
    let service = TableServiceClient::from_transport(Script::new().then_any(response));
    let table = service.table::<E>("Things").unwrap();
    let key = Key::from_text("p", "0000000007-x").unwrap();
    format!("{:?}", form(table.get(key)).await.map_err(|e| whole_text(&e)))
}

/// Asserts that the first row of a page is read alike in both ways by a get.
async fn assert_got_alike<E: TableEntity + ReadEntity + Debug + 'static>(page: &str) {
    let got = entity::<E, _>(page, GetEntity::versioned).await;
    let whole = entity::<E, _>(page, |get| get.versioned().resolve(Versioned::<E>::read)).await;
    assert_eq!(got, whole, "{page}");
}

proptest! {
    #![proptest_config(cases(Config::with_cases(1_000)))]

    #[test]
    fn rows_are_read_alike_from_the_text_and_as_rows(page in page()) {
        super::run(async {
            assert_read_alike::<Converted>(&page).await;
            assert_read_alike::<System>(&page).await;
            assert_read_alike::<Many>(&page).await;
            assert_got_alike::<Converted>(&page).await;
            assert_got_alike::<System>(&page).await;
        });
    }
}

/// The rows of most pages above are read, and not only one error.
#[test]
fn many_rows_are_valid() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let page = || page().new_tree(&mut runner).unwrap().current();
    let pages: Vec<String> = std::iter::repeat_with(page).take(200).collect();
    let read = pages
        .iter()
        .map(|page| super::run(rows::<Converted, _>(page, |query| query)).0.len());
    let read: usize = read.sum();
    assert!(read > 800, "{read} rows of 200 pages");
}

/// A property that counts how often it is read.
#[derive(Debug)]
struct Counted;

thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
}

impl Property for Counted {
    type Compared = String;
    const EDM_TYPE: EdmType = EdmType::String;

    fn to_edm(&self) -> Result<Option<EdmValue>, ValueError> {
        Ok(Some("".into()))
    }
}

impl ReadProperty for Counted {
    fn from_wire(_: WireValue<'_>) -> Result<Self, ValueError> {
        READ.set(READ.get() + 1);
        Ok(Self)
    }
}

#[derive(Debug, TableEntity)]
#[table(columns = off)]
struct Counts {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    counted: Counted,
    number: i32,
}

/// A row with a fault is read twice if it was read from the text first.
#[tokio::test]
async fn rows_behind_the_first_are_read_from_the_text() {
    for (faults, read) in [(&[][..], 20), (&[0], 1), (&[1], 3), (&[9], 11)] {
        READ.set(0);
        let row = |n: usize| {
            let number = if faults.contains(&n) { "1.5" } else { "1" };
            format!(r#"{{"PartitionKey":"p","RowKey":"{n}","counted":"","number":{number}}}"#)
        };
        let page = format!(r#"{{"value":[{}]}}"#, (0..20).map(row).collect::<Vec<_>>().join(","));
        let (found, error) = rows::<Counts, _>(&page, |query| query).await;
        assert_eq!(
            (found.len(), error.is_some()),
            (*faults.first().unwrap_or(&20), !faults.is_empty())
        );
        assert_eq!(READ.get(), read, "{faults:?}");
    }
}
