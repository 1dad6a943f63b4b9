//! The entities of the tests.

use azure_table::{DateTime, Descending, ETag, Guid, TableEntity};

/// One property of each type, and a missing one.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
pub struct AllTypes {
    /// The PartitionKey.
    #[table(partition_key)]
    pub partition: String,
    /// The RowKey.
    #[table(row_key)]
    pub row: String,
    /// Edm.String.
    pub text: String,
    /// Edm.Boolean.
    pub flag: bool,
    /// Edm.Int32.
    pub small: i32,
    /// Edm.Int64.
    pub large: i64,
    /// Edm.Double.
    pub ratio: f64,
    /// Edm.DateTime.
    pub moment: DateTime,
    /// Edm.Guid.
    pub id: Guid,
    /// Edm.Binary.
    pub bytes: Vec<u8>,
    /// Stored under another name, or absent.
    #[table(rename = "opt")]
    pub maybe: Option<i64>,
    /// Not stored.
    #[table(ignore)]
    pub cached: Option<String>,
}

impl AllTypes {
    /// Returns an entity whose values all differ from the defaults of their types.
    ///
    /// # Panics
    /// Never: its constants are valid.
    pub fn sample(partition: &str, row: &str) -> Self {
        Self {
            partition: partition.into(),
            row: row.into(),
            text: "O'Brien said \"ü漢😀\"\n\t\\".into(),
            flag: true,
            small: -7,
            large: i64::MAX,
            ratio: 5.0,
            moment: "2026-01-02T03:04:05.1234567Z".parse().unwrap(),
            id: "debc44d5-04a9-42ea-ab2f-4e2cb49ff833".parse().unwrap(),
            bytes: vec![0, 1, 254, 255],
            maybe: Some(1 << 40),
            cached: None,
        }
    }
}

/// A post. The newest comes first, and its key has two fields.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{posted}_{id}")]
pub struct Post {
    /// The channel.
    #[table(partition_key)]
    pub channel: String,
    /// The time.
    pub posted: Descending<DateTime>,
    /// The id.
    pub id: String,
    /// The rating.
    pub rating: i32,
}

impl Post {
    /// Returns a post `minutes` after a fixed time.
    pub fn at(channel: &str, minutes: i64, id: &str, rating: i32) -> Self {
        Self {
            channel: channel.into(),
            posted: Descending(Self::time(minutes)),
            id: id.into(),
            rating,
        }
    }

    /// Returns the fixed time plus `minutes`.
    pub fn time(minutes: i64) -> DateTime {
        DateTime::from_unix_seconds(1_700_000_000 + minutes * 60)
    }
}

/// An entity that stores its version in fields.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Tracked {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub number: u32,
    /// A value.
    pub value: String,
    /// The ETag that was read.
    #[table(etag)]
    pub version: Option<ETag>,
    /// The Timestamp.
    #[table(timestamp)]
    pub written: Option<DateTime>,
}

impl Tracked {
    /// Returns an entity that was not read yet.
    pub fn new(group: &str, number: u32, value: &str) -> Self {
        Self {
            group: group.into(),
            number,
            value: value.into(),
            version: None,
            written: None,
        }
    }
}
