//! Continuation tokens: a position in a table, as text that is opaque to clients.
//!
//! Tokens have the shape of the service's tokens: `1!`, the length of the rest, `!`, base64 with `-` for `=`. Cosmos DB
//! has other forms:
//!
//! - A token of rows contains the id of a row: 16 bytes, whose second half is the row's number. It is in a JSON object,
//!   from the second page on in an array with this object. If the query has a filter, counts follow the id instead. The
//!   second header is `NA`.
//! - A token of tables is an id. With a filter it also contains the numbers of pages and of tables so far.
//!
//! The emulator keeps no state for a token, so a token works while the table exists. One with a place is rejected after
//! its table was replaced, because places changed. Not confirmed: the numbers after
//! the counts, and the beginning of an id.
//!
//! Source: recorded continuation headers, of Cosmos DB `query_entities_with_top_and_next`, `query_entities_each_page`,
//! `query_tables_with_marker` and `query_tables_per_page` of azure-data-tables (2024 and 2026); REST "Query timeout and
//! pagination".

use azure_table_wire::codec::url;
use azure_table_wire::value::datetime::DateTime;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{Continuation, ServiceRules};
use crate::store::row::RowId;

/// Headers with the position of the next page.
pub(crate) type Next = Vec<(&'static str, String)>;

const NEXT_PARTITION: &str = "x-ms-continuation-nextpartitionkey";
const NEXT_ROW: &str = "x-ms-continuation-nextrowkey";
const NEXT_TABLE: &str = "x-ms-continuation-nexttablename";
/// The texts before and after a row's position in a token of Cosmos DB.
const AROUND_ROW: [&str; 2] = ["{\"token\":\"", "\",\"range\":{\"min\":\"\",\"max\":\"FF\"}}"];
/// The texts before an id, the number of pages and of items, in tokens of filtered queries.
const COUNTED: [&str; 3] = ["+RID:~", "#RT:", "#TRC:"];
/// The text after the counts of rows.
const BEHIND_COUNTS: &str = "#ISV:2#IEO:65599#QCF:8#FPC:AQE=";
/// A character that neither keys nor table names contain.
const SEPARATOR: char = '\u{1}';

/// The row at which a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Keys(RowId),
    /// A number in the order of insertion, and the origin of the rows that it counts.
    Place(u64, i64),
}

/// The parts of a token besides a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    /// The token of the page itself.
    pub(crate) earlier: Option<&'a str>,
    pub(crate) items: usize,
    pub(crate) is_filtered: bool,
}

/// Returns the position of a row by its keys. `row_key` is `None` if a page ends with a partition.
pub(crate) fn for_row(partition_key: &str, row_key: Option<&str>) -> Next {
    let row = row_key.map(|row_key| (NEXT_ROW, of_key(row_key)));
    let partition = [(NEXT_PARTITION, of_key(partition_key))];
    partition.into_iter().chain(row).collect()
}

/// Returns the position of a row by its place, among rows of this origin.
pub(crate) fn for_place(place: u64, origin: i64, page: Page<'_>) -> Next {
    let id = STANDARD.encode([origin.to_le_bytes(), place.to_le_bytes()].concat());
    let [before, behind] = AROUND_ROW;
    let token = match page {
        Page { is_filtered: true, .. } => format!("{}{BEHIND_COUNTS}", page.counted(&id)),
        Page { earlier: None, .. } => format!("{before}{id}{behind}"),
        Page { .. } => format!("[{before}{id}{behind}]"),
    };
    vec![(NEXT_PARTITION, token), (NEXT_ROW, "NA".to_owned())]
}

/// Parses the row at which a page begins. NextRowKey may be missing, but not empty (AzureStorageExplorer issue 5434,
/// seen live).
pub(crate) fn row(partition: Option<&str>, row: Option<&str>, rules: &ServiceRules) -> Result<Option<Position>> {
    match (partition, row, rules.continuation) {
        (None, None, _) => Ok(None),
        (None, Some(_), _) => Err(ServiceError::INVALID_INPUT),
        (Some(partition), row, Continuation::Keys) => {
            let row = row.map_or(Ok(String::new()), key)?;
            Ok(Some(Position::Keys(RowId::new(key(partition)?, row))))
        }
        (Some(token), _, Continuation::Places) => {
            let [before, behind] = AROUND_ROW;
            let object = token.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let object = object.unwrap_or(token).strip_prefix(before);
            let id = object.and_then(|rest| rest.strip_suffix(behind));
            let id = id.or_else(|| counted_id(token)).and_then(|id| STANDARD.decode(id).ok());
            let id: [u8; 16] = id
                .and_then(|id| id.try_into().ok())
                .ok_or(ServiceError::INVALID_INPUT)?;
            let [origin, place] = [0, 8].map(|half| std::array::from_fn(|byte| id[half + byte]));
            Ok(Some(Position::Place(
                u64::from_le_bytes(place),
                i64::from_le_bytes(origin),
            )))
        }
    }
}

