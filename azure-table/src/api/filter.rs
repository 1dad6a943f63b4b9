//! Filters: typed columns, comparisons, and the values of a patch.
//!
//! The derive creates a constant [`Column`](crate::Column) for each field, such as `Blog::RATING`. Comparisons of
//! columns create a [`Filter`](crate::Filter); `&`, `|` and `!` combine filters. A comparison with a value of the wrong
//! type does not compile.
//!
//! | item | use |
//! |---|---|
//! | [`Operand`] | the values that a column compares with |
//! | [`Assignment`] | a new value of a column, for `patch` |
//! | [`NamedColumn`] | a column whose name and type are known at run time |
//! | [`Columns`], [`SelectColumn`] | the columns of a `select` |
//! | [`Nested`], [`Variant`], [`VariantColumn`] | columns of flattened groups and of variants |
//! | [`AccessPath`] | the cost class of a filter: point, partition, range or table scan |
//! | [`ColumnRole`], [`Stored`], [`InKey`] | the role of a column: property or part of a key |
//! | [`FilterOf`], [`Assignments`], [`Settable`], [`StartsWith`] | bounds with readable compile errors |
//! | [`ColumnOfVariant`], [`NestedIn`] | the same, for columns of variants and of flattened groups |
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

#[doc(inline)]
pub use azure_table_wire::filter::access::AccessPath;
#[doc(inline)]
pub use azure_table_wire::filter::assignment::{Assignment, Assignments, Settable};
#[doc(inline)]
pub use azure_table_wire::filter::column::{ColumnRole, InKey, StartsWith, Stored};
#[doc(inline)]
pub use azure_table_wire::filter::named_column::NamedColumn;
#[doc(inline)]
pub use azure_table_wire::filter::nested::{ColumnOfVariant, Nested, NestedIn, Variant, VariantColumn};
#[doc(inline)]
pub use azure_table_wire::filter::select::{Columns, SelectColumn};
#[doc(inline)]
pub use azure_table_wire::filter::typed::FilterOf;
#[doc(inline)]
pub use azure_table_wire::model::operand::Operand;
