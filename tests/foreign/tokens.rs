//! A source of tokens that needs no Entra ID.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_table::TableKey as _;
use azure_table::key::Base64Url;
use serde_json::json;

/// The beginning of the base64 of any JSON: every token contains it, and no other output may.
pub(crate) const TOKEN_MARKER: &str = "eyJ";

/// Creates unsigned tokens with the claims of Entra ID. Clones share one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeTokens {
    scopes: Arc<Mutex<Vec<String>>>,
    fails: Arc<AtomicBool>,
}

impl FakeTokens {
    /// Returns the requested scopes, in order.
    pub(crate) fn requested(&self) -> Vec<String> {
        self.scopes.lock().unwrap().clone()
    }

    /// Sets if it fails from now on.
    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// Returns the source in the form that the client accepts.
    pub(crate) fn source(&self) -> Arc<dyn TokenCredential> {
        Arc::new(self.clone())
    }
}

#[async_trait::async_trait]
impl TokenCredential for FakeTokens {
    async fn get_token(&self, scopes: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        let number = {
            let mut requested = self.scopes.lock().unwrap();
            requested.push(scopes.join(" "));
            requested.len()
        };
        // Another request for a token arrives while this one is pending.
        tokio::time::sleep(Duration::from_millis(10)).await;
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::with_message(ErrorKind::Credential, "the tenant is\non holiday"));
        }
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs() as i64;
        let expires = now + 3_600;
        let claims = json!({
            "aud": scopes[0].trim_end_matches("/.default"),
            "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
            "iat": now - 60,
            "nbf": now - 60,
            "exp": expires,
            "oid": "11059fcc-5514-4800-b5f8-49808b9cfab6",
            "tid": "ab1f708d-50f6-404c-a006-d71b2ac7a606",
            "jti": number,
        });
        let mut token = String::new();
        for part in [json!({"typ": "JWT", "alg": "none"}), claims] {
            Base64Url(part.to_string()).write_key(&mut token).unwrap();
            token.push('.');
        }
        let expires_on = azure_core::time::OffsetDateTime::from_unix_timestamp(expires).unwrap();
        Ok(AccessToken::new(token, expires_on))
    }
}
