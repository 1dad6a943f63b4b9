//! Cursors: the position of a row in the order of the keys, for pages that link both ways.
//!
//! A [`Cursor`] has a text with an optional signature, and a condition for the rows on either side of it. The query
//! methods that take a cursor are in `key_order.rs`. A [`Continuation`](crate::Continuation) leads forward only.

use std::cmp::Ordering;

use azure_table_wire::account::signature::{SigningKey, is_same_secret};
use azure_table_wire::error::{Error, Result};
use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::ordinal;
use serde::{Deserialize, Serialize};

use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::{Key, key_texts};
use crate::key::key_shape::check_keys;
use crate::request::position::position_text;
use crate::request::position::{CURSOR, Owner};

/// The minimum length of a key that signs cursors, in bytes: the output of SHA-256 (RFC 2104, section 3).
const MIN_KEY: usize = 32;
/// Precedes the signed text, so that a signature made for another purpose is never valid for a cursor.
const SUBJECT: &str = "azure-table cursor\n";

/// The position of a row in the order of the keys: the link of a web page to the rows after or before it.
///
/// Create it from the first or the last row of a page. Store it with serde, or as text that fits into a URL
/// ([`Display`](std::fmt::Display) and [`FromStr`](std::str::FromStr)). The row may be deleted meanwhile. The text
/// contains the keys of the row. [`signed`](Self::signed) protects it from changes, but does not hide the keys.
///
/// ```
/// use azure_table::query::Cursor;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # blogs.create_table().await?;
/// # for n in 1..=6 { blogs.insert(&DynamicEntity::new("Channel9", n.to_string())).await?; }
/// let query = || blogs.query().partition("Channel9");
/// let ids = |rows: &[DynamicEntity]| rows.iter().map(|row| row.row_key.clone()).collect::<String>();
///
/// let first = query().limit(2).all().await?;
/// let next = Cursor::of(&first[1])?.to_string(); // in the link "Next"
/// let second = query().after(next.parse()?).limit(2).all().await?;
/// assert_eq!((ids(&first), ids(&second)), ("12".into(), "34".into()));
///
/// let previous = Cursor::of(&second[0])?; // in the link "Previous"
/// let before = query().before(previous).last_rows(2, 10).await?;
/// assert_eq!(ids(&before), "12");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cursor {
    #[serde(default)]
    of: Owner<CURSOR>,
    partition_key: String,
    row_key: String,
}

position_text!(Cursor, CURSOR);

impl Cursor {
    /// Returns the cursor of a row.
    ///
    /// For a row without its keys, such as a projection, convert a [`Key`] by `From`.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the keys of the entity cannot be written.
    pub fn of<E: TableEntity>(entity: &E) -> Result<Self> {
        let texts = key_texts(entity)?;
        let (partition_key, row_key) = texts.pair();
        Ok(Self::at(partition_key, row_key))
    }

    fn at(partition_key: &str, row_key: &str) -> Self {
        Self {
            of: Owner,
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
        }
    }

    /// Returns the text of the cursor with a signature (HMAC-SHA256) that [`verified`](Self::verified) checks.
    ///
    /// `key` has at least 32 bytes; use random ones. All processes that create and read the links share it.
    ///
    /// ```
    /// use azure_table::query::Cursor;
    /// use azure_table::{DynamicEntity, ErrorKind};
    ///
    /// let key = [7; 32]; // from your secret store
    /// let cursor = Cursor::of(&DynamicEntity::new("Channel9", "1"))?;
    /// let text = cursor.signed(&key)?;
    /// assert_eq!(Cursor::verified(&text, &key)?, cursor);
    /// assert_eq!(Cursor::verified(&text, &[8; 32]).unwrap_err().kind(), ErrorKind::InvalidInput);
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the key is shorter than 32 bytes.
    ///
    /// Source: RFC 2104.
    pub fn signed(&self, key: &[u8]) -> Result<String> {
        let text = self.to_string();
        let signature = signature(&text, key)?;
        Ok(format!("{text}.{signature}"))
    }

    /// Parses the text of [`signed`](Self::signed).
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the text has no signature, or the signature of another key.
    ///   Or the key is shorter than 32 bytes.
    pub fn verified(text: &str, key: &[u8]) -> Result<Self> {
        let unsigned = || Error::invalid_input("the cursor is not signed with this key");
        let (text, found) = text.split_once('.').ok_or_else(unsigned)?;
        if is_same_secret(found, &signature(text, key)?) {
            text.parse()
        } else {
            Err(unsigned())
        }
    }
}

impl<E> From<&Key<E>> for Cursor {
    fn from(key: &Key<E>) -> Self {
        Self::at(key.partition_key(), key.row_key())
    }
}

/// Returns the signature of a text, encoded for a URL.
fn signature(text: &str, key: &[u8]) -> Result<String> {
    if key.len() < MIN_KEY {
        return Err(Error::invalid_input(format!(
            "the key of cursors has {} bytes, it must have at least {MIN_KEY}: use random ones",
            key.len()
        )));
    }
    let signature = SigningKey::from_bytes(key)?.sign(&format!("{SUBJECT}{text}"));
    Ok(signature.trim_end_matches('=').replace('+', "-").replace('/', "_"))
}

/// The ends of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursors {
    pub(super) after: Option<Cursor>,
    pub(super) before: Option<Cursor>,
}

/// The rows that a query has between its cursors.
pub(super) enum Between {
    All,
    None,
    Some(Expression),
}

impl Cursors {
    pub(super) fn is_empty(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// Returns the rows between the cursors. `partition` is the only partition of the query, if it has one.
    ///
    /// # Errors
    /// - `InvalidInput`: a cursor has texts that no keys can have.
    pub(super) fn between(&self, partition: Option<&str>) -> Result<Between> {
        let after = self.after.iter().map(|cursor| (Side::After, cursor));
        let before = self.before.iter().map(|cursor| (Side::Before, cursor));
        let mut between = Between::All;
        for (side, cursor) in after.chain(before) {
            check_keys(&cursor.partition_key, &cursor.row_key)
                .map_err(|e| Error::invalid_input(format!("cursor: {e}")))?;
            between = match (between, side.rows(cursor, partition)) {
                (Between::None, _) | (_, Between::None) => Between::None,
                (Between::All, rows) | (rows, Between::All) => rows,
                (Between::Some(one), Between::Some(other)) => Between::Some(one.and(other)),
            };
        }
        Ok(between)
    }
}

/// A side of a cursor.
#[derive(Clone, Copy)]
enum Side {
    After,
    Before,
}

impl Side {
    /// Returns the rows on this side of the cursor.
    fn rows(self, cursor: &Cursor, partition: Option<&str>) -> Between {
        let compare =
            |name: &'static str, operator, text: &str| Expression::comparison(name, operator, EdmValue::from(text));
        let (is, or_is, whole_partitions) = match self {
            Self::After => (Comparison::Gt, Comparison::Ge, Ordering::Greater),
            Self::Before => (Comparison::Lt, Comparison::Le, Ordering::Less),
        };
        let row = compare("RowKey", is, &cursor.row_key);
        let Some(partition) = partition else {
            let partitions = compare("PartitionKey", or_is, &cursor.partition_key);
            let others = compare("PartitionKey", is, &cursor.partition_key);
            return Between::Some(partitions.and(others.or(row)));
        };
        match ordinal::compare(partition, &cursor.partition_key) {
            Ordering::Equal => Between::Some(row),
            order if order == whole_partitions => Between::All,
            _ => Between::None,
        }
    }
}
