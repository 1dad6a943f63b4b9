//! Access to the page: for whoever has the token, on this machine, from the page itself.
//!
//! The token is in the fragment of the address, which browsers do not send. A script exchanges it for a cookie that
//! no script reads and no other site sends. `Host` and `Origin` are checked on every request: a foreign name may
//! resolve to this machine, and a page of another site may send forms.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::failure::{Done, Failure};
use crate::ui::pages::{self, Problem, Shown};

const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     form-action 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// The hash of the token, and the names of the site.
pub(super) struct Access {
    token: [u8; 32],
    hosts: [String; 2],
    cookie: String,
}

impl Access {
    /// Returns the access by a new token, and the token.
    pub(super) fn new(port: u16) -> Done<(Arc<Self>, String)> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|error| Failure::new(format!("no random numbers: {error}")))?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let access = Arc::new(Self {
            token: Sha256::digest(&token).into(),
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            // Cookies of all ports of a host are one.
            cookie: format!("aztable-{port}"),
        });
        Ok((access, token))
    }

    /// Compares hashes, whose time says nothing about the token.
    fn is_token(&self, text: &str) -> bool {
        self.token == <[u8; 32]>::from(Sha256::digest(text))
    }

    fn has_session(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        cookies.flat_map(|text| text.split(';')).any(|cookie| {
            let (name, value) = cookie.trim().split_once('=').unwrap_or_default();
            name == self.cookie && self.is_token(value)
        })
    }

    /// Checks `Host`, and `Origin`, without which no form is taken.
    fn is_own_site(&self, method: &Method, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let is_own = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        let is_own_origin = match text(header::ORIGIN) {
            Some(origin) => origin.strip_prefix("http://").is_some_and(is_own),
            None => method == Method::GET && !headers.contains_key(header::ORIGIN),
        };
        text(header::HOST).is_some_and(is_own) && is_own_origin
    }
}

/// Rejects requests for other hosts and from other sites, and protects each response.
pub(super) async fn check_site(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let response = match access.is_own_site(request.method(), request.headers()) {
        true => next.run(request).await,
        false => Problem(StatusCode::FORBIDDEN, "this address is not the page's own".into()).into_response(),
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without a referrer, browsers send forms with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, response).into_response()
}

/// Shows the door instead of a page, without a session.
pub(super) async fn check_session(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.has_session(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::UNAUTHORIZED, pages::door()).into_response(),
    }
}

/// Exchanges the token for the cookie.
pub(super) async fn session(State(access): State<Arc<Access>>, token: String) -> Shown {
    if !access.is_token(&token) {
        let text = "this is not the address that aztable printed";
        return Err(Problem(StatusCode::UNAUTHORIZED, text.into()));
    }
    let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", access.cookie);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
