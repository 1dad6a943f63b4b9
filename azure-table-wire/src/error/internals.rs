//! The internals of an error, for the crates above.
//!
//! Defines [`ErrorParts`], and the methods of [`Error`] that users do not see.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use super::{Error, ErrorKind, ResponseHeaders};
use crate::error::diagnostics::Diagnostics;
use crate::error::operation_kind::{self, OperationKind};

/// The content of an error. For a write in doubt it is the last failure, which [`Error`] hides.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ErrorParts {
    pub kind: ErrorKind,
    pub message: Cow<'static, str>,
    pub operation: Option<OperationKind>,
    pub table: Option<String>,
    pub entity: Option<(String, String)>,
    pub status: Option<u16>,
    pub code: Option<String>,
    pub service_message: Option<String>,
    pub request_id: Option<String>,
    pub client_request_id: Option<String>,
    pub batch_index: Option<usize>,
    pub attempts: u32,
    pub may_have_applied: bool,
    /// The facts about a write in doubt, which a higher layer defines: `error/in_doubt_write.rs`.
    pub in_doubt_write: Option<Arc<dyn Any + Send + Sync>>,
    pub retry_after: Option<Duration>,
    pub headers: ResponseHeaders,
    pub diagnostics: Diagnostics,
    pub source: Option<Arc<dyn StdError + Send + Sync + 'static>>,
}

/// The construction of errors, and their parts.
#[doc(hidden)]
impl Error {
    pub fn of_parts(parts: ErrorParts) -> Self {
        Self { inner: Box::new(parts) }
    }

    pub fn parts(&self) -> &ErrorParts {
        &self.inner
    }

    pub fn parts_mut(&mut self) -> &mut ErrorParts {
        &mut self.inner
    }

    // Cold, so that the code that leads here stays apart from calls without errors.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::of_parts(ErrorParts {
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
            attempts: 0,
            may_have_applied: false,
            in_doubt_write: None,
            retry_after: None,
            headers: ResponseHeaders::default(),
            diagnostics: Diagnostics::default(),
            source: None,
        })
    }

    pub fn invalid_response(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidResponse, message)
    }

    /// Creates the error of a response that reports a failure.
    pub fn of_response(
        status: u16,
        code: Option<String>,
        service_message: Option<String>,
        request_id: Option<String>,
    ) -> Self {
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let code = said(code);
        let mut error = Self::new(ErrorKind::of_response(status, code.as_deref()), "").with_status(status);
        let parts = error.parts_mut();
        parts.code = code;
        parts.service_message = said(service_message);
        parts.request_id = said(request_id);
        error
    }

    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.parts_mut().message = message.into();
        self
    }

    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.parts_mut().kind = kind;
        self
    }

    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        self.parts_mut().source = Some(source.into().into());
        self
    }

    /// Returns a copy. The rows of one batch share its error, which may also end the whole operation.
    pub fn copy(&self) -> Self {
        Self::of_parts(self.parts().clone())
    }

    /// Names the operation and the table, unless a deeper layer did.
    pub fn in_operation(mut self, operation: OperationKind, table: Option<&str>) -> Self {
        let parts = self.parts_mut();
        // Cosmos DB has no code for a missing table. Storage uses this code for a table if a request is not authorized.
        let may_miss_table = parts.kind == ErrorKind::NotFound && parts.code.as_deref() == Some("ResourceNotFound");
        if parts.operation.is_none() && may_miss_table && operation_kind::needs_no_row(operation) {
            parts.kind = ErrorKind::TableNotFound;
        }
        parts.operation.get_or_insert(operation);
        if parts.table.is_none() {
            parts.table = table.map(str::to_owned);
        }
        self
    }

    /// Names the entity, unless a deeper layer did.
    pub fn at_entity(mut self, partition_key: &str, row_key: &str) -> Self {
        self.parts_mut()
            .entity
            .get_or_insert_with(|| (partition_key.to_owned(), row_key.to_owned()));
        self
    }

    pub fn at_batch_index(mut self, index: Option<usize>) -> Self {
        self.parts_mut().batch_index = index;
        self
    }

    pub fn with_request_id(mut self, request_id: Option<String>) -> Self {
        let known = &mut self.parts_mut().request_id;
        *known = known.take().or(request_id);
        self
    }

    pub fn with_status(mut self, status: u16) -> Self {
        self.parts_mut().status = Some(status);
        self
    }

    pub fn maybe_applied(mut self, may_have_applied: bool) -> Self {
        self.parts_mut().may_have_applied = may_have_applied;
        self
    }

    /// Marks the error as in doubt if earlier writes of the same call were applied.
    pub fn after_writes(mut self, were_applied: bool) -> Self {
        if were_applied {
            let parts = self.parts_mut();
            // An `InDoubtWrite` is that of one request.
            (parts.may_have_applied, parts.in_doubt_write) = (true, None);
        }
        self
    }

    /// Returns the kind of the last failure, even of a write in doubt.
    pub fn cause_kind(&self) -> ErrorKind {
        self.parts().kind
    }
}
