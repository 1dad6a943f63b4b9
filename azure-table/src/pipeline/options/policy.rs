//! Application code that runs around requests: once per call, and once per attempt.
//!
//! Defines [`RequestPolicy`], and the requests and responses that it sees. A policy has no `next`: it cannot send a
//! request twice, nor invent a response. `attempt.rs` and `retry_loop.rs` run the policies, `policy/http_log.rs` is
//! one.

use std::error::Error as StdError;
use std::fmt;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::location::Location;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};

use crate::pipeline::options::headers;
use crate::write::operation_request::OperationRequest;

pub(crate) mod http_log;
#[cfg(feature = "opentelemetry-033")]
pub(crate) mod trace_context;

/// The result of a hook: an error rejects the request.
pub type PolicyResult = std::result::Result<(), Box<dyn StdError + Send + Sync>>;

/// Application code that runs around each request, to add headers, log, count, delay or reject.
///
/// | hook | when |
/// |---|---|
/// | [`call`](Self::call) | before the first request of a call, of a page of a stream, or of a batch of a bulk |
/// | [`attempt`](Self::attempt) | before each request: a retry and the read-back of a lost write too |
/// | [`ended`](Self::ended) | after each request, with its response or its error |
///
/// Hooks do nothing by default. Add a policy to a client, a table or a call with
/// [`CallOptions::policy`](crate::CallOptions::policy). Policies run in the order in which they were added.
///
/// - **Headers** can be added before the request is signed: see [`PolicyRequest::set_header`]. The method, the URL, the
///   body and the response are read-only.
/// - **Time** that a hook takes counts toward the `timeout` of the call. A hook may take as long as an attempt.
/// - **An error** of a hook ends the call, without a retry. The call's error has the kind [`Other`](ErrorKind::Other),
///   and [`get_ref`](Error::get_ref) returns the hook's error. If an earlier request of the call may have been applied,
///   the kind is [`InDoubt`](ErrorKind::InDoubt). An error before a read-back ends the call without its outcome.
///
/// ```
/// use azure_table::policy::{PolicyRequest, PolicyResult, RequestPolicy};
/// use azure_table::transport::BoxFuture;
/// use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, TableServiceClient};
///
/// /// Names the tenant of each request, and allows no change of tables.
/// #[derive(Debug)]
/// struct Tenant(&'static str);
///
/// impl RequestPolicy for Tenant {
///     fn attempt<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
///         Box::pin(async move {
///             if request.operation() == "delete table" {
///                 return Err("no table is deleted here".into());
///             }
///             request.set_header("x-tenant", self.0)?;
///             Ok(())
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let table = service.with(&CallOptions::new().policy(Tenant("7"))).dynamic_table("Blogs")?;
/// table.create_table().await?;
/// table.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// let rejected = table.delete_table().await.unwrap_err();
/// assert_eq!(rejected.kind(), ErrorKind::Other);
/// # Ok(())
/// # }
/// ```
#[doc(alias(
    "HttpPipelinePolicy",
    "HttpPipelineSynchronousPolicy",
    "SansIOHTTPPolicy",
    "PipelinePolicy",
    "Policy"
))]
pub trait RequestPolicy: fmt::Debug + Send + Sync + 'static {
    /// Runs once a call, before its first request. Headers that it sets are sent with each attempt, with the read-back
    /// of a lost write, and with the creation of a missing table.
    fn call<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        let _ = request;
        Box::pin(future::ready(Ok(())))
    }

    /// Runs before each request, before it is signed.
    fn attempt<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        let _ = request;
        Box::pin(future::ready(Ok(())))
    }

    /// Runs after each request. Return quickly: the call waits, although its response has already arrived.
    ///
    /// Does not run for a request that is dropped, cannot be signed, or is rejected by a later policy, nor if the call
    /// ends while the request waits for a connection or a permit.
    fn ended(&self, request: &PolicyRequest<'_>, end: &RequestEnd<'_>) {
        let _ = (request, end);
    }
}

/// A request, as a policy sees it.
///
/// `Debug` shows neither keys nor values of headers.
pub struct PolicyRequest<'a> {
    call: &'a OperationRequest,
    location: Location,
    request: &'a mut Request<Bytes>,
}

