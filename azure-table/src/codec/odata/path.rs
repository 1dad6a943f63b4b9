//! The paths of resources below an account, in both directions.
//!
//! Owns [`Resource`]. `codec/url.rs` owns percent-encoding; `protocol` and the emulator own the query after a path.
//!
//! Source: REST "Addressing Table service resources".

#[cfg(any(feature = "emulator", feature = "faults"))]
use crate::codec::odata::literal::quoted;
use crate::codec::url::encode;

/// Returns the path of an entity: `table(PartitionKey='…',RowKey='…')`.
pub(crate) fn entity(table: &str, partition_key: &str, row_key: &str) -> String {
    const OTHERS: usize = "(PartitionKey='',RowKey='')".len();
    let mut path = String::with_capacity(table.len() + partition_key.len() + row_key.len() + OTHERS);
    path.extend(encode(table));
    path.push_str("(PartitionKey='");
    push_doubled(&mut path, partition_key);
    path.push_str("',RowKey='");
    push_doubled(&mut path, row_key);
    path.push_str("')");
    path
}

/// Appends text with each single quote doubled, percent-encoded.
fn push_doubled(path: &mut String, text: &str) {
    for (n, part) in text.split('\'').enumerate() {
        if n > 0 {
            path.push_str("%27%27");
        }
        path.extend(encode(part));
    }
}

/// Returns the path of a table in the collection of tables: `Tables('…')`.
pub(crate) fn table(name: &str) -> String {
    let mut path = String::from("Tables('");
    push_doubled(&mut path, name);
    path.push_str("')");
    path
}

/// A resource that a path names.
#[cfg(any(feature = "emulator", feature = "faults"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Service,
    Batch,
    Tables,
    Table(String),
    /// The entities of a table.
    Entities(String),
    Entity {
        table: String,
        partition_key: String,
        row_key: String,
    },
}

/// The fault of a path that names no resource.
#[cfg(any(feature = "emulator", feature = "faults"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathFault {
    Path,
    Keys,
    /// Neither one nor two keys after this name.
    NumberOfKeys(String),
}

#[cfg(any(feature = "emulator", feature = "faults"))]
impl Resource {
    /// Reads a decoded path below the account's base.
    pub(crate) fn read(path: &str) -> Result<Self, PathFault> {
        let Some((name, keys)) = path.split_once('(') else {
            return match path {
                "" => Ok(Self::Service),
                "$batch" => Ok(Self::Batch),
                "Tables" => Ok(Self::Tables),
                _ if path.contains('/') => Err(PathFault::Path),
                _ => Ok(Self::Entities(path.to_owned())),
            };
        };
        let keys = keys.strip_suffix(')').ok_or(PathFault::Path)?;
        let mut keys = key_values(keys).ok_or(PathFault::Keys)?;
        match (name, keys.as_mut_slice()) {
            ("", _) => Err(PathFault::Path),
            ("Tables", []) => Ok(Self::Tables),
            ("Tables", [("" | "TableName", table)]) => Ok(Self::Table(std::mem::take(table))),
            (_, []) => Ok(Self::Entities(name.to_owned())),
            (_, [("PartitionKey", partition), ("RowKey", row)] | [("RowKey", row), ("PartitionKey", partition)]) => {
                Ok(Self::Entity {
                    table: name.to_owned(),
                    partition_key: std::mem::take(partition),
                    row_key: std::mem::take(row),
                })
            }
            (_, [_, _]) => Err(PathFault::Keys),
            _ => Err(PathFault::NumberOfKeys(name.to_owned())),
        }
    }
}

/// Splits a path into the part of the account and the part of the resource.
///
/// No account or table name has a parenthesis, and a slash in a key is encoded.
#[cfg(feature = "faults")]
pub(crate) fn split(path: &str) -> (&str, &str) {
    let head = path.split('(').next().unwrap_or_default();
    path.split_at(head.rfind('/').unwrap_or_default())
}

/// Reads the keys between the parentheses: `Name='value'`, or a value alone, whose name is then empty.
#[cfg(any(feature = "emulator", feature = "faults"))]
fn key_values(mut text: &str) -> Option<Vec<(&str, String)>> {
    let mut keys = Vec::new();
    text = text.trim();
    while !text.is_empty() {
        let quote = text.find('\'')?;
        let name = match text[..quote].trim() {
            "" => "",
            name => name.strip_suffix('=')?.trim_end(),
        };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let (value, length) = quoted(&text[quote..])?;
        keys.push((name, value));
        text = text[quote + length..].trim_start();
        match text.strip_prefix(',') {
            Some(rest) if !rest.trim().is_empty() => text = rest.trim_start(),
            Some(_) => return None,
            None if text.is_empty() => {}
            None => return None,
        }
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_doubled_then_encoded() {
        assert_eq!(
            entity("T", "it's 100%", "漢 /+&"),
            "T(PartitionKey='it%27%27s%20100%25',RowKey='%E6%BC%A2%20%2F%2B%26')"
        );
        assert_eq!(entity("T", "", ""), "T(PartitionKey='',RowKey='')");
    }

    #[cfg(any(feature = "emulator", feature = "faults"))]
    mod reading {
        use proptest::prelude::*;

        use super::*;
        use crate::codec::url::decode;

        proptest! {
            #[test]
            fn path_that_is_written_reads_the_same(keys in any::<[String; 2]>()) {
                let [partition_key, row_key] = keys;
                let path = decode(&entity("T", &partition_key, &row_key)).unwrap();
                let read = Resource::Entity { table: "T".to_owned(), partition_key, row_key };
                prop_assert_eq!(Resource::read(&path), Ok(read));
            }
        }
    }
}
