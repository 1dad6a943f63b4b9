//! Declared indexes: `#[table(index(by_mail = (mail), unique))]` on an entity.
//!
//! The derive generates an entity for the rows of each index, named after both: `PersonByMail`. The crate
//! `azure-table-patterns` writes and reads them with its type `Indexed`. Use this module to do so yourself.
//!
//! | item | use |
//! |---|---|
//! | [`IndexedEntity`] | an entity with its indexes |
//! | [`Index`], [`IndexSchema`] | the name of an index as a constant, and its declaration as data |
//! | [`IndexRow`], [`IndexWrite`] | a row of an index, and a write to it |
//! | [`INDEX_PREFIX`] | the prefix of the RowKeys of all index rows |
//!
//! # Examples
//!
//! ```
//! use azure_table::TableEntity;
//! use azure_table::index::IndexedEntity;
//!
//! #[derive(TableEntity)]
//! #[table(index(by_mail = (mail), unique))]
//! struct Person {
//!     #[table(partition_key)]
//!     tenant: String,
//!     #[table(row_key)]
//!     id: u32,
//!     mail: String,
//! }
//!
//! # fn main() -> azure_table::Result<()> {
//! let ada = Person { tenant: "contoso".into(), id: 7, mail: "ada@x".into() };
//! assert_eq!(ada.index_rows().remove(0)?.row_key, "$ix;by_mail ada@x");
//! assert_eq!(Person::INDEXES[0].to_string(), "by_mail = (mail: String), unique");
//! # Ok(())
//! # }
//! ```

pub use crate::write::index::{INDEX_PREFIX, Index, IndexRow, IndexSchema, IndexWrite, IndexedEntity};