impl PolicyRequest<'_> {
    /// Returns the operation, such as `get` or `insert or replace`: the name in errors and telemetry.
    pub fn operation(&self) -> &'static str {
        self.call.operation.name()
    }

    /// Returns the table, if the operation has one.
    pub fn table(&self) -> Option<&str> {
        self.call.table.as_deref()
    }

    /// Returns the location that the request is sent to.
    pub fn location(&self) -> Location {
        self.location
    }

    /// Returns the HTTP method.
    pub fn method(&self) -> &Method {
        self.request.method()
    }

    /// Returns the URL in the primary, without the parameter `timeout`. It contains keys and conditions.
    pub fn uri(&self) -> &Uri {
        self.request.uri()
    }

    /// Returns the headers, without those of the authorization.
    pub fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        self.request.body()
    }

    /// Sets a header. It replaces a header that a caller or a policy set before.
    ///
    /// # Errors
    /// - `InvalidInput`: the client sets the header itself, the header would change what an operation does, or the name
    ///   or the value is not valid in HTTP. The value must be ASCII.
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<()> {
        headers::put(self.request.headers_mut(), name, value)
    }
}

impl fmt::Debug for PolicyRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyRequest")
            .field("operation", &self.operation())
            .field("table", &self.table())
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

/// The end of a request.
///
/// `Debug` shows the status and the time. A body may have keys and secrets.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RequestEnd<'a> {
    /// The response, or the error of a request without one.
    pub outcome: std::result::Result<&'a Response<Bytes>, &'a Error>,
    /// The time from sending the request to the end of its response.
    pub elapsed: Duration,
}

impl fmt::Debug for RequestEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome.map(Response::status);
        let mut shown = f.debug_struct("RequestEnd");
        shown
            .field("outcome", &outcome)
            .field("elapsed", &self.elapsed)
            .finish()
    }
}

/// The policies of a call.
#[derive(Clone, Default)]
pub(crate) struct Policies {
    all: Vec<Arc<dyn RequestPolicy>>,
    /// The call is a part of another one, whose `call` hooks have run.
    pub(crate) is_within_call: bool,
}

impl Policies {
    pub(crate) fn add(&mut self, policy: Arc<dyn RequestPolicy>) {
        self.all.push(policy);
    }

    pub(crate) fn add_all(&mut self, others: Self) {
        // Options that are merged twice, such as a client's, run their policies once.
        for other in others.all {
            if !self.all.iter().any(|own| Arc::ptr_eq(own, &other)) {
                self.all.push(other);
            }
        }
        self.is_within_call |= others.is_within_call;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the addresses of the policies, which tell them apart.
    fn addresses(&self) -> Vec<usize> {
        self.all.iter().map(|policy| Arc::as_ptr(policy).addr()).collect()
    }

    /// Runs the hooks of a call on its request.
    #[cold]
    pub(crate) async fn call(&self, call: &mut OperationRequest) -> Result<()> {
        let mut changed = call.request.clone();
        for policy in self.all.iter().filter(|_| !self.is_within_call) {
            let mut request = PolicyRequest {
                call,
                location: call.location,
                request: &mut changed,
            };
            policy.call(&mut request).await.map_err(rejected)?;
        }
        call.request = changed;
        Ok(())
    }

    /// Runs the hooks of an attempt. Returns the request with the headers that they set.
    #[cold]
    pub(crate) async fn attempt(&self, call: &OperationRequest, location: Location) -> Result<Request<Bytes>> {
        let mut changed = call.request.clone();
        for policy in &self.all {
            let mut request = PolicyRequest {
                call,
                location,
                request: &mut changed,
            };
            policy.attempt(&mut request).await.map_err(rejected)?;
        }
        Ok(changed)
    }

    /// Runs the hooks of the end of an attempt.
    #[cold]
    pub(crate) fn ended(
        &self,
        call: &OperationRequest,
        location: Location,
        request: &mut Request<Bytes>,
        end: &RequestEnd<'_>,
    ) {
        let request = PolicyRequest {
            call,
            location,
            request,
        };
        for policy in &self.all {
            policy.ended(&request, end);
        }
    }
}

impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        self.addresses() == other.addresses()
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

/// Returns the error of a call that a policy rejected. An error of this crate is not passed on as it is: it may be the
/// error of another write that is in doubt.
fn rejected(error: Box<dyn StdError + Send + Sync>) -> Error {
    Error::new(ErrorKind::Other, format!("rejected by a policy: {error}")).with_source(error)
}
