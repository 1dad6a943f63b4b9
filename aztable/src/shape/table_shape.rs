//! The shape of the rows of a table: their keys, their properties, the types of these.
//!
//! It grows with the names of properties up to a limit, not with the rows.

use std::collections::BTreeMap;

use azure_table::{DynamicEntity, EdmType, EdmValue};
use serde_json::{Value, json};

use crate::shape::key_shapes::KeyShapes;
use crate::shape::row_size::units;
use crate::value::{short_name, shortened};

/// The names of properties that are told apart: a table with more has data in its names.
const MOST_NAMES: usize = 1_000;
/// The values of a property that are shown, and their characters.
const EXAMPLES: usize = 3;
const EXAMPLE_LENGTH: usize = 24;

/// The values of a property.
#[derive(Clone, Debug, Default)]
pub(crate) struct PropertyShape {
    /// The rows with each type.
    pub(crate) types: Vec<(EdmType, u64)>,
    /// The least and the greatest length of texts in UTF-16 units, and of binary values in bytes.
    pub(crate) lengths: Option<(u64, u64)>,
    pub(crate) examples: Vec<String>,
}

impl PropertyShape {
    fn add(&mut self, value: &EdmValue) {
        let edm_type = value.edm_type();
        match self.types.iter_mut().find(|(seen, _)| *seen == edm_type) {
            Some((_, rows)) => *rows += 1,
            None => self.types.push((edm_type, 1)),
        }
        let length = match value {
            EdmValue::String(text) => Some(units(text)),
            EdmValue::Binary(bytes) => Some(bytes.len() as u64),
            _ => None,
        };
        if let Some(length) = length {
            let (least, most) = self.lengths.unwrap_or((length, length));
            self.lengths = Some((least.min(length), most.max(length)));
        }
        if self.examples.len() < EXAMPLES {
            // In one line.
            let text = value.to_string().replace(char::is_control, " ");
            let example = shortened(&text, EXAMPLE_LENGTH);
            if !self.examples.contains(&example) {
                self.examples.push(example);
            }
        }
    }

    /// Returns the number of rows that have the property.
    pub(crate) fn rows(&self) -> u64 {
        self.types.iter().map(|(_, rows)| rows).sum()
    }

    /// Returns the types, with the numbers of rows if there are several: `int32 (2), string (1)`.
    pub(crate) fn types_in_words(&self) -> String {
        let words = self.types.iter().map(|(edm_type, rows)| match self.types.len() {
            1 => short_name(*edm_type).to_owned(),
            _ => format!("{} ({rows})", short_name(*edm_type)),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The shape of the rows so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableShape {
    pub(crate) rows: u64,
    pub(crate) partition_keys: KeyShapes,
    pub(crate) row_keys: KeyShapes,
    pub(crate) properties: BTreeMap<String, PropertyShape>,
    /// The values under further names.
    pub(crate) others: u64,
}

impl TableShape {
    pub(crate) fn add(&mut self, row: &DynamicEntity) {
        self.rows += 1;
        self.partition_keys.add(&row.partition_key);
        self.row_keys.add(&row.row_key);
        for (name, value) in &row.properties {
            let is_full = self.properties.len() == MOST_NAMES;
            match self.properties.get_mut(name) {
                Some(property) => property.add(value),
                None if is_full => self.others += 1,
                None => self.properties.entry(name.clone()).or_default().add(value),
            }
        }
    }

    /// Returns the shape for programs.
    pub(crate) fn json(&self, is_sample: bool) -> Value {
        let key = |(shape, rows): (String, u64)| json!({ "shape": shape, "rows": rows });
        let keys = |shapes: &KeyShapes| shapes.in_words().into_iter().map(key).collect::<Value>();
        let property = |(name, property): (&String, &PropertyShape)| {
            let types = property.types.iter();
            let types: BTreeMap<_, _> = types.map(|(edm_type, rows)| (short_name(*edm_type), rows)).collect();
            json!({
                "name": name, "types": types, "rows": property.rows(), "lengths": property.lengths,
                "examples": property.examples,
            })
        };
        json!({
            "rows": self.rows, "sample": is_sample, "partition_key": keys(&self.partition_keys),
            "row_key": keys(&self.row_keys), "properties": self.properties.iter().map(property).collect::<Vec<_>>(),
            "values_under_other_names": self.others,
        })
    }
}
