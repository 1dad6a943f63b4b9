//! Errors as pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use azure_table::{Error, ErrorKind};

use crate::failure::with_causes;
use crate::ui::pages;

/// An error as a page.
pub(super) struct Problem(pub(super) StatusCode, pub(super) String);

/// A page, or the problem in its place.
pub(super) type Shown = Result<Response, Problem>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound | ErrorKind::TableNotFound => StatusCode::NOT_FOUND,
            ErrorKind::AlreadyExists | ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Forbidden | ErrorKind::Unauthenticated => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self(status, with_causes(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, pages::problem(self.0, &self.1)).into_response()
    }
}
