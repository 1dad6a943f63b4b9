//! One side of the comparison: the service or the emulator, with everything that a run needs there.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use azure_table::DateTime;
use azure_table::transport::Transport;
use azure_table_tests::Backend;
use bytes::Bytes;
use http::{Request, Response};

use crate::account::Account;
use crate::compare::Seen;
use crate::guard::Guard;
use crate::mask::{Mask, encoded};
use crate::probe::{Auth, Names, Needs, Probe, Step};
use crate::sas;
use crate::signer::Signer;
use crate::tables::Tables;

/// The time after which a live account applies policies and properties.
const EFFECTIVE: Duration = Duration::from_secs(30);
/// The time for a response.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The reasons for which a probe waits for another account.
pub(crate) const NEEDS_STORAGE: &str = "it needs Azure Table storage";
pub(crate) const NEEDS_COSMOS: &str = "it needs Cosmos DB";
/// No signature of a probe allows this address.
const CALLER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), 1);
const PROPERTIES: &str = "?restype=service&comp=properties";

pub(crate) struct Side {
    pub(crate) account: Account,
    pub(crate) guard: Guard,
    pub(crate) backend: Backend,
    pub(crate) mask: Mask,
    signer: Signer,
    prefix: String,
}

/// The responses of a probe, and the reason why further ones are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) steps: Vec<Seen>,
    pub(crate) failed: Option<String>,
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

    /// Returns the replacements of a probe.
    fn names(&self, index: usize) -> Names {
        Names {
            table: format!("{}probes", self.prefix),
            partition: format!("k{index:03}"),
            own: format!("{}n{index:03}", self.prefix),
            etag: "*".to_owned(),
            now: DateTime::now(),
        }
    }

    /// Creates the table of the probes.
    pub(crate) async fn start_probes(&self) -> Result<(), String> {
        let names = self.names(0);
        let (response, _) = self
            .send(&crate::probe::table(r#"{"TableName":"<T>"}"#), &names)
            .await?;
        match response.status().as_u16() {
            201 | 204 => Ok(()),
            status => Err(format!("the table of the probes: the service answers {status}")),
        }
    }

    /// Sends the requests of a probe.
    pub(crate) async fn observe(&self, index: usize, probe: &Probe) -> Observed {
        let mut observed = Observed::default();
        if let Err(why) = self.steps(index, probe, &mut observed).await {
            observed.failed = Some(self.mask.hide(&why));
        }
        observed
    }

    async fn steps(&self, index: usize, probe: &Probe, observed: &mut Observed) -> Result<(), String> {
        for name in probe.free {
            self.require_free(name).await?;
        }
        let mut names = self.names(index);
        for step in probe.steps {
            if step.waits && self.account.is_live {
                tokio::time::sleep(EFFECTIVE).await;
            }
            let (response, mask) = self.send(step, &names).await?;
            if let Some(etag) = response.headers().get("etag").and_then(|value| value.to_str().ok()) {
                etag.clone_into(&mut names.etag);
            }
            let seen = Seen::of(&response, &mask);
            if step.is_setup && seen.status >= 400 {
                let (method, path) = (step.method, step.path);
                return Err(format!(
                    "{method} {path}, which prepares the probe, fails: {}",
                    seen.outcome()
                ));
            }
            observed.steps.push(seen);
        }
        Ok(())
    }

    /// Checks that no table has a name, so that a run may create and delete it.
    async fn require_free(&self, name: &str) -> Result<(), String> {
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

    /// Reads the properties, and notes them in the file of tables. Properties that are noted were not restored yet:
    /// they are the account's own, and the service may have others by now.
    pub(crate) async fn keep_properties(&self) -> Result<String, String> {
        if let Some(properties) = self.guard.tables().and_then(Tables::properties) {
            return Ok(properties);
        }
        let response = self.request("GET", PROPERTIES, &[], Bytes::new()).await?;
        if response.status() != 200 {
            return Err(format!(
                "the service properties: the service answers {}",
                response.status()
            ));
        }
        let properties = String::from_utf8_lossy(response.body()).into_owned();
        if let Some(tables) = self.guard.tables() {
            tables
                .set_properties(Some(properties.clone()))
                .map_err(|e| format!("the file of tables: {e}"))?;
        }
        Ok(properties)
    }

    /// Restores the properties.
    pub(crate) async fn restore_properties(&self, properties: String) -> Result<(), String> {
        let put = async || {
            let body = properties.clone().into();
            let response = self.request("PUT", PROPERTIES, &[], body).await?;
            Ok(response.status().as_u16())
        };
        let restored = repeated(put, |status| status < 300).await;
        restored.map_err(|why| format!("restore the service properties: {why}"))?;
        match self.guard.tables() {
            Some(tables) => tables.set_properties(None).map(drop).map_err(|e| e.to_string()),
            None => Ok(()),
        }
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

    /// Builds, signs and sends a request of a probe. Returns the mask of the response too.
    async fn send(&self, step: &Step, names: &Names) -> Result<(Response<Bytes>, Mask), String> {
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
        if matches!(step.auth, Auth::Own) {
            request = self.signer.sign(request).await?;
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

/// Builds a request without a signature.
fn request(
    base: &str,
    signer: &Signer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Request<Bytes>, String> {
    let is_xml = path.contains("comp=");
    let [accept, content_type] = if is_xml {
        ["application/xml", "application/xml"]
    } else {
        ["application/json;odata=nometadata", "application/json"]
    };
    let mut builder = Request::builder()
        .method(method)
        .uri(format!("{base}/{path}"))
        .header("accept", accept)
        .header("x-ms-version", signer.version());
    if !body.is_empty() {
        builder = builder.header("content-type", content_type);
    }
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).map_err(|e| e.to_string())
}

/// The result of a cleanup.
#[derive(Debug, Default)]
pub(crate) struct Cleaned {
    /// The numbers of tables.
    pub(crate) deleted: usize,
    pub(crate) not_found: usize,
    /// The service listed the tables of the run at the end.
    pub(crate) is_listed: bool,
    pub(crate) problems: Vec<String>,
}

/// Sends a request that the account depends on up to four times. Returns the status that is final, or the last failure.
async fn repeated(
    mut send: impl AsyncFnMut() -> Result<u16, String>,
    is_final: impl Fn(u16) -> bool,
) -> Result<u16, String> {
    let mut last = String::new();
    for attempt in 0..4 {
        if attempt > 0 {
            tokio::time::sleep(Duration::from_millis(500 << attempt)).await;
        }
        last = match send().await {
            Ok(status) if is_final(status) => return Ok(status),
            Ok(status) => status.to_string(),
            Err(why) => why,
        };
    }
    Err(last)
}

/// Deletes the tables of a file, and restores the properties in it. Tables of the run that the service still lists
/// afterwards are noted again.
pub(crate) async fn clean_up(account: &Account, transport: &Arc<dyn Transport>, tables: &Tables) -> Cleaned {
    let mask = account.mask();
    let mut cleaned = Cleaned::default();
    let signer = match account
        .credential()
        .and_then(|credential| Signer::new(&account.base, credential))
    {
        Ok(signer) => signer,
        Err(why) => {
            cleaned.problems.push(mask.hide(&why));
            return cleaned;
        }
    };
    let send = async |method: &str, path: &str, body: Bytes| -> Result<u16, String> {
        let request = signer
            .sign(request(&account.base, &signer, method, path, &[], body)?)
            .await?;
        let response = tokio::time::timeout(LIMIT, transport.send(request)).await;
        let response = response.map_err(|_| format!("no response within {LIMIT:?}"))?;
        Ok(response.map_err(|e| e.to_string())?.status().as_u16())
    };
    if let Some(properties) = tables.properties() {
        let put = async || send("PUT", PROPERTIES, properties.clone().into()).await;
        match repeated(put, |status| status < 300).await {
            Ok(_) => drop(tables.set_properties(None)),
            Err(why) => cleaned.problems.push(format!(
                "the service properties are not restored: {}; restore them with: {}",
                mask.hide(&why),
                tables.command()
            )),
        }
    }
    for name in tables.names() {
        let path = format!("Tables('{}')", encoded(&name.replace('\'', "''")));
        let delete = async || send("DELETE", &path, Bytes::new()).await;
        let deleted = repeated(delete, |status| matches!(status, 204 | 404)).await;
        match deleted {
            Ok(204) => cleaned.deleted += 1,
            Ok(_) => cleaned.not_found += 1,
            Err(_) => {}
        }
        let removed = deleted.and_then(|_| tables.remove(&name).map_err(|e| e.to_string()));
        if let Err(why) = removed {
            let why = format!("table {name:?} is not deleted: {why}");
            cleaned.problems.push(mask.hide(&why));
        }
    }
    let Some(prefix) = tables.prefix() else { return cleaned };
    match listed(account, transport, prefix).await {
        Ok(left) => {
            cleaned.is_listed = true;
            for name in left {
                if tables.add(&name).unwrap_or(true) {
                    let why = "the service still lists it after its deletion";
                    cleaned.problems.push(format!("table {name:?} is left: {why}"));
                }
            }
        }
        Err(why) => cleaned
            .problems
            .push(mask.hide(&format!("the tables of the run are not listed: {why}"))),
    }
    cleaned
}

/// Returns the tables of an account whose names begin with a prefix.
async fn listed(account: &Account, transport: &Arc<dyn Transport>, prefix: &str) -> Result<Vec<String>, String> {
    let service = account.client(Guard::new(transport.clone(), prefix, u64::MAX, None))?;
    let names = service.attempt_timeout(LIMIT).list_tables().starting_with(prefix).all();
    let mut names = names.await.map_err(|e| e.to_string())?;
    names.retain(|name| name.starts_with(prefix));
    Ok(names)
}

/// Returns the reason why a probe cannot run on an account.
pub(crate) fn obstacle(probe: &Probe, account: &Account, change_properties: bool) -> Option<&'static str> {
    use crate::probe::On;
    match (probe.on, account.is_cosmos) {
        (On::Storage, true) => return Some(NEEDS_STORAGE),
        (On::Cosmos, false) => return Some(NEEDS_COSMOS),
        _ => {}
    }
    match probe.needs {
        Needs::Key | Needs::Properties if account.key().is_none() => Some("it needs the account key"),
        Needs::Properties if !change_properties => Some("it changes the service properties: --change-properties"),
        _ => None,
    }
}
