//! The entity of all clients: ten properties, two of text, two Int32, two Int64, a double, a boolean, a date, a GUID.

use std::fmt::Write as _;

use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;
use serde::{Deserialize, Serialize, Serializer};

use crate::PAGE;

/// The members of a request, and the members of a response that a client needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Plain {
    #[serde(rename = "PartitionKey")]
    pub customer: String,
    #[serde(rename = "RowKey")]
    pub number: String,
    pub product: String,
    #[serde(default)]
    pub note: String,
    pub quantity: i32,
    pub discount: i32,
    #[serde(rename = "Cents@odata.type", skip_deserializing)]
    pub cents_type: Edm<'C'>,
    #[serde(with = "text")]
    pub cents: i64,
    #[serde(rename = "Weight@odata.type", skip_deserializing)]
    pub weight_type: Edm<'W'>,
    #[serde(with = "text", default)]
    pub weight: i64,
    #[serde(default)]
    pub rating: f64,
    pub paid: bool,
    #[serde(rename = "Ordered@odata.type", skip_deserializing)]
    pub ordered_type: Edm<'D'>,
    #[serde(default = "unknown")]
    pub ordered: DateTime,
    #[serde(rename = "Id@odata.type", skip_deserializing)]
    pub id_type: Edm<'G'>,
    pub id: Guid,
}

/// The annotation of a property.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edm<const KIND: char>;

impl<const KIND: char> Serialize for Edm<KIND> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match KIND {
            'D' => "Edm.DateTime",
            'G' => "Edm.Guid",
            _ => "Edm.Int64",
        })
    }
}

/// An Int64, which is text in JSON.
mod text {
    use std::fmt;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_str(Digits)
    }

    struct Digits;

    impl Visitor<'_> for Digits {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("digits")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
            text.parse().map_err(E::custom)
        }
    }
}

/// Returns the date of an order without one.
fn unknown() -> DateTime {
    DateTime::from_unix_millis(0)
}

/// Creates the order of number `n`.
pub fn plain(n: usize) -> Plain {
    Plain {
        // Each partition has the rows of one batch.
        customer: format!("customer-{:06}", n / crate::BATCH),
        number: format!("{n:010}"),
        product: format!("Product number {n}"),
        // One in ten has escapes.
        note: match n % 10 {
            0 => "Leave it at the \"back\" door,\nplease".into(),
            _ => "Leave it at the door, please".into(),
        },
        quantity: n as i32,
        discount: 5,
        cents_type: Edm,
        cents: 1_234_567_890_123 + n as i64,
        weight_type: Edm,
        weight: -(n as i64),
        rating: 0.1 + n as f64 / 7.0,
        paid: n.is_multiple_of(2),
        ordered_type: Edm,
        ordered: DateTime::from_unix_millis(1_700_000_000_123 + n as i64),
        id_type: Edm,
        id: Guid([n as u8; 16]),
    }
}

/// Writes the order as the service does, with its annotations if `is_full`. If `is_sparse`, it lacks a third of the
/// properties that may be absent.
pub fn row(n: usize, is_full: bool, is_sparse: bool) -> String {
    let o = plain(n);
    let (mut own, mut cents, mut weight, mut ordered, mut id) = (String::new(), "", "", "", "");
    if is_full {
        let address = format!("Things(PartitionKey='{}',RowKey='{}')", o.customer, o.number);
        write!(
            own,
            r#""odata.type":"acct.Things","odata.id":"http://127.0.0.1/acct/{address}","odata.etag":"W/\"datetime'2026-01-02T03%3A04%3A05.1234567Z'\"","odata.editLink":"{address}","#
        )
        .unwrap_or_default();
        cents = r#""Cents@odata.type":"Edm.Int64","#;
        weight = r#""Weight@odata.type":"Edm.Int64","#;
        ordered = r#""Ordered@odata.type":"Edm.DateTime","#;
        id = r#""Id@odata.type":"Edm.Guid","#;
    }
    let members = [
        format!(r#""PartitionKey":"{}""#, o.customer),
        format!(r#""RowKey":"{}""#, o.number),
        r#""Timestamp":"2026-01-02T03:04:05.1234567Z""#.to_owned(),
        format!(r#""Product":"{}""#, o.product),
        // The escapes of Rust here are those of JSON.
        format!(r#""Note":{:?}"#, o.note),
        format!(r#""Quantity":{}"#, o.quantity),
        format!(r#""Discount":{}"#, o.discount),
        format!(r#"{cents}"Cents":"{}""#, o.cents),
        format!(r#"{weight}"Weight":"{}""#, o.weight),
        format!(r#""Rating":{:?}"#, o.rating),
        format!(r#""Paid":{}"#, o.paid),
        format!(r#"{ordered}"Ordered":"{}""#, o.ordered),
        format!(r#"{id}"Id":"{}""#, o.id),
    ];
    // Note, Weight, Rating and Ordered: another third of them in each row.
    let is_absent = |index: usize| is_sparse && matches!(index, 4 | 8 | 9 | 11) && (n + index).is_multiple_of(3);
    let kept = members.into_iter().enumerate().filter(|(index, _)| !is_absent(*index));
    let kept: Vec<String> = kept.map(|(_, member)| member).collect();
    format!("{{{own}{}}}", kept.join(","))
}

/// Writes a page of orders as the service does.
pub fn page(is_full: bool, is_sparse: bool) -> String {
    let rows: Vec<_> = (0..PAGE).map(|n| row(n, is_full, is_sparse)).collect();
    let metadata = if is_full {
        r#""odata.metadata":"http://127.0.0.1/acct/$metadata#Things","#
    } else {
        ""
    };
    format!(r#"{{{metadata}"value":[{}]}}"#, rows.join(","))
}
