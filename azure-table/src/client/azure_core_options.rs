//! The options that a program shares between its Azure clients: `ClientOptions` of azure_core.

use std::any::Any;
use std::sync::Arc;

use azure_core::http::policies::Policy;
use azure_core::http::{ClientOptions, Transport as CoreTransport};
use azure_table_wire::error::Result;

use crate::client::service::TableServiceClient;
use crate::pipeline::Pipeline;
use crate::pipeline::auth::entra::EntraCredential;
use crate::pipeline::transport::azure_core_transport::AzureCoreTransport;
use crate::pipeline::transport::transport_http_client::TransportHttpClient;

impl TableServiceClient {
    /// Applies the options that a program shares between its Azure clients. Feature `azure-core-1`.
    ///
    /// | option | effect |
    /// |---|---|
    /// | `user_agent` | its application ID becomes the [`application_id`](Self::application_id); other clients of `azure_core` panic if it has a `/` or more than 24 characters |
    /// | `transport` | sends the requests; without one, the client keeps its own |
    /// | `per_call_policies`, `per_try_policies` | run for each attempt in this order, because a signature is for one attempt |
    /// | `cloud` | the audience of an [`EntraCredential`] without a scope, instead of the one that follows from the address: a custom domain needs it |
    /// | `retry`, `logging`, `instrumentation` | none: use [`retry`](Self::retry) and the [telemetry](crate::telemetry) of this crate |
    ///
    /// With a transport or policies, every failure without a response counts as "may have been sent", because they may
    /// have sent the request before: see [`AzureCoreTransport::from_client`]. A policy must not send a request twice,
    /// and sees it signed. If it rejects one, the client retries, as after a broken connection: reject with a
    /// [`policy`](crate::policy) of this crate.
    ///
    /// A later [`transport`](Self::transport) replaces the options' transport together with their policies.
    ///
    /// ```
    /// use azure_core::http::{ClientOptions, UserAgentOptions};
    /// use azure_table::{AccountKey, TableServiceClient};
    ///
    /// let mut shared = ClientOptions::default();
    /// shared.user_agent.application_id = Some("orders".to_owned());
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?
    ///     .client_options(shared)?;
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a custom cloud has no audience for [`EntraCredential`]: add
    ///   one with `Audiences::with::<EntraCredential>`.
    pub fn client_options(&self, options: ClientOptions) -> Result<Self> {
        let mut credential = None;
        if let Some(cloud) = &options.cloud
            && let Some(entra) = (&*self.pipeline.credential as &dyn Any).downcast_ref::<EntraCredential>()
        {
            credential = Some(entra.in_cloud(cloud, self.profile())?);
        }
        Ok(self.changed(|pipeline| {
            if let Some(credential) = credential {
                pipeline.credential = Arc::new(credential);
            }
            if let Some(id) = &options.user_agent.application_id {
                pipeline.settings.set_application_id(id);
            }
            let policies = [options.per_call_policies, options.per_try_policies].concat();
            set_transport(pipeline, policies, options.transport);
        }))
    }
}

fn set_transport(pipeline: &mut Pipeline, policies: Vec<Arc<dyn Policy>>, transport: Option<CoreTransport>) {
    match (transport, &pipeline.transport) {
        (Some(transport), _) => pipeline.transport = Ok(Arc::new(AzureCoreTransport::of(policies, transport, false))),
        (None, Ok(own)) if !policies.is_empty() => {
            let client = CoreTransport::new(Arc::new(TransportHttpClient::of(Arc::clone(own))));
            let behind = Arc::clone(own);
            pipeline.transport = Ok(Arc::new(AzureCoreTransport::of(policies, client, false).before(behind)));
        }
        (None, _) => {}
    }
}
