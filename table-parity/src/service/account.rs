//! An account: its address and credential, and the emulator that stands beside it.

use std::net::IpAddr;
use std::sync::Arc;

use azure_table::auth::AuthorizationContext;
use azure_table::transport::{BoxFuture, Transport};
use azure_table::{AccountKey, Credential, Emulator, ErrorKind, Profile, SasToken, TableServiceClient};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};

use crate::service::mask::{Mask, NAME};
use crate::service::sas;

/// The key of the emulator beside the account.
const TWIN_KEY: &str = "AAECAwQFBgcICQoLDA0ODw==";
/// The token that it accepts.
const TWIN_TOKEN: &str = "twin";
/// The last labels of names that are never public.
///
/// Source: RFC 2606, RFC 6761, RFC 6762; ICANN, 29 July 2024, for `internal`.
const LOCAL: [&str; 6] = ["example", "internal", "invalid", "local", "localhost", "test"];

/// The credential and address of an account, as they were given.
pub(crate) enum Given {
    ConnectionString(String),
    Token { endpoint: String, token: String },
}

/// The credential of an account, with its secret.
#[derive(Clone)]
pub(crate) enum Identity {
    Key(String),
    Sas(String),
    Token(String),
}

#[derive(Clone)]
pub(crate) struct Account {
    /// The base URL: the host in lower case, no default port, and no slash at its end.
    pub(crate) base: String,
    pub(crate) host: String,
    pub(crate) name: String,
    pub(crate) identity: Identity,
    pub(crate) is_cosmos: bool,
    pub(crate) is_live: bool,
}

impl Account {
    /// Checks an account. `is_cosmos` is set for a Cosmos DB whose address does not show the service.
    pub(crate) fn new(given: &Given, is_cosmos: bool) -> Result<Self, String> {
        let (service, identity) = match given {
            Given::ConnectionString(text) => {
                let service = TableServiceClient::from_connection_string(text).map_err(|e| e.to_string())?;
                let text = service.to_connection_string().map_err(|e| e.to_string())?;
                let setting = |name: &str| {
                    let value = text.split(';').find_map(|part| part.strip_prefix(name));
                    value.map(str::to_owned)
                };
                let identity = match (setting("AccountKey="), setting("SharedAccessSignature=")) {
                    (Some(key), _) => Identity::Key(key),
                    (None, Some(token)) => {
                        sas::check(&token)?;
                        Identity::Sas(token.trim_start_matches('?').to_owned())
                    }
                    (None, None) => return Err("the connection string has no credential".to_owned()),
                };
                (service, identity)
            }
            Given::Token { endpoint, token } => {
                if !endpoint.starts_with("https://") {
                    return Err("a token is sent over HTTPS only: set an endpoint with https://".to_owned());
                }
                let bearer = Bearer::new(token)?;
                let service = TableServiceClient::new(endpoint, bearer).map_err(|e| e.to_string())?;
                (service, Identity::Token(token.trim().to_owned()))
            }
        };
        let uri: http::Uri = service
            .endpoint()
            .parse()
            .map_err(|_| "the endpoint is no URL".to_owned())?;
        let bare = &uri.host().unwrap_or_default().to_ascii_lowercase();
        let scheme = uri.scheme_str().unwrap_or_default();
        let host = match (scheme, uri.port_u16()) {
            (_, None) | ("http", Some(80)) | ("https", Some(443)) => bare.clone(),
            (_, Some(port)) => format!("{bare}:{port}"),
        };
        let base = format!("{scheme}://{host}{}", uri.path().trim_end_matches('/'));
        let name = service
            .account()
            .unwrap_or_else(|| bare.split('.').next().unwrap_or_default());
        Ok(Self {
            is_live: is_public(bare),
            is_cosmos: is_cosmos || service.profile() == Profile::Cosmos,
            name: name.to_owned(),
            base,
            host,
            identity,
        })
    }

    /// Returns a name for the report.
    pub(crate) fn kind(&self) -> String {
        let service = if self.is_cosmos {
            "Cosmos DB for Table"
        } else {
            "Azure Table storage"
        };
        let credential = match self.identity {
            Identity::Key(_) => "an account key",
            Identity::Sas(_) => "a shared access signature",
            Identity::Token(_) => "a token",
        };
        let live = if self.is_live { "" } else { ", not a live account" };
        format!("{service} with {credential}{live}")
    }

    /// Returns the account key, which signs further signatures.
    pub(crate) fn key(&self) -> Option<&str> {
        match &self.identity {
            Identity::Key(key) => Some(key),
            _ => None,
        }
    }

