//! Text forms that OData uses in more than one place.

use std::fmt;

/// Text with each single quote doubled: how OData writes text in quotes, in filters and in entity addresses.
pub(crate) struct Doubled<'a>(pub(crate) &'a str);

impl fmt::Display for Doubled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.0.split('\'').enumerate() {
            if n > 0 {
                f.write_str("''")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}
