//! Signatures for requests that the client cannot build, by the client's own credentials.
//!
//! A credential authorizes a request only inside of a call. So [`Signer`] makes a call whose credential puts another
//! request in place of the call's own, lets the real credential sign it, and keeps it. The call then ends with an error
//! before anything is sent.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::auth::AuthorizationContext;
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use azure_table::{Credential, ErrorKind, NoRetry, TableServiceClient};
use bytes::Bytes;
use http::{Request, Response};

#[derive(Clone)]
pub(crate) struct Signer {
    service: TableServiceClient,
    slot: Slot,
    version: &'static str,
}

type Slot = Arc<Mutex<Option<Request<Bytes>>>>;

impl Signer {
    pub(crate) fn new(base: &str, credential: Arc<dyn Credential>) -> Result<Self, String> {
        let slot = Slot::default();
        let version = credential.version();
        let service = TableServiceClient::new(
            base,
            Substitute {
                credential,
                slot: slot.clone(),
            },
        );
        Ok(Self {
            service: service.map_err(|e| e.to_string())?.transport(Unused).retry(NoRetry),
            slot,
            version,
        })
    }

    /// Returns the version of the protocol that the credential needs.
    pub(crate) fn version(&self) -> &'static str {
        self.version
    }

    /// Signs a request.
    pub(crate) async fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, String> {
        self.put(Some(request));
        let outcome = self.service.ping().await;
        let signed = self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        match signed {
            Some(signed) if signed.extensions().get::<Signed>().is_some() => Ok(signed),
            _ => Err(outcome.err().map_or("no signature".to_owned(), |e| e.to_string())),
        }
    }

    fn put(&self, request: Option<Request<Bytes>>) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = request;
    }
}

/// The mark of a request that was signed.
#[derive(Clone, Copy)]
struct Signed;

struct Substitute {
    credential: Arc<dyn Credential>,
    slot: Slot,
}

impl fmt::Debug for Substitute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Substitute")
    }
}

impl Credential for Substitute {
    fn authorize<'a>(
        &'a self,
        _: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, azure_table::Result<()>> {
        Box::pin(async move {
            let taken = self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let stop = azure_table::testing::error(ErrorKind::InvalidInput);
            let Some(mut request) = taken else { return Err(stop) };
            self.credential.authorize(&mut request, context).await?;
            request.extensions_mut().insert(Signed);
            *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
            Err(stop)
        })
    }

    fn version(&self) -> &'static str {
        self.credential.version()
    }
}

/// A transport that nothing reaches.
#[derive(Debug)]
struct Unused;

impl Transport for Unused {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let error = TransportError::new(Delivery::NothingSent, "only signs");
        Box::pin(std::future::ready(Err(error)))
    }
}
