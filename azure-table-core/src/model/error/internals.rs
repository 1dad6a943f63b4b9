//! The internals of an error, for the crates above.
//!
//! Owns [`ErrorInternals`]: a trait, because a method of [`Error`] would be public to users as well.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use super::{Error, ErrorKind, Inner, ResponseHeaders};
use crate::model::diagnostics::Diagnostics;
use crate::model::operation_kind::OperationKind;

/// The construction of errors, and the failure behind a write in doubt.
#[doc(hidden)]
pub trait ErrorInternals: Sized {
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self;

    fn invalid_response(message: impl Into<Cow<'static, str>>) -> Self;

    /// Creates the error of a response that reports a failure.
    fn answered(status: u16, code: Option<String>, service_message: Option<String>, request_id: Option<String>)
    -> Self;

    fn with_message(self, message: impl Into<Cow<'static, str>>) -> Self;

    fn with_kind(self, kind: ErrorKind) -> Self;

    /// Adds a remedy to the message.
    fn advising(self, remedy: &str) -> Self;

    fn has_message(&self) -> bool;

    fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self;

    /// Returns a copy. The rows of one batch share its error, which may also end the whole operation.
    fn copy(&self) -> Self;

    /// Names the operation and the table, unless a deeper layer did.
    fn in_operation(self, operation: OperationKind, table: Option<&str>) -> Self;

    /// Names the entity, unless a deeper layer did.
    fn at_entity(self, partition_key: &str, row_key: &str) -> Self;

    fn at_batch_index(self, index: Option<usize>) -> Self;

    fn with_request_id(self, request_id: Option<String>) -> Self;

    fn with_diagnostics(self, diagnostics: Diagnostics) -> Self;

    fn with_status(self, status: u16) -> Self;

    fn maybe_applied(self, may_have_applied: bool) -> Self;

    /// Returns the kind of the last failure, even of a write in doubt.
    fn cause_kind(&self) -> ErrorKind;

    /// Returns the status of the last response, even of a write in doubt.
    fn cause_status(&self) -> Option<u16>;

    /// Returns the code of the last response, even of a write in doubt.
    fn cause_code(&self) -> Option<&str>;

    /// Returns the error for one of the writes that were sent in a batch of this size, with its operation and entity.
    fn of_grouped_write(self, operation: OperationKind, keys: (&str, &str), batch_size: usize) -> Self;

    fn after_attempts(self, attempts: u32) -> Self;

    fn with_retry_after(self, retry_after: Option<Duration>) -> Self;

    fn with_headers(self, headers: ResponseHeaders) -> Self;

    fn with_client_request_id(self, id: Option<String>) -> Self;
}

impl ErrorInternals for Error {
    // Cold, so that the code that leads here is apart from that of calls without errors.
    #[cold]
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                message: message.into(),
                operation: None,
                table: None,
                entity: None,
                status: None,
                code: None,
                service_message: None,
                request_id: None,
                client_request_id: None,
                batch_index: None,
                batch_size: None,
                attempts: 0,
                may_have_applied: false,
                retry_after: None,
                headers: ResponseHeaders::default(),
                diagnostics: Diagnostics::default(),
                source: None,
            }),
        }
    }

    fn invalid_response(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidResponse, message)
    }

    fn answered(
        status: u16,
        code: Option<String>,
        service_message: Option<String>,
        request_id: Option<String>,
    ) -> Self {
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let code = said(code);
        let mut error = Self::new(ErrorKind::of_answer(status, code.as_deref()), "");
        error.inner.status = Some(status);
        error.inner.code = code;
        error.inner.service_message = said(service_message);
        error.inner.request_id = said(request_id);
        error
    }

    fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = message.into();
        self
    }

    fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.inner.kind = kind;
        self
    }

    fn advising(mut self, remedy: &str) -> Self {
        self.inner.message = format!("{}; {remedy}", self.inner.message).into();
        self
    }

    fn has_message(&self) -> bool {
        !self.inner.message.is_empty()
    }

    fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        self.inner.source = Some(source.into().into());
        self
    }

    fn copy(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }

    fn in_operation(mut self, operation: OperationKind, table: Option<&str>) -> Self {
        self.inner.operation.get_or_insert(operation);
        if self.inner.table.is_none() {
            self.inner.table = table.map(str::to_owned);
        }
        self
    }

    fn at_entity(mut self, partition_key: &str, row_key: &str) -> Self {
        self.inner
            .entity
            .get_or_insert_with(|| (partition_key.to_owned(), row_key.to_owned()));
        self
    }

    fn at_batch_index(mut self, index: Option<usize>) -> Self {
        self.inner.batch_index = index;
        self
    }

    fn with_request_id(mut self, request_id: Option<String>) -> Self {
        if self.inner.request_id.is_none() {
            self.inner.request_id = request_id;
        }
        self
    }

    fn with_diagnostics(mut self, diagnostics: Diagnostics) -> Self {
        self.inner.diagnostics = diagnostics;
        self
    }

    fn with_status(mut self, status: u16) -> Self {
        self.inner.status = Some(status);
        self
    }

    fn maybe_applied(mut self, may_have_applied: bool) -> Self {
        self.inner.may_have_applied = may_have_applied;
        self
    }

    fn cause_kind(&self) -> ErrorKind {
        self.inner.kind
    }

    fn cause_status(&self) -> Option<u16> {
        self.inner.status
    }

    fn cause_code(&self) -> Option<&str> {
        self.inner.code.as_deref()
    }

    fn of_grouped_write(
        mut self,
        operation: OperationKind,
        (partition_key, row_key): (&str, &str),
        batch_size: usize,
    ) -> Self {
        self.inner.operation = Some(operation);
        self.inner.entity = Some((partition_key.to_owned(), row_key.to_owned()));
        self.inner.batch_index = None;
        self.inner.batch_size = (batch_size > 1).then_some(batch_size);
        self
    }

    fn after_attempts(mut self, attempts: u32) -> Self {
        self.inner.attempts = attempts;
        self
    }

    fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.inner.retry_after = retry_after;
        self
    }

    fn with_headers(mut self, headers: ResponseHeaders) -> Self {
        self.inner.headers = headers;
        self
    }

    fn with_client_request_id(mut self, id: Option<String>) -> Self {
        self.inner.client_request_id = id;
        self
    }
}
