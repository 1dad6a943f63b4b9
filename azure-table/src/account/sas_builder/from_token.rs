//! The settings of a signature that exists, to sign it again with changes.

use azure_table_wire::error::{Error, Result};
use azure_table_wire::sas::parameters::{addresses, time};

use super::{AccountSas, TableSas, Use};
use crate::account::sas_token::{self, SasParts, SasToken, invalid};
use crate::account::table_name::TableName;

impl Use {
    fn of(parts: &SasParts) -> Self {
        Self {
            start: parts.start,
            expiry: parts.expiry,
            ip: parts.ip.clone(),
            https_only: parts.https_only,
            version: parts.version.clone(),
        }
    }
}

/// Reads the settings of an existing signature, to change and sign them again.
///
/// The signature itself is not verified, and anyone can write other permissions into its text. So sign again only what
/// your own program has issued.
///
/// ```
/// use azure_table::{AccountKey, SasToken, TablePermissions, TableSas};
/// # let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
/// let given = SasToken::new("sv=2019-02-02&tn=Orders&sp=r&se=2040-01-01T00%3A00%3A00Z&sig=c2VjcmV0")?;
/// let wider = TableSas::try_from(&given)?.permissions(TablePermissions::ALL).sign(&key)?;
/// assert!(wider.expose().contains("tn=Orders&sp=raud&se=2040-01-01T00%3A00%3A00Z"));
/// # Ok::<(), azure_table::Error>(())
/// ```
impl TryFrom<&SasToken> for TableSas {
    type Error = Error;

    /// # Errors
    /// - `InvalidInput`: the signature is for an account or uses a user delegation key, or a part of it is unknown,
    ///   invalid or repeated.
    fn try_from(token: &SasToken) -> Result<Self> {
        let table = token.parts().table;
        let table = TableName::new(table.ok_or_else(|| invalid("it is for an account, not for a table"))?)?;
        let parts = parts(token, &["tn", "sp", "si", "spk", "srk", "epk", "erk"])?;
        let letters = Some(parts.permissions.as_str()).filter(|letters| !letters.is_empty());
        Ok(Self {
            table,
            permissions: letters.map(str::parse).transpose()?,
            policy: parts.policy.clone(),
            first: parts.from.clone(),
            last: parts.to.clone(),
            user: None,
            used: Use::of(&parts),
        })
    }
}

/// Works as for a [`TableSas`]. The portal's signatures for all services are an error, because they have permissions
/// that tables do not know.
impl TryFrom<&SasToken> for AccountSas {
    type Error = Error;

    /// # Errors
    /// - `InvalidInput`: the signature is for a table, has no expiry, or a part of it is unknown, invalid or repeated.
    fn try_from(token: &SasToken) -> Result<Self> {
        if token.parts().table.is_some() {
            return Err(invalid("it is for a table, not for an account"));
        }
        let parts = parts(token, &["ss", "srt", "sp"])?;
        if parts.expiry.is_none() {
            return Err(invalid("it has no expiry (`se`)"));
        }
        Ok(Self {
            permissions: parts.permissions.parse()?,
            resources: parts.resources.parse()?,
            services: parts.services.parse()?,
            used: Use::of(&parts),
        })
    }
}

/// Returns the parts of a signature, which may have no parameters except the common ones and `own`.
///
/// Dropping any other part could make the next signature valid for more.
fn parts(token: &SasToken, own: &[&str]) -> Result<SasParts> {
    let parameters = sas_token::parameters(token);
    let pairs = parameters.pairs();
    if token.expose().split('&').count() != pairs.len() {
        return Err(invalid(
            "a part of it is not a parameter with a value in percent-encoded UTF-8",
        ));
    }
    for (n, (name, value)) in pairs.iter().enumerate() {
        let fault = match name.as_str() {
            name if pairs[..n].iter().any(|(earlier, _)| earlier == name) => Some("is repeated"),
            "sv" | "sig" => None,
            "st" | "se" => time(value).is_none().then_some("is no time"),
            "sip" => addresses(value).is_none().then_some("is no address"),
            "spr" => (!["https", "https,http"].contains(&value.as_str())).then_some("is no protocol"),
            name if own.contains(&name) => None,
            _ => Some("does not belong to such a signature"),
        };
        if let Some(fault) = fault {
            return Err(invalid(&format!("its parameter `{name}` {fault}")));
        }
    }
    Ok(token.parts())
}
