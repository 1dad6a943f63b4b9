//! The reason that a value cannot be written or read.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// The reason that a value cannot be written or read.
///
/// Returned by hand-written [`Property`](crate::model::property::Property) and
/// [`TableKey`](crate::model::key::TableKey) conversions. The crate adds the entity, the property and the keys, and
/// converts it into an [`Error`](crate::model::error::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(Cow<'static, str>);

impl ValueError {
    /// Creates an error. Its reason reads well after "property `X`: ", such as `"-5 is below the least value 0"`.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }

    pub(crate) fn expected(expected: &str, found: impl fmt::Display) -> Self {
        Self(format!("expected {expected}, found {found}").into())
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ValueError {}
