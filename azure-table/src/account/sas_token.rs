//! Shared access signatures as credentials.
//!
//! Defines [`SasToken`], the text of a signature. `sas_builder.rs` has the builders, and `sas_parameters.rs` has the
//! text to sign.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use azure_table_wire::account::signature::is_same_secret;
use azure_table_wire::codec::url;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::sas::parameters::{SasParameters, time};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;
use http::uri::PathAndQuery;
use zeroize::Zeroizing;

/// A shared access signature.
///
/// Its text grants access to anyone who has it. `Debug` never shows it, and it is overwritten on drop.
#[derive(Clone)]
pub struct SasToken(Zeroizing<Box<str>>);

impl SasToken {
    /// Creates a credential from the text of a signature: a query string, with or without a leading `?`.
    ///
    /// For a whole URL with its signature, see `TableServiceClient::from_sas_url`.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the text is a whole URL, has no `sig`, is for
    ///   another service, or has characters that no URL can have. The error never shows the text.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        Self::read(text.as_ref()).map_err(invalid)
    }

    /// Parses the text of a signature. Returns the reason alone if it is invalid.
    pub(super) fn read(text: &str) -> std::result::Result<Self, &'static str> {
        let text = text.trim().trim_start_matches('?');
        if text.contains('?') {
            return Err("a whole URL: use `from_sas_url` of the clients, or pass only the part after its `?`");
        }
        // A text that cannot be part of a URL would fail each request.
        if !text.is_ascii() || text.contains('#') || PathAndQuery::try_from(format!("/?{text}")).is_err() {
            return Err("characters that no URL can have, or too many for one: copy the signature unchanged");
        }
        let value = |name| {
            text.split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if value("sig").is_none_or(str::is_empty) {
            return Err("no `sig`: copy the whole signature, which may be the last parameter");
        }
        if value("sr").is_some() || value("ss").is_some_and(|services| !services.contains('t')) {
            return Err("it is for another service: create one for the Table service (`ss=t`)");
        }
        Ok(Self(Zeroizing::new(with_encoded_signature(text).into())))
    }

    /// Creates a signature from its parameters and the signature over them.
    pub(crate) fn signed(parameters: &SasParameters, signature: String) -> Self {
        let signature = Zeroizing::new(signature);
        let mut said = String::new();
        for (name, value) in parameters.pairs() {
            // Writing to a String cannot fail.
            let _ = write!(said, "{name}={}&", url::encode(value));
        }
        // Reallocation would leave a copy that is never overwritten. The capacity covers the longest encoding, so the
        // text is copied once.
        let most = said.len() + "sig=".len() + 3 * signature.len();
        let mut text = Zeroizing::new(String::with_capacity(most));
        let _ = write!(text, "{said}sig={}", url::encode(&signature));
        Self(Zeroizing::new(Box::from(text.as_str())))
    }

    /// Returns the expiry time, or `None` if a stored access policy sets it.
    ///
    /// Short for `parts().expiry`.
    pub fn expiry(&self) -> Option<DateTime> {
        time(parameters(self).get("se"))
    }

    /// Returns the parts of the signature, without the secret.
    ///
    /// ```
    /// use azure_table::{AccountKey, DateTime, TableName, TablePermissions, TableSas};
    ///
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let sas = TableSas::new(&TableName::new("Orders")?).policy("readers").first("ada", "").last("ada", "");
    /// let parts = sas.sign(&key)?.parts();
    /// assert_eq!((parts.table.as_deref(), parts.policy.as_deref()), (Some("Orders"), Some("readers")));
    /// assert_eq!(parts.from, Some(("ada".to_owned(), String::new())));
    /// assert_eq!((parts.permissions.as_str(), parts.expiry), ("", None)); // the policy has them
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    pub fn parts(&self) -> SasParts {
        let parameters = parameters(self);
        let text = |name| Some(parameters.get(name).to_owned()).filter(|value| !value.is_empty());
        let keys = |[partition_key, row_key]: [&str; 2]| {
            let keys = (parameters.get(partition_key), parameters.get(row_key));
            (keys != ("", "")).then(|| (keys.0.to_owned(), keys.1.to_owned()))
        };
        SasParts {
            version: text("sv"),
            table: text("tn"),
            permissions: parameters.get("sp").to_owned(),
            resources: parameters.get("srt").to_owned(),
            services: parameters.get("ss").to_owned(),
            start: time(parameters.get("st")),
            expiry: time(parameters.get("se")),
            policy: text("si"),
            from: keys(["spk", "srk"]),
            to: keys(["epk", "erk"]),
            ip: text("sip"),
            https_only: parameters.get("spr") == "https",
            delegated_by: text("skoid"),
            user: parameters.get("sduoid").parse().ok(),
        }
    }

    /// Returns the text of the signature.
    ///
    /// The text grants access to anyone who has it: keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// The parts of a shared access signature.
