//! The paths of resources below an account, as they are sent.
//!
//! `codec/url.rs` owns percent-encoding, `request` the query after a path; the emulator parses paths.
//!
//! Source: REST "Addressing Table service resources".

use azure_table_wire::codec::url::encode;

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

    /// The emulator reads the paths that the client writes.
    #[cfg(feature = "emulator")]
    mod reading {
        use azure_table_wire::request::inbound::target::{Paths, Target};
        use azure_table_wire::value::name::table_name_fault;
        use azure_table_wire::value::row_id::RowId;
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn path_that_is_written_reads_the_same(name in any::<String>(), keys in any::<[String; 2]>()) {
                let name = match table_name_fault(&name) {
                    None => &*name,
                    Some(_) => "T",
                };
                let [partition_key, row_key] = keys;
                let path = entity(name, &partition_key, &row_key);
                let read = Target::Entity(name.to_owned(), RowId::new(partition_key, row_key));
                prop_assert_eq!(Target::parse(&path, "", true, Paths::of_client(&path)), Ok(read));
                let (path, read) = (table(name), Target::Table(name.to_owned()));
                prop_assert_eq!(Target::parse(&path, "", true, Paths::of_client(&path)), Ok(read));
            }
        }
    }
}
