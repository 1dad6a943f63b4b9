//! The name of a column, which may be inside of flattened fields.

use std::fmt;

use azure_table_wire::value::name::{SYSTEM_PROPERTIES, property_name_fault};

/// The maximum number of parts of a column's name: three nested flattened fields, and the column.
pub(crate) const MAX_PARTS: usize = 4;

/// The replacement for a name that is nested too deep. No property can have this name.
const TOO_DEEP: &str = "…";

/// The parts of a column's name: the prefixes of the flattened fields around it, then its own name.
///
/// Unused parts are empty. An array of parts instead of one text, so that a column is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnName([&'static str; MAX_PARTS]);

impl ColumnName {
    pub const fn new(name: &'static str) -> Self {
        Self(["", "", "", name])
    }

    /// Returns the same name inside of a flattened field. A name that is nested too deep becomes one that is rejected.
    pub const fn within(self, outer: Self) -> Self {
        let mut parts = self.0;
        let mut free = 0;
        while free < MAX_PARTS && parts[free].is_empty() {
            free += 1;
        }
        let mut from = MAX_PARTS;
        while from > 0 {
            from -= 1;
            if outer.0[from].is_empty() {
                continue;
            }
            if free == 0 {
                return Self::new(TOO_DEEP);
            }
            free -= 1;
            parts[free] = outer.0[from];
        }
        Self(parts)
    }

    /// Returns the part after all prefixes: the whole name of a column outside of flattened fields.
    pub const fn last(self) -> &'static str {
        self.0[MAX_PARTS - 1]
    }

    /// Returns the fault in the name, if any.
    pub fn fault(self) -> Option<String> {
        if let [.., last] = self.0
            && self == Self::new(last)
            && SYSTEM_PROPERTIES.contains(&last)
        {
            return None;
        }
        if self == Self::new(TOO_DEEP) {
            return Some(format!("it is inside of more than {} flattened fields", MAX_PARTS - 1));
        }
        property_name_fault(&self.to_string())
    }
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| f.write_str(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_precede_the_name() {
        let geo = ColumnName::new("Geo_");
        let name = ColumnName::new("Lat").within(geo).within(ColumnName::new("Home_"));
        assert_eq!(name.to_string(), "Home_Geo_Lat");
        let nested = geo.within(ColumnName::new("Home_"));
        assert_eq!(ColumnName::new("Lat").within(nested), name);
        let deep = name.within(geo).within(geo);
        assert_eq!(
            deep.fault().as_deref(),
            Some("it is inside of more than 3 flattened fields")
        );
    }

    #[test]
    fn system_names_are_valid_only_without_a_prefix() {
        assert_eq!(ColumnName::new("RowKey").fault(), None);
        assert!(ColumnName::new("a b").fault().is_some());
        let joined = ColumnName::new("Key").within(ColumnName::new("Row"));
        assert_eq!(joined.fault().as_deref(), Some("the service reserves it"));
    }
}
