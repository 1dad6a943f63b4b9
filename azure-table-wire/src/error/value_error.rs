//! The reason that a value cannot be written or read.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// The reason that a value cannot be written or read.
///
/// Return it from hand-written `Property` and `TableKey` conversions. The crate adds the entity, the property and the
/// keys, and converts it into an [`Error`](crate::error::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(Cow<'static, str>);

impl ValueError {
    /// Creates an error. `reason` should read well after "property `X`: ", as does `"-5 is below the least value 0"`.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

/// Returns the error for a value of another kind.
pub fn expected(expected: &str, found: impl fmt::Display) -> ValueError {
    ValueError(format!("expected {expected}, found {found}").into())
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ValueError {}
