//! One call, attempt by attempt: authorize, send, classify, wait.
//!
//! All calls of a client share its [`Pipeline`]. `retry_loop` runs the attempts of a call, and `attempt` runs one of
//! them. `next_step` decides what follows an attempt, `read_back` reads back a write whose response was
//! lost, and `lost_write` decides what became of it. `shared_fetch` lets
//! calls share the fetch of a credential.
//!
//! `transport` of azure-table-wire is the seam to the network, which the folder `transport` implements. `notifications`
//! reports each step to the receivers in `observer`. `auth` holds the credentials, `retry` the policies, `options` and
//! `settings` the options of one call and of a client. Only `write` and `request` know the meaning of a request.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;

use crate::pipeline::auth::Credential;
use crate::pipeline::observer::Observers;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::exponential::ExponentialRetry;
use crate::pipeline::settings::ClientSettings;
use crate::pipeline::skew::ServiceClock;
use crate::pipeline::transport::default_transport::MaybeTransport;

mod attempt;
pub(crate) mod attempt_end;
pub(crate) mod auth;
pub(crate) mod location;
pub(crate) mod lost_write;
pub(crate) mod next_step;
mod notifications;
pub(crate) mod observer;
pub(crate) mod options;
mod read_back;
pub(crate) mod retry;
mod retry_loop;
pub(crate) mod settings;
pub(crate) mod shared_fetch;
mod skew;
pub(crate) mod transport;

/// The state that all calls of one client share. A clone shares connections, credential, limits and clock.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    /// The transport, or the error that calls return until one is set.
    pub(crate) transport: MaybeTransport,
    pub(crate) credential: Arc<dyn Credential>,
    pub(crate) settings: ClientSettings,
    pub(crate) retry: Arc<dyn RetryPolicy>,
    pub(crate) clock: Arc<ServiceClock>,
    pub(crate) observers: Observers,
}

impl Pipeline {
    pub(crate) fn new(endpoint: Endpoint, transport: MaybeTransport, credential: Arc<dyn Credential>) -> Self {
        Self {
            endpoint,
            transport,
            credential,
            settings: ClientSettings::default(),
            retry: Arc::new(ExponentialRetry::default().budget(RetryBudget::default())),
            clock: Arc::default(),
            observers: Observers::default(),
        }
    }
}
