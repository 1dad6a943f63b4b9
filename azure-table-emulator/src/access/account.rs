//! The account of a request whose URL names none, because the endpoint is only a host, as with Cosmos DB's emulator.
//!
//! A SharedKey authorization names the account. Otherwise it is the only one, or the one whose key made the shared
//! access signature.

use azure_table_wire::value::datetime::DateTime;
use http::request::Parts;

use crate::access::sas;
use crate::access::shared_key::{self, header};
use crate::settings::Settings;

/// Returns the account of the credential, or the only account.
pub(crate) fn of<'s>(head: &Parts, settings: &'s Settings, now: DateTime) -> Option<&'s str> {
    let mut accounts = settings.accounts.iter();
    if let Some(named) = header(&head.headers, "authorization").and_then(shared_key::account) {
        return accounts.map(|(name, _)| name.as_str()).find(|name| *name == named);
    }
    if accounts.len() == 1 {
        return accounts.next().map(|(name, _)| name.as_str());
    }
    let signature = sas::of(head.uri.query())?;
    let signer = accounts.find(|(name, account)| sas::is_signed_by(&signature, (name, &account.key), now));
    signer.map(|(name, _)| name.as_str())
}
