//! A service or an emulator, with everything that a run needs there.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use azure_table::DateTime;
use azure_table::transport::Transport;
use azure_table_tests::Backend;
use bytes::Bytes;
use http::{Request, Response};

use crate::service::account::Account;
use crate::service::guard::Guard;
use crate::service::mask::{Mask, encoded};
use crate::service::requests::{LIMIT, PROPERTIES, repeated, request};
use crate::service::sas;
use crate::service::signer::Signer;
use crate::service::tables::Tables;
use crate::step::{Auth, Names, Step, table};

/// The time after which a live account applies policies and properties.
const EFFECTIVE: Duration = Duration::from_secs(30);
/// A signature by no key.
const WRONG: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// No signature of a probe allows this address.
const CALLER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), 1);

pub(crate) struct Side {
    pub(crate) account: Account,
    pub(crate) guard: Guard,
    pub(crate) backend: Backend,
    pub(crate) mask: Mask,
    signer: Signer,
    prefix: String,
}

impl Side {
    pub(crate) fn new(account: Account, guard: Guard, name: &'static str, prefix: &str) -> Result<Self, String> {
        let transport: Arc<dyn Transport> = Arc::new(guard.clone());
        let service = account.client(guard.clone())?;
        Ok(Self {
            backend: Backend::of_account(name, service, transport, prefix),
            mask: account.mask(),
            signer: Signer::new(&account.base, account.credential()?)?,
            prefix: prefix.to_owned(),
            guard,
            account,
        })
    }

    /// Returns the replacements of a fact or probe.
    pub(crate) fn names(&self, index: usize) -> Names {
        Names {
            base: self.account.base.clone(),
            table: format!("{}probes", self.prefix),
            partition: format!("k{index:03}"),
            own: format!("{}n{index:03}", self.prefix),
            etag: "*".to_owned(),
            next: String::new(),
            now: DateTime::now(),
        }
    }

    /// Creates the table of the run.
    pub(crate) async fn create_table(&self) -> Result<(), String> {
        let names = self.names(0);
        let (response, _) = self.send(&table(r#"{"TableName":"<T>"}"#), &names).await?;
        match response.status().as_u16() {
            201 | 204 => Ok(()),
            status => Err(format!("the table of the run: the service answers {status}")),
        }
    }

    /// Checks that no table has a name, so that a run may create and delete it.
    pub(crate) async fn require_free(&self, name: &str) -> Result<(), String> {
        if !name.is_empty() {
            let path = format!("Tables('{}')", encoded(&name.replace('\'', "''")));
            let response = self.request("GET", &path, &[], Bytes::new()).await?;
            if response.status().is_success() {
                return Err(format!(
                    "the account has a table {name:?}, which the probe would create"
                ));
            }
        }
        self.guard.allow(name);
        Ok(())
    }

    /// Reads the properties once in a run, before the first task that changes them, and notes them in the file of
    /// tables: the cleanup restores them. On the emulator beside an account, nothing is restored.
    pub(crate) async fn keep_properties(&self, changes: bool) -> Result<(), String> {
        let is_needed = |tables: &&Tables| changes && tables.properties().is_none();
        let Some(tables) = self.guard.tables().filter(is_needed) else {
            return Ok(());
        };
        let mut body = String::new();
        let get = async || {
            let response = self.request("GET", PROPERTIES, &[], Bytes::new()).await?;
            body = String::from_utf8_lossy(response.body()).into_owned();
            Ok(response.status().as_u16())
        };
        let read = repeated(get, |status| status == 200).await;
        read.map_err(|why| format!("the service properties: {why}"))?;
        let noted = tables.set_properties(Some(body));
        noted.map(drop).map_err(|e| format!("the file of tables: {e}"))
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response<Bytes>, String> {
        let request = request(&self.account.base, &self.signer, method, path, headers, body)?;
        self.deliver(self.signer.sign(request).await?).await
    }

    /// Waits as long as a live account needs to apply a change.
    pub(crate) async fn wait_for_change(&self) {
        if self.account.is_live {
            tokio::time::sleep(EFFECTIVE).await;
        }
    }

    /// Builds, signs and sends a request. Returns the mask of the response too.
    pub(crate) async fn send(&self, step: &Step, names: &Names) -> Result<(Response<Bytes>, Mask), String> {
        let (body, content_type) = names.body(step.body);
        let mut path = names.fill(step.path);
        if let Auth::Sas(fields) | Auth::SasAnd(fields, _) = step.auth {
            let filled = fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), names.fill(value)));
            let key = self.account.key().ok_or("it needs the account key")?;
            let token = sas::signed(&filled.collect::<Vec<_>>(), &self.account.name, key);
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&token);
        }
        if let Auth::SasAnd(_, further) = step.auth {
            path.push_str(further);
        }
        let uri = format!("{}/{path}", self.account.base);
        let mut builder = Request::builder()
            .method(step.method)
            .uri(uri)
            .header("accept", "application/json;odata=minimalmetadata")
            .header("x-ms-version", self.signer.version());
        if let Some(content_type) = content_type {
            builder = builder.header("content-type", content_type);
        }
        let mut request = builder.body(Bytes::from(body)).map_err(|e| e.to_string())?;
        for (name, value) in step.headers {
            let name = http::HeaderName::try_from(name.to_ascii_lowercase()).map_err(|e| e.to_string())?;
            let value = http::HeaderValue::try_from(names.fill(value)).map_err(|e| e.to_string())?;
            request.headers_mut().insert(name, value);
        }
        if matches!(step.auth, Auth::Own | Auth::Wrong) {
            request = self.signer.sign(request).await?;
        }
        if matches!(step.auth, Auth::Wrong) {
            falsify(&mut request)?;
        }
        for name in step.without {
            request.headers_mut().remove(*name);
        }
        let mask = self.mask.of_request(&request);
        Ok((self.deliver(request).await?, mask))
    }

    async fn deliver(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        // The caller's address for an emulator in the process, which has no connection.
        request.extensions_mut().insert(CALLER);
        let response = tokio::time::timeout(LIMIT, self.guard.send(request));
        let response = response.await.map_err(|_| format!("no response within {LIMIT:?}"))?;
        response.map_err(|e| e.to_string())
    }
}

/// Replaces the signature of a request.
fn falsify(request: &mut Request<Bytes>) -> Result<(), String> {
    let header = request
        .headers()
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let (account, _) = header
        .and_then(|value| value.split_once(':'))
        .ok_or("it needs the account key")?;
    let wrong = http::HeaderValue::try_from(format!("{account}:{WRONG}")).map_err(|e| e.to_string())?;
    request.headers_mut().insert("authorization", wrong);
    Ok(())
}