///
/// [`SasToken::parts`] returns them as the signature states them. The service may still reject it.
///
/// Source: REST "Create a service SAS", "Create an account SAS", "Create a user delegation SAS".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SasParts {
    /// The version of the service that the signature is for, such as `2019-02-02`.
    pub version: Option<String>,
    /// The table, or `None` for a signature of the account.
    pub table: Option<String>,
    /// The letters of the permissions, such as `raud`: see `TablePermissions` and `AccountPermissions`. Empty if a
    /// stored access policy sets them.
    pub permissions: String,
    /// The letters of the kinds of resources of an account's signature: see `AccountResources`. Empty for a table.
    pub resources: String,
    /// The letters of the services of an account's signature: see `AccountServices`. Empty for a table.
    pub services: String,
    /// The time from which the signature is valid.
    pub start: Option<DateTime>,
    /// The time at which it expires, or `None` if a stored access policy sets it.
    pub expiry: Option<DateTime>,
    /// The id of the stored access policy.
    pub policy: Option<String>,
    /// The PartitionKey and RowKey of the first entity. An empty RowKey is the first of the partition.
    pub from: Option<(String, String)>,
    /// The PartitionKey and RowKey of the last entity. An empty RowKey is the whole partition.
    pub to: Option<(String, String)>,
    /// The address or range of addresses that may use it.
    pub ip: Option<String>,
    /// `true` if the service accepts it over HTTPS only.
    pub https_only: bool,
    /// The object id of the identity whose user delegation key signed it, or `None` for an account key.
    pub delegated_by: Option<String>,
    /// The object id of the only user who may use it: see `TableSas::for_user`.
    pub user: Option<Guid>,
}

/// Returns the parameters of the signature.
pub(crate) fn parameters(token: &SasToken) -> SasParameters {
    SasParameters::parse(token.expose())
}

/// Returns `true` if the service accepts the signature over HTTPS only.
pub(crate) fn is_https_only(token: &SasToken) -> bool {
    token.0.split('&').any(|pair| pair == "spr=https")
}

/// Compares in constant time.
impl PartialEq for SasToken {
    fn eq(&self, other: &Self) -> bool {
        is_same_secret(&self.0, &other.0)
    }
}

impl Eq for SasToken {}

/// Encodes each `+` of the signature. In a query `+` means a space, which base64 never has.
fn with_encoded_signature(text: &str) -> Cow<'_, str> {
    if !text.contains('+') {
        return Cow::Borrowed(text);
    }
    let pairs = text.split('&').map(|pair| match pair.strip_prefix("sig=") {
        Some(signature) => Cow::Owned(format!("sig={}", signature.replace('+', "%2B"))),
        None => Cow::Borrowed(pair),
    });
    Cow::Owned(pairs.collect::<Vec<_>>().join("&"))
}

impl fmt::Debug for SasToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SasToken(hidden)")
    }
}

/// Returns the error of an invalid signature.
pub(crate) fn invalid(why: &str) -> Error {
    Error::invalid_input(format!("shared access signature: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_follows_its_parameters() {
        let mut said = SasParameters::default();
        said.add("tn", "Orders");
        said.add("st", "2026-01-01T00:00:00Z");
        let token = SasToken::signed(&said, "a+b/c=".to_owned());
        assert_eq!(token.expose(), "tn=Orders&st=2026-01-01T00%3A00%3A00Z&sig=a%2Bb%2Fc%3D");
        assert_eq!(
            SasToken::signed(&SasParameters::default(), "a+b/c=".to_owned()).expose(),
            "sig=a%2Bb%2Fc%3D"
        );
        assert_eq!(token, SasToken::new(token.expose()).unwrap());
        assert_ne!(
            token,
            SasToken::new(token.expose().replace("Orders", "orders")).unwrap()
        );
    }

    #[test]
    fn token_text_is_checked_and_never_shown() {
        let token = SasToken::new(" ?sv=2019-02-02&sig=SECRET%3D ").unwrap();
        assert_eq!(token.expose(), "sv=2019-02-02&sig=SECRET%3D");
        assert_eq!(format!("{token:?}"), "SasToken(hidden)");
        let bare = SasToken::new("sv=1&sig=a+b/c=").unwrap();
        assert_eq!(bare.expose(), "sv=1&sig=a%2Bb/c=");
        for wrong in [
            "",
            "sv=1&sig=",
            "sv=1&SECRET",
            "sig=SECRET with space",
            "sig=SECRET#x",
            "\"sv=1&sig=SECRET\"",
            "sig=<SECRET>",
            "https://contoso.table.core.windows.net/?sv=1&sig=SECRET",
            "sv=1&sr=b&sig=SECRET",
            "sv=1&ss=bq&sig=SECRET",
        ] {
            let error = SasToken::new(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with("shared access signature: ") && !error.contains("SECRET"),
                "{error}"
            );
        }
    }
}