/// Returns a query with places instead of continuation tokens, which contain the time at which the table was created.
pub(crate) fn with_places(query: &str, rules: &ServiceRules) -> String {
    let place = |pair: &str| {
        let (name, token) = pair.split_once('=')?;
        let token = url::decode_query(token)?;
        match (name, row(Some(&token), None, rules)) {
            ("NextPartitionKey", Ok(Some(Position::Place(place, _)))) => Some(place.to_string()),
            ("NextTableName", _) => table_name(&token, rules).ok(),
            _ => None,
        }
    };
    let text = |pair: &str| place(pair).unwrap_or_else(|| pair.to_owned());
    query.split('&').map(text).collect()
}

impl Page<'_> {
    /// Returns an id with the numbers of pages and items so far.
    fn counted(&self, id: &str) -> String {
        let [before, pages, all] = COUNTED;
        let counts = self
            .earlier
            .and_then(|token| token.rsplit_once(pages)?.1.split_once(all));
        let count = |text: Option<&str>| {
            let digits = text.map(|text| text.split('#').next().unwrap_or_default());
            digits
                .and_then(|digits| digits.parse::<usize>().ok())
                .unwrap_or_default()
        };
        let page = count(counts.map(|(page, _)| page)).saturating_add(1);
        let items = count(counts.map(|(_, all)| all)).saturating_add(self.items);
        format!("{before}{id}{pages}{page}{all}{items}")
    }
}

fn counted_id(token: &str) -> Option<&str> {
    let [before, pages, _] = COUNTED;
    Some(token.strip_prefix(before)?.split_once(pages)?.0)
}

