//! The name of a table.
//!
//! The rules for its text are in `value/name.rs` of azure-table-wire; the rules of one service in `account/profile.rs`.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::name::{MAX_TABLE_NAME, table_name_fault};

use crate::filter::column::Column;
use crate::filter::column_name::ColumnName;

/// A table's name, valid on Azure Table storage or on Cosmos DB.
///
/// | service | names |
/// |---|---|
/// | Azure Table storage | an ASCII letter, then 2 to 62 ASCII letters and digits; one of its own `$…` tables |
/// | Cosmos DB | 1 to 254 characters without `/ \ # ?` and control characters, no space at the end |
///
/// The client of an account checks a name by the rules of its service when it opens the table.
///
/// ```
/// use azure_table::{Emulator, ErrorKind, TableName, TableServiceClient};
///
/// let name = TableName::new("my_table")?;
/// let cosmos = TableServiceClient::from_transport(Emulator::cosmos());
/// assert_eq!(cosmos.dynamic_table(&name)?.name(), &name);
///
/// let storage = TableServiceClient::from_transport(Emulator::new());
/// assert_eq!(storage.dynamic_table(&name).unwrap_err().kind(), ErrorKind::InvalidInput);
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Understanding the Table service data model", table names; recorded responses of Cosmos DB.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName(Arc<str>);

impl TableName {
    /// The column of table names, for `ListTables::filter`.
    pub const NAME: Column<Self, String> = Column::of(ColumnName::new("TableName"));

    /// Creates a table name from text that is valid on at least one of the services.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the text does not have 1 to 254 characters,
    ///   contains one of `/ \ # ?` or a control character, or ends with a space. Or it addresses another resource in a
    ///   URL: `Tables`, `$batch`, `.` and `..`.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        match table_name_fault(name) {
            Some(why) => Err(Error::invalid_input(format!(
                "table name {}: {why}; write 3 to 63 ASCII letters and digits, a letter first (on Cosmos DB, up to \
                 {MAX_TABLE_NAME} characters without / \\ # ?)",
                Shown(name)
            ))),
            None => Ok(Self(name.into())),
        }
    }

    /// Returns the name, as passed in.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for TableName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_service_are_table_names() {
        for good in [
            "my_table",
            "my-table",
            "1",
            "啊齄丂狛狜",
            "it's (100%)",
            " a",
            "tables",
            &"é".repeat(254),
        ] {
            assert_eq!(TableName::new(good).unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("", "it has 0 characters; write 3 to 63"),
            (&*"x".repeat(255), "255 characters"),
            ("a/b", "'/'"),
            ("a\\b", "'\\\\'"),
            ("a#", "'#'"),
            ("?", "'?'"),
            ("a\nb", "'\\n'"),
            ("a ", "ends with a space"),
            ("Tables", "reserves"),
            ("$batch", "reserves"),
            ("..", "reserves"),
        ] {
            let text = TableName::new(bad).unwrap_err().to_string();
            assert!(text.contains(why), "{text}");
            assert!(text.contains("3 to 63") && text.contains("up to 254"), "{text}");
        }
    }
}
