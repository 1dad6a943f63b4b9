//! Stores a field of a serde struct as JSON text, for [`SerdeEntity`](crate::entity::SerdeEntity).
//!
//! `#[serde(with = "azure_table::entity::json_text")]` stores a list, a map or a nested struct as the text of one
//! property. A value whose JSON is `null`, such as `None`, is not sent.
//!
//! A property that may be absent also needs `#[serde(default)]`, even if the field is an `Option`.
//!
//! ```
//! use azure_table::DynamicEntity;
//! use azure_table::entity::SerdeEntity;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Page {
//!     #[serde(rename = "PartitionKey")]
//!     site: String,
//!     #[serde(rename = "RowKey")]
//!     id: String,
//!     #[serde(with = "azure_table::entity::json_text")]
//!     tags: Vec<String>,
//!     #[serde(with = "azure_table::entity::json_text", default)]
//!     links: Option<Vec<String>>,
//! }
//!
//! let page = Page { site: "s".into(), id: "1".into(), tags: vec!["a".into(), "b".into()], links: None };
//! let stored = DynamicEntity::from_entity(&SerdeEntity::new(page))?;
//! assert_eq!(stored.get("tags"), Some(&r#"["a","b"]"#.into()));
//! assert_eq!(stored.get("links"), None);
//!
//! let page: SerdeEntity<Page> = stored.to_entity()?;
//! assert_eq!((page.tags.len(), &page.links), (2, &None));
//! # Ok::<(), azure_table::Error>(())
//! ```

use std::borrow::Cow;

use serde::de::{self, DeserializeOwned, Deserializer};
use serde::ser::{self, Serialize, Serializer};

/// Serializes the value as JSON text.
///
/// # Errors
/// - The value has no JSON form, such as a map whose keys are not text.
pub fn serialize<T: Serialize + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::to_string(value) {
        Ok(json) if json == "null" => serializer.serialize_none(),
        Ok(json) => serializer.serialize_str(&json),
        Err(e) => Err(ser::Error::custom(format_args!("it cannot be written as JSON: {e}"))),
    }
}

/// Deserializes the value from JSON text.
///
/// # Errors
/// - The text is not the JSON of a `T`.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let json = <Cow<'de, str> as de::Deserialize>::deserialize(deserializer)?;
    serde_json::from_str(&json).map_err(|e| de::Error::custom(format_args!("its JSON does not fit: {e}")))
}
