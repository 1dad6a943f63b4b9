//! Responses of an emulator on a port: through a transport in front of it, and to incomplete requests.
//!
//! Reports each outcome to the observer, even if the client has disconnected. The event is in `response/observer.rs`.

use azure_table_wire::transport::{Transport, TransportError};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response};

use crate::head;
use crate::in_process::Emulator;
use crate::response::OperationResponse;
use crate::response::format::ErrorForm;
use crate::response::observer::{Observe, Seen};
use crate::rules::service_error::ServiceError;

/// A request whose response is pending. Dropping it reports the request without a response, because a fault may block
/// the response forever.
struct Pending<'a>(Option<(Seen, &'a Observe)>);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some((seen, observe)) = self.0.take() {
            let seen = seen.without_batch();
            seen.show_lost(observe, "the connection closed before the response".to_owned());
        }
    }
}

impl Emulator {
    /// Responds to a request through a transport in front of this emulator, and reports the outcome to the observer.
    pub(crate) async fn respond_through(
        &self,
        front: &dyn Transport,
        request: Request<Bytes>,
    ) -> std::result::Result<Response<Bytes>, TransportError> {
        let mut pending = Pending(self.seen(&request));
        let outcome = front.send(request).await;
        if let Some((seen, observe)) = pending.0.take() {
            seen.show(observe, &outcome);
        }
        outcome
    }

    /// Returns the emulator without its observer.
    pub(crate) fn without_observer(mut self) -> Self {
        self.observer = None;
        self
    }

    /// Rejects a request without reading its body.
    pub(crate) fn reject(&self, headers: &HeaderMap, service_error: &ServiceError) -> Response<Bytes> {
        let trace = head::trace(headers, None, self.settings());
        OperationResponse::service_error(service_error, ErrorForm::default(), &trace).into_response(&trace)
    }

    /// Reports a response that did not come from the service.
    pub(crate) fn show(&self, head: &Parts, response: &std::result::Result<Response<Bytes>, TransportError>) {
        if let Some(observe) = &self.observer {
            let head = (&head.method, &head.uri, &head.headers);
            Seen::from_head(head, self.clock().now()).show(observe, response);
        }
    }
}
