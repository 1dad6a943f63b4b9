//! The responses of an emulator with an observer.
//!
//! Reports each outcome, also of a request that no caller waits for any more. The event is in `response/observer.rs`.

#[cfg(feature = "emulator-http")]
use ::http::{HeaderMap, Method, Uri};
use ::http::{Request, Response};
#[cfg(feature = "emulator-http")]
use azure_table_core::transport::injected_fault::InjectedFault;
#[cfg(feature = "emulator-http")]
use azure_table_core::transport::{Transport, TransportError};
use bytes::Bytes;

use crate::emulator::in_process::Emulator;
#[cfg(feature = "emulator-http")]
use crate::emulator::response::observer::Observe;
use crate::emulator::response::observer::Seen;
#[cfg(feature = "emulator-http")]
use crate::emulator::rules::refusal::Refusal;

/// A request whose response is pending. If it is dropped, it is reported without a response: a fault may block it
/// forever.
#[cfg(feature = "emulator-http")]
struct Pending<'a> {
    observe: &'a Observe,
    seen: Option<Seen>,
}

#[cfg(feature = "emulator-http")]
impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(seen) = self.seen.take() {
            seen.show_lost(self.observe, "the connection closed before the response".to_owned());
        }
    }
}

impl Emulator {
    /// Responds to a request and reports it to the observer.
    pub(crate) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Some(observe) = &self.observer else {
            return self.service.answer(request).await;
        };
        let seen = Seen::of(request.method(), request.uri(), self.clock().now());
        let response = self.service.answer(request).await;
        seen.show(observe, &response, None);
        response
    }

    /// Responds to a request through a transport in front of this emulator, and reports the outcome to the observer.
    #[cfg(feature = "emulator-http")]
    pub(crate) async fn answer_through(
        &self,
        front: &dyn Transport,
        request: Request<Bytes>,
    ) -> std::result::Result<Response<Bytes>, TransportError> {
        let Some(observe) = &self.observer else {
            return front.send(request).await;
        };
        let mut pending = Pending {
            observe,
            seen: Some(Seen::of(request.method(), request.uri(), self.clock().now())),
        };
        let outcome = front.send(request).await;
        if let Some(seen) = pending.seen.take() {
            match &outcome {
                Ok(response) => {
                    let fault = response.extensions().get::<InjectedFault>();
                    seen.show(observe, response, fault.map(InjectedFault::to_string));
                }
                Err(error) => {
                    let cause = std::error::Error::source(error);
                    seen.show_lost(observe, cause.map_or_else(|| error.to_string(), ToString::to_string));
                }
            }
        }
        outcome
    }

    /// Returns the emulator without its observer.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn without_observer(self) -> Self {
        Self { observer: None, ..self }
    }

    /// Rejects a request without reading its body.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn refuse(&self, headers: &HeaderMap, refusal: &Refusal) -> Response<Bytes> {
        self.service.refuse(headers, refusal)
    }

    /// Reports a response that did not come from the service.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn show(&self, method: &Method, uri: &Uri, response: &Response<Bytes>) {
        if let Some(observe) = &self.observer {
            Seen::of(method, uri, self.clock().now()).show(observe, response, None);
        }
    }
}
