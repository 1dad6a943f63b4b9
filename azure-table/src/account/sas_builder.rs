//! Builders of shared access signatures, signed with an account key or with a user delegation key.
//!
//! The builders are [`TableSas`] and [`AccountSas`]. They validate their settings. `sas_token.rs` has the signature as
//! text, `sas_parameters.rs` the text to sign, and `from_token.rs` reads the settings of a signature that exists.

mod from_token;

use azure_table_wire::account::endpoint::is_account_name;
use azure_table_wire::error::Result;
use azure_table_wire::request::http_request::{DELEGATION_VERSION, X_MS_VERSION, check_version};
use azure_table_wire::sas::parameters::{
    SasParameters, WITH_ADDRESSES, account_string_to_sign, addresses, table_string_to_sign,
    user_delegation_string_to_sign,
};
use azure_table_wire::sas::permissions::{AccountPermissions, AccountResources, AccountServices, TablePermissions};
use azure_table_wire::sas::user_delegation_key::{self, UserDelegationKey};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;
use azure_table_wire::value::ordinal;

use crate::account::account_key::AccountKey;
use crate::account::sas_token::{SasToken, invalid};
use crate::account::table_name::TableName;
use crate::key::key_shape::check_keys;

/// The maximum length of a stored access policy's name, in characters.
const MAX_POLICY_ID: usize = 64;

/// The settings that both kinds of signatures have.
#[derive(Clone, Debug, Default)]
struct Use {
    start: Option<DateTime>,
    expiry: Option<DateTime>,
    ip: Option<String>,
    https_only: bool,
    version: Option<String>,
}

impl Use {
    /// Starts the parameters with the version that is set, or `usual`. Rejects a version before `least`.
    fn parameters(&self, usual: &str, least: &str) -> Result<SasParameters> {
        let version = self.version.as_deref().unwrap_or(usual);
        check_version(version)?;
        if version < least {
            let why = format!("its version {version} is before {least}, the first for it");
            return Err(invalid(&why));
        }
        let mut parameters = SasParameters::default();
        parameters.add("sv", version);
        Ok(parameters)
    }

