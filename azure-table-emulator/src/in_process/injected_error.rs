//! Errors that the control port injects, in the form of the service.

use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::request::inbound::target::Paths;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};

use crate::access;
use crate::head;
use crate::in_process::Emulator;
use crate::operations::batch;
use crate::response::error::from_code;
use crate::response::format::ErrorForm;
use crate::response::observer::SenderRejected;
use crate::response::{OperationResponse, Trace};
use crate::rules::service_error::ServiceError;
use crate::site;
use crate::store::site::Site;

/// An error of the service: a status, a code with its text, and further headers.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct InjectedError {
    error: ServiceError,
    headers: HeaderMap,
}

impl InjectedError {
    /// Returns the error with this code, or `None` if the service of this emulator has no such code.
    pub fn new(status: u16, code: &str, headers: HeaderMap, emulator: &Emulator) -> Option<Self> {
        let error = from_code(code, emulator.settings().rules())?;
        Some(Self {
            error: ServiceError { status, ..error },
            headers,
        })
    }

    /// Returns the error as the response of an emulator to a request.
    pub fn response(&self, emulator: &Emulator, request: &Request<Bytes>) -> Response<Bytes> {
        let mut response = emulator.respond_by(request, |inbound, trace| {
            OperationResponse::service_error(&self.error, ErrorForm::of(inbound), trace)
        });
        response.headers_mut().extend(self.headers.clone());
        response
    }

    /// Returns the response to a batch in which the operation at an index fails, or the last one if there are fewer.
    pub fn batch_response(&self, index: usize, emulator: &Emulator, request: &Request<Bytes>) -> Response<Bytes> {
        emulator.respond_by(request, |inbound, trace| {
            batch::failed_at(index, self.error.clone(), self.headers.clone(), (inbound, trace))
        })
    }
}

impl Emulator {
    fn respond_by(
        &self,
        request: &Request<Bytes>,
        respond: impl FnOnce(&Inbound<'_>, &Trace) -> OperationResponse,
    ) -> Response<Bytes> {
        let settings = self.settings();
        let (head, body) = request.clone().into_parts();
        let mut trace = head::trace(&head.headers, head.uri.query(), settings);
        trace.rules = settings.rules_at(head.uri.host());
        let site = site::of(&head, settings, trace.time);
        let paths = site.as_ref().map_or(Paths::default(), Site::paths);
        let inbound = Inbound::at(paths, (&head.method, &head.uri), &head.headers, &body);
        let is_accepted = site.as_ref().is_ok_and(|site| {
            access::enter((site, settings), &head, &inbound, &trace, &self.service.store.read()).is_ok()
        });
        let mut response = respond(&inbound, &trace).into_response(&trace);
        if !is_accepted {
            response.extensions_mut().insert(SenderRejected);
        }
        response
    }
}
