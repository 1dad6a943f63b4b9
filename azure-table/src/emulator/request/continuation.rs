//! Continuation tokens: a position in a table, as text that is opaque to clients.
//!
//! The shape is that of the service: `1!`, the length of what follows, `!`, base64 with `-` for `=`. Cosmos DB has
//! others: a JSON object for rows, whose second half is `NA`, and for tables an id with the number of pages and of
//! tables so far. They hold no state of the emulator, so a token works as long as the table exists.
//!
//! Source: recorded continuation headers; REST "Query timeout and pagination".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::rules::{Continuation, Rules};
use crate::emulator::store::row::RowId;
use crate::model::datetime::DateTime;

/// Headers with the position of the next page.
pub(crate) type Next = Vec<(&'static str, String)>;

const NEXT_PARTITION: &str = "x-ms-continuation-nextpartitionkey";
const NEXT_ROW: &str = "x-ms-continuation-nextrowkey";
const NEXT_TABLE: &str = "x-ms-continuation-nexttablename";
/// What a token of Cosmos DB has around its text.
const AROUND_ROW: [&str; 2] = ["{\"token\":\"", "\",\"range\":{\"min\":\"\",\"max\":\"FF\"}}"];
const AROUND_TABLE: [&str; 3] = ["-RID:~", "#RT:", "#TRC:"];
/// Stands in no key and in no table's name.
const SEPARATOR: char = '\u{1}';

/// The position of a row; `None` for the second half, where a page ends with a partition.
pub(crate) fn of_row(partition_key: &str, row_key: Option<&str>, rules: &Rules) -> Next {
    match rules.continuation {
        Continuation::Keys => {
            let row = row_key.map(|row_key| (NEXT_ROW, of_key(row_key)));
            [(NEXT_PARTITION, of_key(partition_key))]
                .into_iter()
                .chain(row)
                .collect()
        }
        Continuation::Ranges => {
            let keys = format!("{partition_key}{SEPARATOR}{}", row_key.unwrap_or_default());
            let [before, behind] = AROUND_ROW;
            let token = format!("{before}{}{behind}", STANDARD.encode(keys));
            vec![(NEXT_PARTITION, token), (NEXT_ROW, "NA".to_owned())]
        }
    }
}

/// The row at which a page begins. NextRowKey may be missing, but not empty (AzureStorageExplorer issue 5434, seen
/// live).
pub(crate) fn row(partition: Option<&str>, row: Option<&str>, rules: &Rules) -> Result<Option<RowId>> {
    match (partition, row, rules.continuation) {
        (None, None, _) => Ok(None),
        (None, Some(_), _) => Err(Refusal::INVALID_INPUT),
        (Some(partition), row, Continuation::Keys) => {
            let row = row.map_or(Ok(String::new()), key)?;
            Ok(Some(RowId::new(key(partition)?, row)))
        }
        (Some(token), _, Continuation::Ranges) => {
            let [before, behind] = AROUND_ROW;
            let text = token.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
            let keys = text.and_then(decoded).ok_or(Refusal::INVALID_INPUT)?;
            let (partition, row) = keys.split_once(SEPARATOR).ok_or(Refusal::INVALID_INPUT)?;
            Ok(Some(RowId::new(partition, row)))
        }
    }
}

/// The token of a key.
pub(crate) fn of_key(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

/// The key of a token.
pub(crate) fn key(token: &str) -> Result<String> {
    read(token).ok_or(Refusal::INVALID_INPUT)
}

/// The position of a table, by the form of its name that counts, behind a page of `tables` tables that `earlier` led
/// to.
pub(crate) fn of_table(name: &str, created: DateTime, (earlier, tables): (Option<&str>, usize), rules: &Rules) -> Next {
    let token = match rules.continuation {
        // Live the second half is an id of the table.
        Continuation::Keys => of_key(&format!("{name}{SEPARATOR}{:016x}", created.ticks())),
        Continuation::Ranges => {
            let [before, pages, all] = AROUND_TABLE;
            let counts = earlier.and_then(|token| token.rsplit_once(pages)?.1.split_once(all));
            let count = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok()).unwrap_or_default();
            let page = count(counts.map(|(page, _)| page)).saturating_add(1);
            let tables = count(counts.map(|(_, all)| all)).saturating_add(tables);
            format!("{before}{}{pages}{page}{all}{tables}", STANDARD.encode(name))
        }
    };
    vec![(NEXT_TABLE, token)]
}

/// The form of a table's name in its token that counts.
pub(crate) fn table_name(token: &str, rules: &Rules) -> Result<String> {
    match rules.continuation {
        Continuation::Keys => {
            let mut name = key(token)?;
            name.truncate(name.find(SEPARATOR).unwrap_or(name.len()));
            Ok(name)
        }
        Continuation::Ranges => {
            let [before, pages, _] = AROUND_TABLE;
            let text = token.strip_prefix(before).and_then(|rest| rest.split_once(pages));
            text.and_then(|(name, _)| decoded(name)).ok_or(Refusal::INVALID_INPUT)
        }
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
    use crate::emulator::rules::{COSMOS, STORAGE};

    #[test]
    fn tokens_look_like_the_services() {
        assert_eq!(of_key("pk801016e8"), "1!16!cGs4MDEwMTZlOA--");
        assert_eq!(key("1!16!cGs4MDEwMTZlOA--").unwrap(), "pk801016e8");
        assert_eq!(of_key(""), "1!0!");
        assert_eq!(
            table_name("1!40!dGFibGUzNTg2MTlkMgEwMWQzNTljZGFiMWI3OTg1", &STORAGE).unwrap(),
            "table358619d2"
        );
        for wrong in ["", "1!", "1!5!YQ--", "1!4!!!!!", "2!4!YQ--", "1!4!/w--", "x"] {
            assert_eq!(key(wrong), Err(Refusal::INVALID_INPUT), "{wrong}");
        }
    }

    #[test]
    fn cosmos_db_has_its_own() {
        let own = of_row("p", Some("r"), &COSMOS);
        assert_eq!(own[0].1, r#"{"token":"cAFy","range":{"min":"","max":"FF"}}"#);
        assert_eq!(own[1].1, "NA");
        for wrong in ["", "x", "1!4!cA--", r#"{"token":"cA==","range":{"min":"","max":"FF"}}"#] {
            assert_eq!(row(Some(wrong), Some("NA"), &COSMOS), Err(Refusal::INVALID_INPUT));
        }
        let first = of_table("zzza2", DateTime::MIN, (None, 2), &COSMOS);
        assert_eq!(first[0].1, "-RID:~enp6YTI=#RT:1#TRC:2");
        let second = of_table("zzzb", DateTime::MIN, (Some(&first[0].1), 2), &COSMOS);
        assert!(second[0].1.ends_with("#RT:2#TRC:4"), "{second:?}");
        assert_eq!(table_name(&second[0].1, &COSMOS).unwrap(), "zzzb");
    }

    proptest! {
        #[test]
        fn any_position_survives(partition in "[^\u{1}]*", below in any::<String>()) {
            prop_assert_eq!(key(&of_key(&below)).unwrap(), below.clone());
            for rules in [&STORAGE, &COSMOS] {
                let headers = of_row(&partition, Some(&below), rules);
                let read = row(Some(&headers[0].1), Some(&headers[1].1), rules).unwrap();
                prop_assert_eq!(read, Some(RowId::new(partition.clone(), below.clone())));
            }
            let half = of_row(&partition, None, &STORAGE);
            let read = row(Some(&half[0].1), None, &STORAGE).unwrap();
            prop_assert_eq!((half.len(), read), (1, Some(RowId::new(partition, ""))));
        }
    }
}
