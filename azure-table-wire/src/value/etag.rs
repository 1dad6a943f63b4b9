//! ETags and the conditions built from them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::error_text::Shown;
use crate::error::{Error, Result};

/// An entity's version, as the service returned it.
///
/// An ETag is opaque: compare it and send it back, but never build one from a Timestamp. The ETags of a batch response
/// share memory, so keeping one keeps the text of all of them, at most 100.
///
/// If a write's response was lost and others may have changed the row since, the write returns an ETag that no row has.
/// The next write under it fails with [`ConditionNotMet`](crate::error::ErrorKind::ConditionNotMet), or with `NotFound`
/// if the row is gone.
///
/// Source: REST "Insert Entity", header `ETag`; `odata.etag` in the JSON of reads.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Box<str>", into = "String")]
pub struct ETag {
    /// The text of this ETag, or of several.
    text: Arc<str>,
    from: u32,
    to: u32,
}

/// An ETag in both services' form, from a time before either had tables. No row has it.
///
/// Source: REST "Table Service Error Codes": 412 for an ETag that differs, 400 for one of another form.
const OF_NO_ROW: &str = "W/\"datetime'2000-01-01T00%3A00%3A00.0000000Z'\"";

/// Returns an ETag that no row has: a write under it fails.
pub fn for_no_row() -> ETag {
    ETag::new(OF_NO_ROW)
}

impl ETag {
    /// Creates an ETag from text that you stored earlier.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        // No ETag is that long.
        let to = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self { text, from: 0, to }
    }

    /// Returns the text, quotes included.
    pub fn as_str(&self) -> &str {
        &self.text[self.from as usize..self.to as usize]
    }
}

/// Creates an ETag from a part of a shared text.
#[doc(hidden)]
#[inline]
pub fn part_of(all: &Arc<str>, part: Range<usize>) -> ETag {
    match (u32::try_from(part.start), u32::try_from(part.end)) {
        (Ok(from), Ok(to)) => ETag {
            text: Arc::clone(all),
            from,
            to,
        },
        _ => ETag::new(&all[part]),
    }
}

/// Checks that the service accepts this text as an ETag: `"…"` or `W/"…"`, or `*` for any.
///
/// # Errors
/// - `InvalidInput`: the text has another form.
///
/// Source: REST "Table Service Error Codes": 400 for an ETag of another form.
#[doc(hidden)]
pub fn check(etag: &ETag) -> Result<()> {
    let text = etag.as_str();
    let quoted = text.strip_prefix("W/").unwrap_or(text);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if text == "*" || inner.is_some_and(|inner| !inner.contains('"')) {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{} is no ETag, which has the form `W/\"…\"`: pass the whole text that a read or a write returned, quotes included",
        Shown(text)
    )))
}

impl PartialEq for ETag {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ETag {}

impl Hash for ETag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<Box<str>> for ETag {
    fn from(text: Box<str>) -> Self {
        Self::new(text)
    }
}

impl From<ETag> for String {
    fn from(etag: ETag) -> Self {
        etag.as_str().to_owned()
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ETag").field(&self.as_str()).finish()
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The condition that a replace, merge or delete puts on the stored entity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// The entity exists, whatever its ETag (`If-Match: *`).
    Exists,
    /// The stored entity has this ETag (`If-Match: <etag>`).
    Matches(ETag),
    /// The entity has an ETag field that is empty.
    ///
    /// The call fails before it sends anything, unless you add `unconditionally()`.
    MissingETag,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etag_is_its_text_as_a_string() {
        assert_eq!(String::from(ETag::new("W/\"1\"")), "W/\"1\"");
    }
}
