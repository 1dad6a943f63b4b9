//! Shared access signatures: made with an account key, used as a credential.
//!
//! Owns [`SasToken`], the two builders [`TableSas`] and [`AccountSas`], and what they refuse. What is signed is `sas.rs`.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use http::uri::PathAndQuery;
use zeroize::Zeroizing;

use crate::codec::url;
use crate::model::datetime::DateTime;
use crate::model::error::{Error, Result};
use crate::model::key_shape::check_keys;
use crate::model::name::TableName;
use crate::model::ordinal;
use crate::protocol::account_key::AccountKey;
use crate::protocol::request::X_MS_VERSION;
use crate::protocol::sas::{SasParameters, account_string_to_sign, addresses, table_string_to_sign, time};
use crate::protocol::sas_permissions::{AccountPermissions, AccountResources, TablePermissions};

/// The longest name of a stored access policy, in characters.
const MAX_POLICY_ID: usize = 64;

/// A shared access signature: whoever has its text may do what it says. Never shown, and overwritten when it is dropped.
#[derive(Clone)]
pub struct SasToken(Zeroizing<Box<str>>);

impl SasToken {
    /// A signature as somebody else made it: a query string, a leading `?` or none. Of a URL with a signature it is what
    /// follows the `?`.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — it is a whole URL, has no `sig`, is for another service, or has
    /// characters that no URL can have. The text is not shown.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref().trim().trim_start_matches('?');
        if text.contains('?') {
            return Err(refused("it is a whole URL: give what follows its `?`"));
        }
        // What is no part of a URL would fail each request.
        if !text.is_ascii() || text.contains('#') || PathAndQuery::try_from(format!("/?{text}")).is_err() {
            return Err(refused(
                "it has characters that no URL can have, or is too long for one",
            ));
        }
        let value = |name| {
            text.split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if value("sig").is_none_or(str::is_empty) {
            return Err(refused("it has no `sig`"));
        }
        if value("sr").is_some() || value("ss").is_some_and(|services| !services.contains('t')) {
            return Err(refused("it is for another service, not for tables"));
        }
        Ok(Self(Zeroizing::new(with_encoded_signature(text).into())))
    }

    fn signed(mut parameters: SasParameters, signature: String) -> Self {
        parameters.add("sig", signature);
        let mut text = String::new();
        for (name, value) in parameters.pairs() {
            let separator = if text.is_empty() { "" } else { "&" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{separator}{name}={}", url::encode(value));
        }
        Self(Zeroizing::new(text.into()))
    }

    /// What it says.
    pub(crate) fn parameters(&self) -> SasParameters {
        SasParameters::parse(self.expose())
    }

    /// When it ends; `None` if that is said by a stored access policy.
    pub fn expiry(&self) -> Option<DateTime> {
        time(self.parameters().get("se"))
    }

    /// Whether the service takes it over HTTPS only.
    pub(crate) fn is_https_only(&self) -> bool {
        self.0.split('&').any(|pair| pair == "spr=https")
    }

    /// The text, to be handed on. Whoever has it may do what it says: keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Whether two are the same takes the same time wherever they differ.
impl PartialEq for SasToken {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        let difference = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
        a.len() == b.len() && std::hint::black_box(difference) == 0
    }
}

impl Eq for SasToken {}

/// In a query `+` means a space, which base64 never has: it is a signature that nobody encoded.
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

/// What both kinds of signatures may say of their use.
#[derive(Clone, Debug, Default)]
struct Use {
    start: Option<DateTime>,
    expiry: Option<DateTime>,
    ip: Option<String>,
    https_only: bool,
}

impl Use {
    fn write(&self, parameters: &mut SasParameters) -> Result<()> {
        if let (Some(start), Some(expiry)) = (self.start, self.expiry)
            && start.unix_seconds() >= expiry.unix_seconds()
        {
            return Err(refused(&format!(
                "it would expire at {expiry}, not a second after its start at {start}"
            )));
        }
        if let Some(ip) = self.ip.as_deref().filter(|ip| addresses(ip).is_none()) {
            return Err(refused(&format!(
                "{ip:?} is neither an IP address nor two with `-` between them, the lower first"
            )));
        }
        parameters.add("st", self.start.map(seconds).unwrap_or_default());
        parameters.add("se", self.expiry.map(seconds).unwrap_or_default());
        parameters.add("sip", self.ip.clone().unwrap_or_default());
        parameters.add("spr", if self.https_only { "https" } else { "" });
        Ok(())
    }
}

/// Signatures know seconds.
fn seconds(time: DateTime) -> String {
    DateTime::from_unix_seconds(time.unix_seconds()).to_string()
}

fn refused(why: &str) -> Error {
    Error::invalid_input(format!("shared access signature: {why}"))
}

/// The setters of both builders.
macro_rules! uses {
    ($name:ident) => {
        impl $name {
            /// From when on it may be used; cut to seconds. Allow for clocks that differ: the service's counts.
            pub fn start(mut self, start: DateTime) -> Self {
                self.used.start = Some(start);
                self
            }

            /// Until when it may be used; cut to seconds.
            pub fn expiry(mut self, expiry: DateTime) -> Self {
                self.used.expiry = Some(expiry);
                self
            }

            /// From which address it may be used: one, `168.1.5.60`, or a range, `168.1.5.60-168.1.5.70`; no CIDR.
            pub fn ip(mut self, address_or_range: impl Into<String>) -> Self {
                self.used.ip = Some(address_or_range.into());
                self
            }

            /// Only over HTTPS.
            pub fn https_only(mut self) -> Self {
                self.used.https_only = true;
                self
            }
        }
    };
}

/// A signature for one table: some operations on its entities, perhaps only in a range of keys.
///
/// It cannot make, drop or list tables. For Azure Table storage: of Cosmos DB only account signatures are confirmed.
///
/// ```
/// use azure_table::{AccountKey, DateTime, TableName, TablePermissions, TableSas};
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let sas = TableSas::new(&TableName::new("Orders")?)
///     .permissions(TablePermissions::READ | TablePermissions::ADD)
///     .expiry(DateTime::now() + std::time::Duration::from_secs(3_600))
///     .from("customer-1", "")      // all rows of one partition
///     .to("customer-1", "")
///     .sign(&key)?;
/// assert!(sas.expose().contains("sp=ra&"));
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Create a service SAS".
#[derive(Clone, Debug)]
#[must_use = "it has to be signed"]
pub struct TableSas {
    table: TableName,
    permissions: Option<TablePermissions>,
    policy: Option<String>,
    from: Option<(String, String)>,
    to: Option<(String, String)>,
    used: Use,
}
uses!(TableSas);

impl TableSas {
    /// A signature for this table. It needs permissions and an expiry, or a stored access policy that has them.
    pub fn new(table: &TableName) -> Self {
        Self {
            table: table.clone(),
            permissions: None,
            policy: None,
            from: None,
            to: None,
            used: Use::default(),
        }
    }

