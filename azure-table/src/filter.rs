//! Filters: typed columns, comparisons, and the values of a patch.
//!
//! The derive creates a constant [`Column`](crate::Column) for each field, such as `Blog::RATING`. Comparisons of
//! columns create a [`Filter`](crate::Filter); `&`, `|` and `!` combine filters. A comparison with a value of the wrong
//! type does not compile.
//!
//! | item | use |
//! |---|---|
//! | [`Operand`] | the values that a column can be compared with |
//! | [`Assignment`] | a new value of a column, for `patch` |
//! | [`NamedColumn`] | a column whose name and type are known at run time |
//! | [`Columns`], [`SelectColumn`] | the columns of a `select` |
//! | [`Nested`], [`Variant`], [`VariantColumn`] | columns of flattened groups and of variants |
//! | [`AccessPath`] | the cost class of a filter: point, partition, range or table scan |
//! | [`ColumnRole`], [`Stored`], [`InKey`] | the role of a column: property or part of a key |
//! | [`FilterOf`], [`Assignments`], [`Settable`] | bounds with readable compile errors |
//! | [`NestedIn`] | the same, for columns of flattened groups |
//!
//! # Examples
//!
//! ```
//! use azure_table::{Filter, TableEntity};
//!
//! #[derive(TableEntity)]
//! struct Blog {
//!     #[table(partition_key)]
//!     channel: String,
//!     #[table(row_key)]
//!     id: String,
//!     rating: i32,
//! }
//!
//! let good: Filter<Blog> = Blog::CHANNEL.eq("Channel9") & Blog::RATING.ge(3);
//! assert_eq!(good.to_string(), "PartitionKey eq 'Channel9' and rating ge 3");
//! ```
//!
//! More: [the guide to queries](crate::guide::queries).

pub(crate) mod access;
pub(crate) mod assignment;
pub(crate) mod column;
pub(crate) mod column_name;
pub(crate) mod exclusion;
pub(crate) mod named_column;
pub(crate) mod nested;
pub(crate) mod odata_text;
pub(crate) mod projection;
pub(crate) mod rejected;
pub(crate) mod select;
pub(crate) mod typed;
pub(crate) mod unsupported;

pub use self::access::AccessPath;
pub use self::assignment::{Assignment, Assignments, Settable};
pub use self::column::{ColumnRole, InKey, Stored};
pub use self::named_column::NamedColumn;
pub use self::nested::{Nested, NestedIn, Variant, VariantColumn};
pub use self::select::{Columns, SelectColumn};
pub use self::typed::FilterOf;
pub use crate::key::operand::Operand;
