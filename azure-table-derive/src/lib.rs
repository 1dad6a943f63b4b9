//! The derive macro of [azure-table](https://docs.rs/azure-table). Depend on that crate and derive
//! `azure_table::TableEntity`; the attributes are documented at [`TableEntity`](macro@TableEntity).
//!
//! Owns the way of a struct through the derive: `attr` reads the attributes, `ast` gives each field its role, `check`
//! applies the rules over the whole struct, `expand` and `column` write the code, and `fallback` what stands in its
//! place where there are mistakes. All mistakes go to one `ctxt` and are reported together. What the generated code
//! calls is in `azure_table::__private`.

mod ast;
mod attr;
mod bound;
mod case;
mod check;
mod column;
mod ctxt;
mod expand;
mod fallback;
mod key;
mod place;
mod template;
#[cfg(test)]
mod tests;

/// Derives `TableEntity`, so that a struct can be written to a table, and `ReadEntity`, so that it can be read.
///
/// ```text
/// use azure_table::{DateTime, Descending, TableEntity};
///
/// #[derive(TableEntity)]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     posted: Descending<DateTime>,
///     text: String,                       // Edm.String "text"
///     #[table(rename = "rtg")]
///     rating: i32,                        // Edm.Int32 "rtg"
///     views: Option<i64>,                 // Edm.Int64 "views", absent when None
///     #[table(ignore)]
///     cached_html: Option<String>,        // not stored
/// }
/// ```
///
/// The struct has named fields, exactly one source of its PartitionKey and one of its RowKey. Every other field is a
/// property of the field's name, unless an attribute says otherwise; its type implements `Property`, and `ReadProperty`
/// for reading. `r#type` is stored as `type`. A struct may have type parameters: a bound is added for each field whose
/// type mentions one. A struct with a lifetime parameter borrows, and can be written but not read.
///
/// The type of a key field is at least as visible as the struct: it becomes part of `TableEntity::KeyFields`.
///
/// Several attributes may stand in one `#[table(…)]` or in several. Mistakes are reported all at once. Limits: 8 key
/// fields, 252 properties, names of 255 UTF-16 units.
///
/// # Attributes of a field
///
/// ## `partition_key`, `row_key`
///
/// The field is the key. Its type implements `TableKey`, and `ReadTableKey` for reading: `String`, `u32`, `u64`,
/// `DateTime`, `Descending<DateTime>`, or your own. The key tuple of this entity is `(String, u64)`:
///
/// ```text
/// #[derive(TableEntity)]
/// struct Order {
///     #[table(partition_key)]
///     customer: String,
///     #[table(row_key)]
///     number: u64,
/// }
/// ```
///
/// ## `rename = "Name"`
///
/// The name of the property in the service, where it is not the field's. A C# identifier: letters, digits and `_`, no
/// digit first, at most 255 UTF-16 units; not PartitionKey, RowKey or Timestamp.
///
/// ```text
/// #[table(rename = "rtg")]
/// rating: i32,
/// ```
///
/// ## `ignore`
///
/// The field is not stored. Where the struct is read it is `Default::default()`.
///
/// ```text
/// #[table(ignore)]
/// cached_html: Option<String>,
/// ```
///
/// ## `etag`
///
/// The field holds the ETag of the entity that was read; its type is `Option<ETag>`. Replace, merge and delete demand
/// that version; while the field is `None` they are an error before anything is sent. At most one field. Without such a
/// field use `Versioned<E>`.
///
/// ```text
/// #[table(etag)]
/// etag: Option<ETag>,
/// ```
///
/// ## `timestamp`
///
/// The field holds the time of the last write, as the service says; its type is `Option<DateTime>`. It is never sent. At
/// most one field.
///
/// ```text
/// #[table(timestamp)]
/// changed: Option<DateTime>,
/// ```
///
/// ## `column = "NAME"`
///
/// The name of the field's constant, where it is not the field's in SCREAMING_SNAKE_CASE. For names that clash with
/// another constant of the struct.
///
/// ```text
/// #[table(column = "MAX_COLUMN")]
/// max: i64,                               // Reading::MAX_COLUMN.ge(3)
/// ```
///
/// # Attributes of a struct
///
/// ## `partition_key = "…"`, `row_key = "…"`
///
/// A key of several fields, or a constant one. `{field}` stands for the key text of a field, all else for itself; `{{`
/// and `}}` are braces. Two fields never touch: on reading a field ends where the text after it begins, and on writing a
/// value that contains that text is refused. A field stands in one template, once, and is not also a property. The key
/// tuple of this entity is `(String, String, u32)`, and its RowKey is like `o-0000000007`:
///
/// ```text
/// #[derive(TableEntity)]
/// #[table(partition_key = "{state};{city}", row_key = "o-{number}")]
/// struct Order {
///     state: String,
///     city: String,
///     number: u32,
///     total: f64,
/// }
/// ```
///
/// Without a field it is the same key for every value:
///
/// ```text
/// #[derive(TableEntity)]
/// #[table(partition_key = "settings", row_key = "")]
/// struct Settings {
///     dark: bool,
/// }
/// ```
///
/// ## `rename_all = "…"`
///
/// The names of all properties without a `rename` of their own; never those of keys. The field `posted_at` becomes:
///
/// | rule | name |
/// |---|---|
/// | `"lowercase"` | `posted_at` |
/// | `"UPPERCASE"` | `POSTED_AT` |
/// | `"PascalCase"` | `PostedAt` |
/// | `"camelCase"` | `postedAt` |
/// | `"snake_case"` | `posted_at` |
/// | `"SCREAMING_SNAKE_CASE"` | `POSTED_AT` |
///
/// ```text
/// #[derive(TableEntity)]
/// #[table(rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     slug: String,
///     posted_at: DateTime,                // "PostedAt"
///     #[table(rename = "rtg")]
///     rating: i32,                        // "rtg"
/// }
/// ```
///
/// ## `columns = off`, `columns = "PREFIX_"`
///
/// No constants, or a prefix before the name of each (not before one given by `column`).
///
/// ```text
/// #[derive(TableEntity)]
/// #[table(columns = "COL_")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,                    // Blog::COL_CHANNEL
///     #[table(row_key)]
///     slug: String,                       // Blog::COL_SLUG
/// }
/// ```
///
/// ## `crate = "path"`
///
/// The path of `azure_table`, where it is not `::azure_table`: for a crate under another name, or one that is reached
/// through another.
///
/// ```text
/// #[derive(my_platform::azure_table::TableEntity)]
/// #[table(crate = "my_platform::azure_table")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     slug: String,
/// }
/// ```
///
/// # Constants
///
/// For each property, for each key that is a field of its own, and for a `timestamp` field there is an associated
/// constant of type `Column`, as visible as the field: `Blog::RATING` is the column of `rating`, to be used in filters and
/// selections. Fields in a template, ignored fields and the ETag have none.
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn derive_table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::derive(&input).into()
}