    /// What it allows. An upsert needs both `ADD` and `UPDATE`.
    pub fn permissions(mut self, permissions: TablePermissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// The table's stored access policy of this id, of at most 64 characters. What the policy says the signature must not
    /// say again.
    pub fn policy(mut self, id: impl Into<String>) -> Self {
        self.policy = Some(id.into());
        self
    }

    /// The first entity it is for. An empty RowKey is the first of its partition; an empty PartitionKey with it is no limit.
    /// Without [`to`](Self::to) all later partitions are allowed.
    pub fn from(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.from = Some((partition_key.into(), row_key.into()));
        self
    }

    /// The last entity it is for. An empty RowKey is all of its partition. The PartitionKey cannot be empty: in a signature
    /// that means no limit.
    pub fn to(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.to = Some((partition_key.into(), row_key.into()));
        self
    }

    /// Makes the signature.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — permissions or expiry are missing and there is no policy; the
    /// policy's id is empty, too long or has control characters; it would end before it starts, in time or in keys; an end
    /// of its keys has what no key can have, or cannot be said; the address is none.
    pub fn sign(&self, key: &AccountKey) -> Result<SasToken> {
        let parameters = self.parameters()?;
        let signature = key.sign(&table_string_to_sign(&parameters, key.account(), self.table.as_str()));
        Ok(SasToken::signed(parameters, signature))
    }

    fn parameters(&self) -> Result<SasParameters> {
        if self.policy.is_none() && (self.permissions.is_none() || self.used.expiry.is_none()) {
            return Err(refused("it needs permissions and an expiry, or a stored access policy"));
        }
        if let Some(id) = &self.policy {
            let length = id.chars().count();
            if length == 0 || length > MAX_POLICY_ID {
                return Err(refused(&format!(
                    "its policy's id has {length} characters, it must have 1 to {MAX_POLICY_ID}"
                )));
            }
            // What is signed is cut by line ends: with one in a value, another signature would say the same.
            if id.contains(char::is_control) {
                return Err(refused("its policy's id has control characters"));
            }
        }
        for (partition_key, row_key) in [&self.from, &self.to].into_iter().flatten() {
            check_keys(partition_key, row_key).map_err(|e| refused(&format!("an end of its keys: {e}")))?;
        }
        // An empty text is not written, and then is no limit.
        let is_cut_off =
            |end: &Option<(String, String)>| end.as_ref().is_some_and(|(pk, rk)| pk.is_empty() && !rk.is_empty());
        if is_cut_off(&self.from) || self.to.as_ref().is_some_and(|(pk, _)| pk.is_empty()) {
            return Err(refused(
                "the empty PartitionKey cannot be an end of its keys, since it would mean no limit",
            ));
        }
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            let order = ordinal::compare(&from.0, &to.0).then_with(|| match to.1.as_str() {
                "" => std::cmp::Ordering::Less,
                row_key => ordinal::compare(&from.1, row_key),
            });
            if order.is_gt() {
                return Err(refused("its first entity is after its last"));
            }
        }
        let mut parameters = SasParameters::default();
        parameters.add("sv", X_MS_VERSION);
        parameters.add("tn", self.table.as_str());
        parameters.add("sp", self.permissions.map(|p| p.to_string()).unwrap_or_default());
        self.used.write(&mut parameters)?;
        parameters.add("si", self.policy.clone().unwrap_or_default());
        let ends = [(["spk", "srk"], &self.from), (["epk", "erk"], &self.to)];
        for ([partition_key, row_key], end) in ends {
            if let Some((pk, rk)) = end {
                parameters.add(partition_key, pk.as_str());
                parameters.add(row_key, rk.as_str());
            }
        }
        Ok(parameters)
    }
}

/// A signature for the account's Table service: operations on tables and entities, by resource and permission.
///
/// ```
/// use azure_table::{AccountKey, AccountPermissions, AccountResources, AccountSas, DateTime};
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let hour = std::time::Duration::from_secs(3_600);
/// let sas = AccountSas::new(
///     AccountPermissions::READ | AccountPermissions::LIST,
///     AccountResources::TABLES | AccountResources::ENTITIES,
///     DateTime::now() + hour,
/// )
/// .sign(&key)?;
/// assert!(sas.expose().contains("srt=co&sp=rl&"));
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Create an account SAS".
#[derive(Clone, Debug)]
#[must_use = "it has to be signed"]
pub struct AccountSas {
    permissions: AccountPermissions,
    resources: AccountResources,
    used: Use,
}
uses!(AccountSas);

impl AccountSas {
    /// A signature with these permissions on these kinds of resources, until `expiry`.
    pub fn new(permissions: AccountPermissions, resources: AccountResources, expiry: DateTime) -> Self {
        let used = Use {
            expiry: Some(expiry),
            ..Use::default()
        };
        Self {
            permissions,
            resources,
            used,
        }
    }

