//! The text of an error: one line for people, and the same with its causes for a program that ends with it.

use std::error::Error as StdError;
use std::fmt;

use super::{Error, ErrorKind, MAY_HAVE_APPLIED};
use crate::error::error_text::{OneLine, Shown};
use crate::error::operation_kind::{self, OperationKind, Subject};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.inner;
        if let Some(operation) = inner.operation {
            f.write_str(operation.name())?;
            if let Some(table) = &inner.table {
                let place = match operation_kind::facts(operation).subject {
                    Subject::Table => "",
                    _ => " in table",
                };
                write!(f, "{place} {table}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(index) = inner.batch_index {
            write!(f, "operation {index} of the batch: ")?;
        }
        if let Some((partition_key, row_key)) = &inner.entity {
            write!(f, "entity ({}, {}): ", Shown(partition_key), Shown(row_key))?;
        }
        let mut parts = Parts { f, first: true };
        match (inner.status, &inner.code) {
            (Some(status), Some(code)) => parts.add(format_args!("the service answered {status} {}", OneLine(code)))?,
            // It may be a proxy's response.
            (Some(status), None) => parts.add(format_args!("the server answered {status}"))?,
            (None, _) => {}
        }
        if !inner.message.is_empty() {
            parts.add(format_args!("{}", OneLine(&inner.message)))?;
        }
        if let Some(message) = &inner.service_message {
            parts.add(format_args!("{}", OneLine(message)))?;
        }
        // Not for the one operation that wants it gone.
        if inner.kind == ErrorKind::TableNotFound && inner.operation != Some(OperationKind::DeleteTable) {
            parts.add(format_args!("`create_table_if_not_exists` creates it"))?;
        }
        if let Some(request_id) = &inner.request_id {
            write!(f, " (request {})", OneLine(request_id))?;
        }
        if inner.attempts > 1 {
            write!(f, " (after {} attempts)", inner.attempts)?;
        }
        if inner.may_have_applied {
            f.write_str(MAY_HAVE_APPLIED)?;
        }
        Ok(())
    }
}

/// Writes the parts of an error text, separated by colons.
struct Parts<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    first: bool,
}

impl Parts<'_, '_> {
    fn add(&mut self, part: fmt::Arguments<'_>) -> fmt::Result {
        if !std::mem::take(&mut self.first) {
            self.f.write_str(": ")?;
        }
        self.f.write_fmt(part)
    }
}

/// Writes the text and its causes on one line, as a program prints that returns the error from `main`.
///
/// `{:#?}` prints the kind and the source as a struct.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &self.kind())
                .field("text", &format_args!("{self}"))
                .field("source", &self.inner.source)
                .finish();
        }
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {}", OneLine(&error.to_string()))?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_text_is_one_line_and_names_operation_table_code_and_request() {
        let mut error = Error::of_response(
            409,
            Some("EntityAlreadyExists".into()),
            Some("The specified entity\nalready exists.".into()),
            Some("b3-1".into()),
        )
        .in_operation(OperationKind::Insert, Some("Blogs"));
        error.parts_mut().attempts = 1;
        assert_eq!(
            error.to_string(),
            "insert in table Blogs: the service answered 409 EntityAlreadyExists: \
             The specified entity already exists. (request b3-1)"
        );
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn debug_is_the_text_with_its_causes() {
        let rejected = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
        let error = Error::other(Outer(rejected)).in_operation(OperationKind::Get, Some("Blogs"));
        assert_eq!(
            format!("{error:?}"),
            "get in table Blogs: cannot connect: connection refused"
        );
        assert!(
            format!("{error:#?}").starts_with("Error {\n    kind: Other,\n"),
            "{error:#?}"
        );
        assert_eq!(format!("{:?}", Error::invalid_input("too long")), "too long");
    }

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot connect")
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }
}
