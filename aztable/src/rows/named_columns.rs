//! The columns of a file by their names: which are the keys, and which property each of the others is.

use std::collections::HashMap;

use azure_table::EdmType;

use crate::failure::{Done, usage};
use crate::rows::row_source::ColumnOptions;

/// The name of a column, with its type if the file says it.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) edm_type: Option<EdmType>,
}

impl Name {
    /// Takes the type from a header such as `Age:Edm.Int32`.
    pub(crate) fn of(header: &str) -> Self {
        let typed = header.rsplit_once(':');
        let typed = typed.and_then(|(name, edm_type)| Some((name, Some(EdmType::from_name(edm_type)?))));
        let (text, edm_type) = typed.unwrap_or((header, None));
        let text = text.to_owned();
        Self { text, edm_type }
    }
}

/// The use of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    PartitionKey,
    RowKey,
    Property(String),
    /// ETag and Timestamp, which the service sets, and columns that describe others.
    Ignored,
}

/// Decides the use of each column.
///
/// # Errors
/// A key has no column, or two columns are one property.
pub(crate) fn uses(names: &[Name], options: &ColumnOptions) -> Done<Vec<Use>> {
    let [partition, row] = options.key_names()?;
    for key in [partition, row] {
        if !names.iter().any(|name| name.text == key) {
            usage!("no column {key:?}: name the columns of PartitionKey and RowKey with --keys A,B");
        }
    }
    let mut properties = HashMap::new();
    let mut uses = Vec::with_capacity(names.len());
    for name in names {
        let text = &name.text;
        let is_in_property = |c: &char| c.is_alphanumeric() || *c == '_';
        let usage = match text.as_str() {
            key if key == partition => Use::PartitionKey,
            key if key == row => Use::RowKey,
            // Names that the file gives with types are properties as they are.
            typed if name.edm_type.is_some() => Use::Property(typed.to_owned()),
            "ETag" | "Timestamp" => Use::Ignored,
            untyped => Use::Property(untyped.chars().filter(is_in_property).collect()),
        };
        if let Use::Property(property) = &usage {
            if let Some(other) = properties.insert((property.clone(), name.edm_type), text) {
                usage!("the columns {other:?} and {text:?} become one property: rename one of them");
            }
        } else if usage != Use::Ignored && uses.contains(&usage) {
            usage!("two columns are {text:?}");
        }
        uses.push(usage);
    }
    Ok(uses)
}