    fn write(&self, parameters: &mut SasParameters) -> Result<()> {
        if let (Some(start), Some(expiry)) = (self.start, self.expiry)
            && start.unix_seconds() >= expiry.unix_seconds()
        {
            return Err(invalid(&format!(
                "it would expire at {expiry}, which is not at least a second after its start at {start}"
            )));
        }
        if let Some(ip) = self.ip.as_deref().filter(|ip| addresses(ip).is_none()) {
            return Err(invalid(&format!(
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

/// Formats a time in seconds, the resolution of signatures.
fn seconds(time: DateTime) -> String {
    DateTime::from_unix_seconds(time.unix_seconds()).to_string()
}

/// The setters of both builders.
macro_rules! uses {
    ($name:ident) => {
        impl $name {
            /// Sets the time from which the signature is valid, truncated to seconds.
            ///
            /// The service checks it against its own clock, so allow for skew.
            pub fn start(mut self, start: DateTime) -> Self {
                self.used.start = Some(start);
                self
            }

            /// Sets the time at which the signature expires, truncated to seconds.
            pub fn expiry(mut self, expiry: DateTime) -> Self {
                self.used.expiry = Some(expiry);
                self
            }

            /// Limits the signature to an IP address, `168.1.5.60`, or a range, `168.1.5.60-168.1.5.70`. CIDR is not
            /// supported.
            #[doc(alias("IPRange", "IPAddressOrRange"))]
            pub fn ip(mut self, address_or_range: impl Into<String>) -> Self {
                self.used.ip = Some(address_or_range.into());
                self
            }

            /// Sets the service version that the signature is for.
            ///
            /// The default is 2019-02-02, the earliest 2015-04-05. With a user delegation key, both are 2025-07-05. The
            /// version of the requests is a setting of their client.
            pub fn version(mut self, version: impl Into<String>) -> Self {
                self.used.version = Some(version.into());
                self
            }

            /// Limits the signature to HTTPS.
            #[doc(alias = "SharedAccessProtocol")]
            pub fn https_only(mut self) -> Self {
                self.used.https_only = true;
                self
            }
        }
    };
}

/// A signature for one table: some operations on its entities, optionally in a range of keys.
///
/// It cannot create, delete or list tables. Use it for Azure Table storage. On Cosmos DB, only account signatures
/// ([`AccountSas`]) are confirmed.
///
/// ```
/// use azure_table::{AccountKey, DateTime, TableName, TablePermissions, TableSas};
/// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let sas = TableSas::new(&TableName::new("Orders")?)
///     .permissions(TablePermissions::READ | TablePermissions::ADD)
///     .expiry(DateTime::now() + std::time::Duration::from_secs(3_600))
///     .first("customer-1", "")     // all rows of one partition
///     .last("customer-1", "")
///     .sign(&key)?;
/// assert!(sas.expose().contains("sp=ra&"));
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Create a service SAS".
#[doc(alias("TableSasBuilder", "SharedAccessTablePolicy"))]
#[derive(Clone, Debug)]
#[must_use = "nothing is signed until `sign` is called"]
pub struct TableSas {
    table: TableName,
    permissions: Option<TablePermissions>,
    policy: Option<String>,
    first: Option<(String, String)>,
    last: Option<(String, String)>,
    user: Option<Guid>,
    used: Use,
}
uses!(TableSas);

impl TableSas {
    /// Creates a signature for this table.
    ///
    /// It needs permissions and an expiry, or a stored access policy that has them.
    pub fn new(table: &TableName) -> Self {
        Self {
            table: table.clone(),
            permissions: None,
            policy: None,
            first: None,
            last: None,
            user: None,
            used: Use::default(),
        }
    }

    /// Sets the permissions.
    ///
    /// An upsert needs both `ADD` and `UPDATE`.
    pub fn permissions(mut self, permissions: TablePermissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Sets the id of the table's stored access policy, of at most 64 characters.
    ///
    /// The signature must not repeat what the policy sets.
    #[doc(alias = "Identifier")]
    pub fn policy(mut self, id: impl Into<String>) -> Self {
        self.policy = Some(id.into());
        self
    }

    /// Sets the first entity of the signature's range.
    ///
    /// An empty RowKey means the first entity of its partition. An empty PartitionKey with it means no limit. Without
    /// [`last`](Self::last), all later partitions are allowed.
    #[doc(alias = "PartitionKeyStart")]
    pub fn first(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.first = Some((partition_key.into(), row_key.into()));
        self
    }

    /// Sets the last entity of the signature's range.
    ///
    /// An empty RowKey means the whole partition. The PartitionKey cannot be empty: in a signature that means no limit.
    pub fn last(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.last = Some((partition_key.into(), row_key.into()));
        self
    }

    /// Limits the signature to the user with this object id in Entra ID.
    ///
    /// That user must also present an Entra ID token: a [`SasToken`] as a credential sends none. For
    /// [`sign_delegated`](Self::sign_delegated) only.
    pub fn for_user(mut self, object_id: Guid) -> Self {
        self.user = Some(object_id);
        self
    }

    /// Signs with an account key.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput), in one of these cases:
    ///   - Permissions or expiry are missing and no policy is set.
    ///   - The policy's id is empty, too long or has control characters.
    ///   - The signature would expire before it starts, or its last entity is before its first.
    ///   - An end of the key range has characters that no key can have, or cannot be expressed.
    ///   - The IP address or the version is invalid.
    ///   - The signature is for one user.
    pub fn sign(&self, key: &AccountKey) -> Result<SasToken> {
        if self.user.is_some() {
            return Err(invalid("only a signature of a user delegation key can be for one user"));
        }
        let parameters = self.parameters(X_MS_VERSION, WITH_ADDRESSES)?;
        let to_sign = table_string_to_sign(&parameters, key.account(), self.table.as_str());
        Ok(SasToken::signed(&parameters, key.sign(&to_sign)))
    }

    /// Signs with a user delegation key instead of the account key.
    ///
    /// The signature grants only the permissions that the owner of the key has too. It ends no later than the
    /// key, so within 7 days. It cannot have a stored policy.
    ///
    /// Not yet verified against the live service.
    ///
    /// ```
    /// use azure_table::{DateTime, SasToken, TableName, TablePermissions, TableSas, TableServiceClient};
    ///
    /// /// `service` has an `EntraCredential`.
    /// async fn reader(service: &TableServiceClient, table: &TableName) -> azure_table::Result<SasToken> {
    ///     let expiry = DateTime::now() + std::time::Duration::from_secs(3_600);
    ///     let key = service.user_delegation_key(expiry).await?;
    ///     TableSas::new(table)
    ///         .permissions(TablePermissions::READ)
    ///         .expiry(expiry)
    ///         .sign_delegated(&key, "contoso")
    /// }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the cases of [`sign`](Self::sign), except that
    ///   the signature may be for one user. Also: it has a stored policy, starts before the key, ends after the key, or
    ///   the account name is invalid.
    ///
    /// Source: REST "Create a user delegation SAS".
    pub fn sign_delegated(&self, key: &UserDelegationKey, account: &str) -> Result<SasToken> {
        if !is_account_name(account) {
            return Err(invalid("the account's name must have letters, digits and hyphens only"));
        }
        if self.policy.is_some() {
            return Err(invalid(
                "a signature of a user delegation key has no stored access policy",
            ));
        }
        let (begin, end) = (key.start(), key.expiry());
        if let Some(start) = self.used.start.filter(|s| s.unix_seconds() < begin.unix_seconds()) {
            return Err(invalid(&format!(
                "it would start at {start}, before its user delegation key at {begin}"
            )));
        }
        if let Some(expiry) = self.used.expiry.filter(|e| e.unix_seconds() > end.unix_seconds()) {
            return Err(invalid(&format!(
                "it would expire at {expiry}, after its user delegation key at {end}"
            )));
        }
        let mut parameters = self.parameters(DELEGATION_VERSION, DELEGATION_VERSION)?;
        for (name, value) in user_delegation_key::parameters(key) {
            parameters.add(name, value);
        }
        parameters.add("sduoid", self.user.map(|user| user.to_string()).unwrap_or_default());
        let to_sign = user_delegation_string_to_sign(&parameters, account, self.table.as_str());
        let signature = user_delegation_key::signing_key(key)?.sign(&to_sign);
        Ok(SasToken::signed(&parameters, signature))
    }

    fn parameters(&self, usual: &str, least: &str) -> Result<SasParameters> {
        if self.policy.is_none() && (self.permissions.is_none() || self.used.expiry.is_none()) {
            return Err(invalid("it needs permissions and an expiry, or a stored access policy"));
        }
        if let Some(id) = &self.policy {
            let length = id.chars().count();
            if length == 0 || length > MAX_POLICY_ID {
                return Err(invalid(&format!(
                    "its policy's id has {length} characters, it must have 1 to {MAX_POLICY_ID}"
                )));
            }
            // Line ends separate the signed fields: with one inside a value, another signature would have the same
            // text.
            if id.contains(char::is_control) {
                return Err(invalid("its policy's id has control characters"));
            }
        }
        for (partition_key, row_key) in [&self.first, &self.last].into_iter().flatten() {
            check_keys(partition_key, row_key).map_err(|e| invalid(&format!("an end of its keys: {e}")))?;
        }
        // An empty text is omitted, which removes the limit.
        let is_cut_off =
            |end: &Option<(String, String)>| end.as_ref().is_some_and(|(pk, rk)| pk.is_empty() && !rk.is_empty());
        if is_cut_off(&self.first) || self.last.as_ref().is_some_and(|(pk, _)| pk.is_empty()) {
            return Err(invalid(
                "the empty PartitionKey cannot be an end of its keys, since it would mean no limit",
            ));
        }
        if let (Some(first), Some(last)) = (&self.first, &self.last) {
            let order = ordinal::compare(&first.0, &last.0).then_with(|| match last.1.as_str() {
                "" => std::cmp::Ordering::Less,
                row_key => ordinal::compare(&first.1, row_key),
            });
            if order.is_gt() {
                return Err(invalid("its first entity is after its last"));
            }
        }
        let mut parameters = self.used.parameters(usual, least)?;
        parameters.add("tn", self.table.as_str());
        parameters.add("sp", self.permissions.map(|p| p.to_string()).unwrap_or_default());
        self.used.write(&mut parameters)?;
        parameters.add("si", self.policy.clone().unwrap_or_default());
        let ends = [(["spk", "srk"], &self.first), (["epk", "erk"], &self.last)];
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
/// use azure_table::{AccountKey, AccountSas, DateTime};
/// use azure_table::auth::{AccountPermissions, AccountResources};
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
#[doc(alias = "TableAccountSasBuilder")]
#[derive(Clone, Debug)]
#[must_use = "nothing is signed until `sign` is called"]
pub struct AccountSas {
    permissions: AccountPermissions,
    resources: AccountResources,
    services: AccountServices,
    used: Use,
}
uses!(AccountSas);

impl AccountSas {
    /// Creates a signature with these permissions on these kinds of resources, until `expiry`.
    pub fn new(permissions: AccountPermissions, resources: AccountResources, expiry: DateTime) -> Self {
        let used = Use {
            expiry: Some(expiry),
            ..Use::default()
        };
        Self {
            permissions,
            resources,
            services: AccountServices::TABLE,
            used,
        }
    }

    /// Extends the signature to other services of the account. It always applies to tables.
    ///
    /// [`AccountPermissions`] has no permissions that only other services know, such as the one to process queue
    /// messages.
    pub fn services(mut self, services: AccountServices) -> Self {
        self.services = services;
        self
    }

    /// Signs with an account key.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the signature would expire before it starts,
    ///   or the IP address or the version is invalid.
    pub fn sign(&self, key: &AccountKey) -> Result<SasToken> {
        let mut parameters = self.used.parameters(X_MS_VERSION, WITH_ADDRESSES)?;
        parameters.add("ss", (self.services | AccountServices::TABLE).to_string());
        parameters.add("srt", self.resources.to_string());
        parameters.add("sp", self.permissions.to_string());
        self.used.write(&mut parameters)?;
        let to_sign = account_string_to_sign(&parameters, key.account());
        Ok(SasToken::signed(&parameters, key.sign(&to_sign)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use azure_table_wire::sas::user_delegation_key;
    use azure_table_wire::sas::user_delegation_key::KeyInfo;

    use super::*;
    use crate::account::sas_token;

    fn key() -> AccountKey {
        AccountKey::new("contoso", "AAECAwQFBgc=").unwrap()
    }

    #[test]
    fn unusable_settings_are_rejected() {
        let table = TableName::new("People").unwrap();
        let sas = || TableSas::new(&table).permissions(TablePermissions::READ);
        let later = DateTime::from_unix_seconds(2_000_000_000);
        for (sas, why) in [
            (sas(), "needs permissions and an expiry"),
            (TableSas::new(&table).expiry(later), "needs permissions and an expiry"),
            (
                sas().expiry(later).start(later),
                "not at least a second after its start",
            ),
            (
                sas().expiry(later).first("b", "").last("a", ""),
                "its first entity is after its last",
            ),
            (
                sas().expiry(later).first("a", "2").last("a", "1"),
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
                "not at least a second after",
            ),
            (sas().expiry(later).last("", ""), "it would mean no limit"),
            (sas().expiry(later).first("", "1"), "it would mean no limit"),
            (sas().expiry(later).first("a\n\nzzz", ""), "an end of its keys"),
            (sas().expiry(later).last("a", "\n"), "an end of its keys"),
            (sas().expiry(later).ip(""), "\"\" is neither an IP address"),
            (sas().expiry(later).ip("10.0.0.0/24"), "\"10.0.0.0/24\" is neither"),
            (sas().expiry(later).ip("10.0.0.2-10.0.0.1"), "the lower first"),
        ] {
            assert!(sas.sign(&key()).unwrap_err().to_string().contains(why), "{why}");
        }
        assert!(sas().expiry(later).first("a", "2").last("a", "").sign(&key()).is_ok());
        assert!(TableSas::new(&table).policy("read-only").sign(&key()).is_ok());
    }

    /// Storage rejects a fraction (recorded in 2021).
    #[test]
    fn times_of_a_signature_have_no_fraction() {
        let table = TableName::new("People").unwrap();
        let at = |text: &str| text.parse::<DateTime>().unwrap();
        let sas = TableSas::new(&table)
            .permissions(TablePermissions::READ)
            .start(at("2033-05-18T03:33:20.265131Z"))
            .expiry(at("2033-05-18T04:33:20.9999999Z"));
        let token = sas.sign(&key()).unwrap();
        let times = "&st=2033-05-18T03%3A33%3A20Z&se=2033-05-18T04%3A33%3A20Z";
        assert!(token.expose().contains(times), "{}", token.expose());
    }

    #[test]
    fn signature_is_parsed_changed_and_signed_again() {
        let table = TableName::new("People").unwrap();
        let from = DateTime::from_unix_seconds(1_999_990_000);
        let sas = TableSas::new(&table)
            .permissions(TablePermissions::READ | TablePermissions::DELETE)
            .policy("daily")
            .first("a", "1")
            .last("b", "")
            .start(from)
            .expiry(DateTime::from_unix_seconds(2_000_000_000))
            .ip("10.0.0.1-10.0.0.9")
            .https_only()
            .version("2020-12-06");
        let token = sas.sign(&key()).unwrap();
        assert!(token.expose().starts_with("sv=2020-12-06&tn=People&sp=rd&st="));
        let again = TableSas::try_from(&token).unwrap();
        assert_eq!(again.sign(&key()).unwrap(), token);
        let later = again.start(from + Duration::from_secs(60)).sign(&key()).unwrap();
        assert_eq!(later.parts().start, Some(from + Duration::from_secs(60)));

        let user = Guid::random();
        let bound = TableSas::new(&table)
            .permissions(TablePermissions::READ)
            .expiry(DateTime::from_unix_seconds(2_000_000_000))
            .for_user(user);
        let bound = bound.sign_delegated(&delegation_key(None), "contoso").unwrap();
        let account = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, from);
        let account = account.services(AccountServices::BLOB | AccountServices::QUEUE);
        let token = account.version("2020-12-06").sign(&key()).unwrap();
        assert!(token.expose().starts_with("sv=2020-12-06&ss=bqt&srt=c&sp=l&se="));
        let again = AccountSas::try_from(&token).unwrap();
        assert_eq!(again.sign(&key()).unwrap(), token);
        for error in [
            TableSas::try_from(&token).unwrap_err(),
            AccountSas::try_from(&bound).unwrap_err(),
            again.clone().version("latest").sign(&key()).unwrap_err(),
            again.version("2013-08-15").sign(&key()).unwrap_err(),
        ] {
            assert!(
                [
                    "for an account, not for a table",
                    "for a table, not for an account",
                    "is not a date",
                    "before 2015-04-05"
                ]
                .iter()
                .any(|why| error.to_string().contains(why)),
                "{error}"
            );
        }
    }

    /// A part that was dropped could make the new signature valid for more.
    #[test]
    fn signature_with_a_part_that_is_not_understood_is_not_signed_again() {
        let table = |rest: &str| {
            let token = SasToken::new(format!("sv=2019-02-02&tn=Orders&sp=r&se=2040-01-01{rest}&sig=a")).unwrap();
            TableSas::try_from(&token).map(drop)
        };
        let account = |rest: &str| {
            let token = SasToken::new(format!("sv=2019-02-02&ss=t&srt=o&sp=r{rest}&sig=a")).unwrap();
            AccountSas::try_from(&token).map(drop)
        };
        assert!(table("").is_ok() && account("&se=2040-01-01").is_ok());
        for (result, why) in [
            (table("&sduoid=nonsense"), "`sduoid` does not belong"),
            (
                table("&skoid=33059fcc-5514-4800-b5f8-49808b9cfab6"),
                "`skoid` does not belong",
            ),
            (table("&st=2030-13-01"), "`st` is no time"),
            (table("&spr=HTTPS"), "`spr` is no protocol"),
            (table("&sip=10.0.0.0/24"), "`sip` is no address"),
            (table("&spk=caf%E9&epk=caf%E9"), "is not a parameter"),
            (table("&sip"), "is not a parameter"),
            (table("&sip=%FF"), "is not a parameter"),
            (table("&epk=&epk=z"), "`epk` is repeated"),
            (table("&se=2039-01-01"), "`se` is repeated"),
            (account(""), "no expiry"),
            (account("&se=2040-01-01T00:00:00+01:00"), "`se` is no time"),
            (account("&se=2040-01-01&ses=scope"), "`ses` does not belong"),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(why), "{why} is not in: {error}");
        }
    }

    fn delegation_key(delegated_tenant: Option<&str>) -> UserDelegationKey {
        let info = KeyInfo {
            start: DateTime::from_unix_seconds(1_999_990_000),
            expiry: DateTime::from_unix_seconds(2_000_000_000),
            delegated_tenant_id: delegated_tenant.map(str::to_owned),
        };
        user_delegation_key::create(("object", "tenant"), info, "2025-07-05", |_| "AAECAwQFBgc=".to_owned())
    }

    #[test]
    fn delegated_signature_has_the_parameters_of_its_key() {
        let table = TableName::new("People").unwrap();
        let user: Guid = "33059fcc-5514-4800-b5f8-49808b9cfab6".parse().unwrap();
        let sas = TableSas::new(&table)
            .permissions(TablePermissions::READ)
            .expiry(DateTime::from_unix_seconds(2_000_000_000));
        let token = sas.sign_delegated(&delegation_key(None), "contoso").unwrap();
        let (said, signature) = token.expose().split_once("&sig=").unwrap();
        assert_eq!(
            said,
            "sv=2025-07-05&tn=People&sp=r&se=2033-05-18T03%3A33%3A20Z&skoid=object&sktid=tenant\
             &skt=2033-05-18T00%3A46%3A40Z&ske=2033-05-18T03%3A33%3A20Z&sks=t&skv=2025-07-05"
        );
        let to_sign = user_delegation_string_to_sign(&sas_token::parameters(&token), "contoso", "People");
        assert_eq!(
            azure_table_wire::codec::url::decode(signature),
            Some(key().sign(&to_sign)),
            "the key's value signs"
        );
        let bound = sas.clone().for_user(user);
        let bound = bound.sign_delegated(&delegation_key(Some("other")), "contoso").unwrap();
        assert!(
            bound
                .expose()
                .contains("&skdutid=other&sduoid=33059fcc-5514-4800-b5f8-49808b9cfab6&sig="),
            "{}",
            bound.expose()
        );
        assert!(SasToken::new(bound.expose()).is_ok());
    }

    #[test]
    fn invalid_delegated_signatures_are_rejected() {
        let table = TableName::new("People").unwrap();
        let (end, after) = (
            DateTime::from_unix_seconds(2_000_000_000),
            DateTime::from_unix_seconds(2_000_000_001),
        );
        let sas = TableSas::new(&table).permissions(TablePermissions::READ);
        for (sas, account, why) in [
            (sas.clone(), "contoso", "needs permissions and an expiry"),
            (
                sas.clone().expiry(after),
                "contoso",
                "after its user delegation key at 2033-05-18T03:33:20Z",
            ),
            (
                sas.clone()
                    .start(DateTime::from_unix_seconds(1_999_989_999))
                    .expiry(end),
                "contoso",
                "before its user delegation key at 2033-05-18T00:46:40Z",
            ),
            (
                sas.clone().expiry(end).policy("daily"),
                "contoso",
                "has no stored access policy",
            ),
            (sas.clone().expiry(end), "con\ntoso", "the account's name"),
            (sas.clone().expiry(end), "", "the account's name"),
        ] {
            let error = sas
                .sign_delegated(&delegation_key(None), account)
                .unwrap_err()
                .to_string();
            assert!(error.contains(why) && !error.contains("AAECAw"), "{error}");
        }
        let early = sas.clone().expiry(end).version("2020-12-06");
        let error = early.sign_delegated(&delegation_key(None), "contoso").unwrap_err();
        assert!(error.to_string().contains("is before 2025-07-05"), "{error}");
        let together = sas.clone().start(delegation_key(None).start()).expiry(end);
        assert!(together.sign_delegated(&delegation_key(None), "contoso").is_ok());
        let error = sas.expiry(end).for_user(Guid::random()).sign(&key()).unwrap_err();
        assert!(error.to_string().contains("can be for one user"), "{error}");
    }
}
