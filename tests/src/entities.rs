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

/// A row with nothing but its keys.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Keyed {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub name: String,
}

/// A value of any type of property.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Valued<T> {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub name: String,
    /// The value.
    pub value: T,
}

/// A count. A lost response to its write is judged by its content.
pub type Counter = Valued<i64>;

impl<T> Valued<T> {
    /// Returns a row with this value.
    pub fn new(group: &str, name: &str, value: T) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            value,
        }
    }
}

/// A count whose writes are recognized by their ids.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Marked {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub name: String,
    /// The count.
    pub count: i64,
    /// The id of the last write.
    #[table(write_id)]
    pub write: Option<Guid>,
}

impl Marked {
    /// Returns a count that was not written yet.
    pub fn new(group: &str, name: &str, count: i64) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            count,
            write: None,
        }
    }
}

/// A count under a number.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Numbered {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub number: u32,
    /// The count.
    pub count: i32,
}

impl Numbered {
    /// Returns a row with this count.
    pub fn new(group: &str, number: u32, count: i32) -> Self {
        Self {
            group: group.into(),
            number,
            count,
        }
    }
}

/// A blog: a number, and a text that may be absent.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Blog {
    /// The PartitionKey.
    #[table(partition_key)]
    pub channel: String,
    /// The RowKey.
    #[table(row_key)]
    pub id: u32,
    /// The rating.
    pub rating: i32,
    /// The author.
    pub author: Option<String>,
}

impl Blog {
    /// Returns a blog without author.
    pub fn new(channel: &str, id: u32, rating: i32) -> Self {
        Self {
            channel: channel.into(),
            id,
            rating,
            author: None,
        }
    }
}

/// A row that expires.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Session {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub id: String,
    /// The end of the session.
    pub expires: DateTime,
    /// The id of the last write.
    #[table(write_id)]
    pub write: Option<Guid>,
}

/// The one row of a partition that counts the others.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "$header")]
pub struct Header {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The number of other rows.
    pub rows: i64,
    /// The id of the last write.
    #[table(write_id)]
    pub write: Option<Guid>,
}

/// A user with a unique address.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
pub struct User {
    /// The PartitionKey.
    #[table(partition_key)]
    pub group: String,
    /// The RowKey.
    #[table(row_key)]
    pub id: String,
    /// The unique address.
    pub mail: String,
    /// The id of the last write.
    #[table(write_id)]
    pub write: Option<Guid>,
}

/// A person with a unique address, who is also found by name.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique), index(by_name = (name)))]
pub struct Person {
    /// The PartitionKey.
    #[table(partition_key)]
    pub tenant: String,
    /// The RowKey.
    #[table(row_key)]
    pub id: u32,
    /// The unique address.
    pub mail: String,
    /// The name.
    pub name: String,
}

/// The customer of a shop: one row of its partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "customer")]
pub struct Customer {
    /// The PartitionKey.
    #[table(partition_key)]
    pub shop: String,
    /// The name.
    pub name: String,
}

/// An order in a shop.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{number:06}_order")]
pub struct Order {
    /// The PartitionKey.
    #[table(partition_key)]
    pub shop: String,
    /// The number.
    pub number: u32,
    /// The total.
    pub total: f64,
}

/// The rows of a shop.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
pub enum Item {
    /// Its customer.
    Customer(Customer),
    /// An order.
    Order(Order),
}
