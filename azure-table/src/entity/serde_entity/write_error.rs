//! The error of a value that cannot be written.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use azure_table_wire::error::Error;
use serde::ser;

/// The reason that a value cannot be written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// An error that names the property.
    Located(Error),
    /// A reason without the property, which is added later.
    Reason(Cow<'static, str>),
}

impl WriteError {
    pub(super) fn reason(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reason(reason.into())
    }

    /// Names the place, unless a deeper value did.
    pub(super) fn at(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Located(_) => self,
            Self::Reason(reason) => Self::Located(Error::invalid_input(format!("{place}: {reason}"))),
        }
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Located(error) => error,
            Self::Reason(reason) => Error::invalid_input(reason),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Located(error) => error.fmt(f),
            Self::Reason(reason) => f.write_str(reason),
        }
    }
}

impl StdError for WriteError {}

impl ser::Error for WriteError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::reason(message.to_string())
    }
}