/// Encodes a key as a token.
pub(crate) fn of_key(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

/// Decodes the key of a token.
pub(crate) fn key(token: &str) -> Result<String> {
    read(token).ok_or(ServiceError::INVALID_INPUT)
}

/// Returns the position of a table after a page, by the compared form of its name.
pub(crate) fn of_table(name: &str, created: DateTime, page: Page<'_>, rules: &ServiceRules) -> Next {
    let token = match rules.continuation {
        // The time counts from 1601, as Windows does (recorded of azure-data-tables, `query_tables_per_page`, 2026).
        Continuation::Keys => {
            let ticks = (created.ticks() - DateTime::MIN_STORED.ticks()).max(0);
            of_key(&format!("{name}{SEPARATOR}{ticks:016x}"))
        }
        Continuation::Places if page.is_filtered => page.counted(&STANDARD.encode(name)),
        Continuation::Places => STANDARD.encode(name),
    };
    vec![(NEXT_TABLE, token)]
}

/// Decodes the compared form of a table's name from a token.
pub(crate) fn table_name(token: &str, rules: &ServiceRules) -> Result<String> {
    match rules.continuation {
        Continuation::Keys => {
            let mut name = key(token)?;
            name.truncate(name.find(SEPARATOR).unwrap_or(name.len()));
            Ok(name)
        }
        Continuation::Places => decoded(counted_id(token).unwrap_or(token)).ok_or(ServiceError::INVALID_INPUT),
    }
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

fn read(token: &str) -> Option<String> {
    let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    decoded(&text.replace('-', "="))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::{COSMOS, STORAGE};

    #[test]
    fn tokens_have_the_form_of_storage() {
        assert_eq!(of_key("pk801016e8"), "1!16!cGs4MDEwMTZlOA--");
        assert_eq!(key("1!16!cGs4MDEwMTZlOA--").unwrap(), "pk801016e8");
        assert_eq!(of_key(""), "1!0!");
        assert_eq!(
            table_name("1!40!dGFibGUzNTg2MTlkMgEwMWQzNTljZGFiMWI3OTg1", &STORAGE).unwrap(),
            "table358619d2"
        );
        for wrong in ["", "1!", "1!5!YQ--", "1!4!!!!!", "2!4!YQ--", "1!4!/w--", "x"] {
            assert_eq!(key(wrong), Err(ServiceError::INVALID_INPUT), "{wrong}");
        }
    }

    #[test]
    fn tokens_have_the_form_of_cosmos_db() {
        let page = |earlier: Option<&'static str>, is_filtered| Page {
            earlier,
            items: 2,
            is_filtered,
        };
        let place = |page| for_place(0x0142_0902, 0, page)[0].1.clone();
        let id = "AAAAAAAAAAACCUIBAAAAAA==";
        let object = format!(r#"{{"token":"{id}","range":{{"min":"","max":"FF"}}}}"#);
        assert_eq!(for_place(1, 0, page(None, false))[1].1, "NA");
        assert_eq!(place(page(None, false)), object);
        assert_eq!(place(page(Some("x"), false)), format!("[{object}]"));
        assert_eq!(
            place(page(Some("+RID:~x#RT:1#TRC:5#ISV:2"), true)),
            format!("+RID:~{id}#RT:2#TRC:7#ISV:2#IEO:65599#QCF:8#FPC:AQE=")
        );
        for token in [page(None, false), page(Some("x"), false), page(None, true)].map(place) {
            let read = row(Some(&token), Some("NA"), &COSMOS).unwrap();
            assert_eq!(read, Some(Position::Place(0x0142_0902, 0)), "{token}");
        }
        for wrong in [
            "",
            "x",
            "1!4!cA--",
            r#"{"token":"cA==","range":{"min":"","max":"FF"}}"#,
            "+RID:~#RT:1",
        ] {
            assert_eq!(row(Some(wrong), Some("NA"), &COSMOS), Err(ServiceError::INVALID_INPUT));
        }
        let table = |name, page| of_table(name, DateTime::MIN, page, &COSMOS)[0].1.clone();
        assert_eq!(table("zzza2", page(None, false)), "enp6YTI=");
        assert_eq!(table("zzza2", page(None, true)), "+RID:~enp6YTI=#RT:1#TRC:2");
        let second = table("zzzb", page(Some("+RID:~enp6YTI=#RT:1#TRC:2"), true));
        assert!(second.ends_with("#RT:2#TRC:4"), "{second:?}");
        for token in [&*second, &table("zzzb", page(None, false))] {
            assert_eq!(table_name(token, &COSMOS).unwrap(), "zzzb");
        }
    }

    #[test]
    fn places_of_a_query_are_the_same_in_every_run() {
        let query = |time, rules: &ServiceRules| {
            let page = Page {
                earlier: None,
                items: 2,
                is_filtered: false,
            };
            let created = DateTime::from_unix_seconds(time);
            let row = match rules.continuation {
                Continuation::Keys => for_row("p", Some("r")),
                Continuation::Places => for_place(7, created.ticks(), page),
            };
            let [partition, row] = [0, 1].map(|at| url::encode(&row[at].1).to_string());
            let table = url::encode(&of_table("t", created, page, rules)[0].1).to_string();
            format!("$top=2&NextPartitionKey={partition}&NextRowKey={row}&NextTableName={table}")
        };
        for rules in [&STORAGE, &COSMOS] {
            let [first, second] = [1, 2].map(|time| query(time, rules));
            assert_ne!(first, second, "{rules:?}");
            assert_eq!(with_places(&first, rules), with_places(&second, rules));
        }
    }

    proptest! {
        #[test]
        fn any_position_survives_its_token(partition in any::<String>(), below in any::<String>()) {
            prop_assert_eq!(key(&of_key(&below)).unwrap(), below.clone());
            let headers = for_row(&partition, Some(&below));
            let read = row(Some(&headers[0].1), Some(&headers[1].1), &STORAGE).unwrap();
            prop_assert_eq!(read, Some(Position::Keys(RowId::new(partition.clone(), below))));
            let half = for_row(&partition, None);
            let read = row(Some(&half[0].1), None, &STORAGE).unwrap();
            prop_assert_eq!((half.len(), read), (1, Some(Position::Keys(RowId::new(partition, "")))));
        }
    }
}
