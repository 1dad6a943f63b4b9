//! The name of a column, which may stand inside of flattened fields.

use std::fmt;

use crate::model::name::{SYSTEM_PROPERTIES, property_name_fault};

/// How deep flattened fields may be nested for their columns to be named.
pub(crate) const MAX_PARTS: usize = 4;

/// Stands for a name that is too deep; no property can be called so.
const TOO_DEEP: &str = "…";

/// The parts of a column's name: the prefixes of the flattened fields it stands in, then its own name. Unused parts are
/// empty. Parts instead of text, so that a column is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnName([&'static str; MAX_PARTS]);

impl ColumnName {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(["", "", "", name])
    }

    /// The same name inside of a flattened field. One that stands too deep becomes a name that is refused.
    pub(crate) const fn within(self, outer: Self) -> Self {
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

    /// The part behind all prefixes: the whole name of a column that stands in no flattened field.
    pub(crate) const fn last(self) -> &'static str {
        self.0[MAX_PARTS - 1]
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(self) -> Option<String> {
        if let [.., last] = self.0
            && self == Self::new(last)
            && SYSTEM_PROPERTIES.contains(&last)
        {
            return None;
        }
        if self == Self::new(TOO_DEEP) {
            return Some(format!("it stands in more than {} flattened fields", MAX_PARTS - 1));
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
    fn prefixes_stand_before_the_name() {
        let geo = ColumnName::new("Geo_");
        let name = ColumnName::new("Lat").within(geo).within(ColumnName::new("Home_"));
        assert_eq!(name.to_string(), "Home_Geo_Lat");
        let nested = geo.within(ColumnName::new("Home_"));
        assert_eq!(ColumnName::new("Lat").within(nested), name);
        let deep = name.within(geo).within(geo);
        assert_eq!(
            deep.fault().as_deref(),
            Some("it stands in more than 3 flattened fields")
        );
    }

    #[test]
    fn only_a_name_alone_is_one_of_the_services_own() {
        assert_eq!(ColumnName::new("RowKey").fault(), None);
        assert!(ColumnName::new("a b").fault().is_some());
        let joined = ColumnName::new("Key").within(ColumnName::new("Row"));
        assert_eq!(joined.fault().as_deref(), Some("the service reserves it"));
    }
}