    /// Returns the base URL in outputs: the same for the account and its emulator.
    fn shown_base(&self) -> String {
        if self.is_cosmos {
            format!("https://{NAME}.table.cosmos.azure.com")
        } else {
            format!("https://{NAME}.table.core.windows.net")
        }
    }

    pub(crate) fn mask(&self) -> Mask {
        let mut mask = Mask::of(&self.base, &self.host, &self.shown_base(), &self.name);
        match &self.identity {
            Identity::Key(secret) | Identity::Token(secret) => mask.secret(secret),
            Identity::Sas(token) => {
                mask.secret(token);
                mask.signature(token);
            }
        }
        mask
    }

    /// Returns its credential.
    pub(crate) fn credential(&self) -> Result<Arc<dyn Credential>, String> {
        Ok(match &self.identity {
            Identity::Key(key) => Arc::new(AccountKey::new(&self.name, key).map_err(|e| e.to_string())?),
            Identity::Sas(token) => Arc::new(SasToken::new(token).map_err(|e| e.to_string())?),
            Identity::Token(token) => Arc::new(Bearer::new(token)?),
        })
    }

    /// Returns its client over a transport.
    pub(crate) fn client(&self, transport: impl Transport) -> Result<TableServiceClient, String> {
        let service = match &self.identity {
            Identity::Token(token) => TableServiceClient::new(&self.base, Bearer::new(token)?),
            Identity::Key(key) => TableServiceClient::from_connection_string(&format!(
                "AccountName={};AccountKey={key};TableEndpoint={}",
                self.name, self.base
            )),
            Identity::Sas(token) => TableServiceClient::from_connection_string(&format!(
                "TableEndpoint={};SharedAccessSignature={token}",
                self.base
            )),
        };
        let profile = if self.is_cosmos {
            Profile::Cosmos
        } else {
            Profile::Storage
        };
        let service = service.map_err(|e| e.to_string())?.transport(transport);
        Ok(service.with_profile(profile))
    }

    /// Returns the emulator of this service, and its account with a credential of the same kind.
    pub(crate) fn twin(&self) -> Result<(Self, Emulator), String> {
        let emulator = if self.is_cosmos {
            Emulator::cosmos()
        } else {
            Emulator::new()
        };
        let emulator = emulator
            .account(NAME, TWIN_KEY)
            .map_err(|e| e.to_string())?
            .token(TWIN_TOKEN);
        let is_in_path = self.base.ends_with(&format!("/{}", self.name));
        let base = if is_in_path {
            format!("{}/{NAME}", self.base.trim_end_matches(&format!("/{}", self.name)))
        } else {
            self.shown_base()
        };
        let host = base.split('/').nth(2).unwrap_or_default().to_owned();
        let identity = match &self.identity {
            Identity::Key(_) => Identity::Key(TWIN_KEY.to_owned()),
            Identity::Sas(token) => Identity::Sas(sas::signed(&sas::fields(token), NAME, TWIN_KEY)),
            Identity::Token(_) => Identity::Token(TWIN_TOKEN.to_owned()),
        };
        let account = Self {
            base,
            host,
            name: NAME.to_owned(),
            identity,
            is_live: false,
            is_cosmos: self.is_cosmos,
        };
        Ok((account, emulator))
    }
}

/// Returns `true` if a host may belong to an account in a cloud, also under a domain of its owner's.
///
/// No list of clouds decides: a live account that is missing there would be taken for an emulator.
fn is_public(host: &str) -> bool {
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let last = host.trim_end_matches('.').rsplit_once('.').map(|(_, last)| last);
    !is_address && last.is_some_and(|last| !LOCAL.contains(&last))
}

/// A token of Entra ID. It is sent as it is: `EntraCredential` would need a source of tokens, and the crate azure_core.
struct Bearer(HeaderValue);

impl Bearer {
    fn new(token: &str) -> Result<Self, String> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.trim()))
            .map_err(|_| "the token has characters that a header cannot have".to_owned())?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer")
    }
}

impl Credential for Bearer {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, azure_table::Result<()>> {
        let is_https = request.uri().scheme_str() == Some("https");
        if is_https {
            request.headers_mut().insert(AUTHORIZATION, self.0.clone());
        }
        let unencrypted = || azure_table::testing::error(ErrorKind::InvalidInput);
        Box::pin(std::future::ready(is_https.then_some(()).ok_or_else(unencrypted)))
    }

    fn version(&self) -> &'static str {
        "2020-12-06"
    }
}
