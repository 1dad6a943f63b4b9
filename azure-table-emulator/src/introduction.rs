//! The lines that the program prints when it is ready: a few for people, one of JSON for programs.

use azure_table::{Emulator, EmulatorServer, Profile};
use serde::Serialize;

use crate::options::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_PORT, Options};
use crate::output::{People, of};

/// The open ports.
pub(crate) struct Ports<'a> {
    pub(crate) server: &'a EmulatorServer,
    /// The URL of the control port.
    pub(crate) control: Option<&'a str>,
    /// The fingerprint of the server's certificate.
    pub(crate) fingerprint: Option<&'a str>,
}

/// The line for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    version: &'static str,
    process_id: u32,
    address: String,
    port: u16,
    profile: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_sha256: Option<&'a str>,
    /// The URL of the control port.
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<&'a str>,
    accounts: Vec<Account<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Account<'a> {
    name: &'a str,
    /// The connection string, without a secret key.
    connection_string: String,
}

/// Returns the line for programs.
pub(crate) fn ready(ports: &Ports<'_>, options: &Options) -> serde_json::Result<String> {
    let server = ports.server;
    let own = options.accounts.iter().map(|account| account.name.as_str());
    let public = (!options.has_own_development_key()).then_some(DEVELOPMENT_ACCOUNT);
    let accounts = public
        .into_iter()
        .map(|name| (name, false))
        .chain(own.map(|name| (name, true)));
    serde_json::to_string(&Ready {
        version: env!("CARGO_PKG_VERSION"),
        process_id: std::process::id(),
        address: server.address().to_string(),
        port: server.address().port(),
        profile: match options.profile {
            Profile::Cosmos => "cosmos",
            _ => "storage",
        },
        certificate_sha256: ports.fingerprint,
        control: ports.control,
        accounts: accounts
            .map(|(name, is_secret)| Account {
                name,
                connection_string: shown(server, name, is_secret),
            })
            .collect(),
    })
}

/// Prints for people where the service is, and how to reach it.
pub(crate) fn introduce(emulator: &Emulator, ports: &Ports<'_>, options: &Options, people: People) {
    let server = ports.server;
    let service = match options.profile {
        Profile::Cosmos => "Azure Cosmos DB for Table",
        _ => "Azure Table storage",
    };
    let kept = match &options.data {
        Some(folder) => format!("with its tables in {}", folder.display()),
        None => "in memory".to_owned(),
    };
    let scheme = if options.certificate.is_some() { "https" } else { "http" };
    people.tell(format_args!(
        "{service}, emulated {kept} on {scheme}://{}",
        server.address()
    ));
    let port = server.address().port();
    if options.profile == Profile::Cosmos && port != DEVELOPMENT_PORT {
        people.tell(format_args!(
            "           the official clients recognize it at {scheme}://localhost:{port}/{DEVELOPMENT_ACCOUNT}"
        ));
    }
    let is_changed = options.has_own_development_key();
    if scheme == "http" && !is_changed && port == DEVELOPMENT_PORT {
        people.tell(format_args!(
            "account    {DEVELOPMENT_ACCOUNT}, also as UseDevelopmentStorage=true"
        ));
    } else {
        people.tell(format_args!("account    {DEVELOPMENT_ACCOUNT}"));
    }
    people.tell(format_args!(
        "           {}",
        shown(server, DEVELOPMENT_ACCOUNT, is_changed)
    ));
    for account in options
        .accounts
        .iter()
        .filter(|account| account.name != DEVELOPMENT_ACCOUNT)
    {
        people.tell(format_args!("account    {}", account.name));
        people.tell(format_args!("           {}", shown(server, &account.name, true)));
    }
    if let Some(path) = &options.snapshot {
        let snapshot = emulator.snapshot();
        people.tell(format_args!("snapshot   {}, {}", path.display(), of(&snapshot)));
        let is_known = |name: &&str| *name != DEVELOPMENT_ACCOUNT && !options.accounts.iter().any(|a| a.name == **name);
        for name in snapshot.accounts().filter(is_known) {
            people.tell(format_args!(
                "           it has account {name}, which needs --account {name}:@FILE to be reached"
            ));
        }
    }
    if let Some(fingerprint) = ports.fingerprint {
        people.tell(format_args!("certificate SHA-256 {fingerprint}"));
    }
    if let Some(control) = ports.control {
        let has_token = options.control.as_ref().is_some_and(|control| control.token.is_some());
        let token = if has_token { ", with the token you gave" } else { "" };
        people.tell(format_args!("control    {control}{token}"));
    }
    people.tell("Ctrl-C stops it.");
}

/// Returns a connection string, without a secret key.
fn shown(server: &EmulatorServer, account: &str, is_secret: bool) -> String {
    let text = server.connection_string_of(account).unwrap_or_default();
    if !is_secret {
        return text;
    }
    let settings = text.split(';').map(|setting| match setting.split_once('=') {
        Some(("AccountKey", _)) => "AccountKey=<the key you gave>",
        _ => setting,
    });
    settings.collect::<Vec<_>>().join(";")
}