    /// Makes the signature.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — it would end before it starts.
    pub fn sign(&self, key: &AccountKey) -> Result<SasToken> {
        let mut parameters = SasParameters::default();
        parameters.add("sv", X_MS_VERSION);
        parameters.add("ss", "t");
        parameters.add("srt", self.resources.to_string());
        parameters.add("sp", self.permissions.to_string());
        self.used.write(&mut parameters)?;
        let signature = key.sign(&account_string_to_sign(&parameters, key.account()));
        Ok(SasToken::signed(parameters, signature))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key() -> AccountKey {
        AccountKey::new("contoso", "AAECAwQFBgc=").unwrap()
    }

    #[test]
    fn a_token_of_others_is_checked_and_never_shown() {
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

    #[test]
    fn what_cannot_work_is_refused() {
        let table = TableName::new("People").unwrap();
        let sas = || TableSas::new(&table).permissions(TablePermissions::READ);
        let later = DateTime::from_unix_seconds(2_000_000_000);
        for (sas, why) in [
            (sas(), "needs permissions and an expiry"),
            (TableSas::new(&table).expiry(later), "needs permissions and an expiry"),
            (sas().expiry(later).start(later), "not a second after its start"),
            (
                sas().expiry(later).from("b", "").to("a", ""),
                "its first entity is after its last",
            ),
            (
                sas().expiry(later).from("a", "2").to("a", "1"),
                "its first entity is after its last",
            ),
            (
                TableSas::new(&table).policy("x".repeat(65)),
                "65 characters, it must have 1 to 64",
            ),
            (TableSas::new(&table).policy(""), "0 characters, it must have 1 to 64"),
            (TableSas::new(&table).policy("a\nb"), "control characters"),
            (
                sas().expiry(later + Duration::from_millis(900)).start(later),
                "not a second after",
            ),
            (sas().expiry(later).to("", ""), "it would mean no limit"),
            (sas().expiry(later).from("", "1"), "it would mean no limit"),
            (sas().expiry(later).from("a\n\nzzz", ""), "an end of its keys"),
            (sas().expiry(later).to("a", "\n"), "an end of its keys"),
            (sas().expiry(later).ip(""), "\"\" is neither an IP address"),
            (sas().expiry(later).ip("10.0.0.0/24"), "\"10.0.0.0/24\" is neither"),
            (sas().expiry(later).ip("10.0.0.2-10.0.0.1"), "the lower first"),
        ] {
            assert!(sas.sign(&key()).unwrap_err().to_string().contains(why), "{why}");
        }
        assert!(sas().expiry(later).from("a", "2").to("a", "").sign(&key()).is_ok());
        assert!(TableSas::new(&table).policy("read-only").sign(&key()).is_ok());
    }
}
