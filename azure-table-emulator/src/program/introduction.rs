//! The lines that the program prints when it is ready: a few for people, one of JSON for programs, and warnings.

use std::net::Ipv4Addr;
use std::path::Path;

use azure_table_emulator::EmulatorSnapshot;
use azure_table_emulator::{Emulator, EmulatorServer};
use azure_table_wire::account::profile::Profile;
use serde::Serialize;

use crate::options::{Account, DEVELOPMENT_ACCOUNT, DEVELOPMENT_PORT, Options};
use crate::output::{People, Result, of, print, print_error};

/// The open ports.
pub(crate) struct Ports<'a> {
    pub(crate) server: &'a EmulatorServer,
    /// The URL of the control port.
    pub(crate) control: Option<String>,
    /// The fingerprint of the server's certificate.
    pub(crate) fingerprint: Option<String>,
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
    accounts: Vec<AccountJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountJson<'a> {
    name: &'a str,
    /// The connection string, without a secret key.
    connection_string: String,
}

/// Returns the line for programs.
fn ready(ports: &Ports<'_>, options: &Options) -> serde_json::Result<String> {
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
        certificate_sha256: ports.fingerprint.as_deref(),
        control: ports.control.as_deref(),
        accounts: accounts
            .map(|(name, is_secret)| AccountJson {
                name,
                connection_string: shown(server, name, is_secret),
            })
            .collect(),
    })
}

/// Prints that the ports are open, and how to use them.
pub(crate) fn introduce(emulator: &Emulator, ports: &Ports<'_>, options: &Options, people: &People) -> Result<()> {
    introduce_service(ports.server, options, people);
    introduce_accounts(ports.server, options, people);
    if let Some(path) = &options.snapshot {
        introduce_snapshot(&emulator.snapshot(), path, options, people);
    }
    if let Some(fingerprint) = &ports.fingerprint {
        people.tell(format_args!("certificate SHA-256 {fingerprint}"));
    }
    if let Some(control) = &ports.control {
        let has_token = options.control.as_ref().is_some_and(|control| control.token.is_some());
        let token = if has_token { ", with the token you gave" } else { "" };
        people.tell(format_args!("control    {control}{token}"));
    }
    people.tell("Ctrl-C stops it.");
    people.flush();
    if options.ready_json {
        print(ready(ports, options)?);
    }
    for warning in warnings(ports.server.is_open_to_network(), options) {
        print_error(format_args!("warning: {warning}"));
    }
    Ok(())
}

fn introduce_service(server: &EmulatorServer, options: &Options, people: &People) {
    let service = match options.profile {
        Profile::Cosmos => "Azure Cosmos DB for Table",
        _ => "Azure Table storage",
    };
    let kept = match &options.data {
        Some(folder) => format!("with its tables in {}", folder.display()),
        None => "in memory".to_owned(),
    };
    let scheme = scheme(options);
    people.tell(format_args!(
        "{service}, emulated {kept} on {scheme}://{}",
        server.address()
    ));
    if options.profile == Profile::Cosmos && server.address().port() == DEVELOPMENT_PORT {
        people.tell(format_args!(
            "           the official clients take port {DEVELOPMENT_PORT} for Table storage: choose another one"
        ));
    }
}

fn introduce_accounts(server: &EmulatorServer, options: &Options, people: &People) {
    let is_changed = options.has_own_development_key();
    let port = server.address().port();
    let also = if scheme(options) == "http" && !is_changed && port == DEVELOPMENT_PORT {
        ", also as UseDevelopmentStorage=true"
    } else {
        ""
    };
    people.tell(format_args!("account    {DEVELOPMENT_ACCOUNT}{also}"));
    let connection_string = shown(server, DEVELOPMENT_ACCOUNT, is_changed);
    people.tell(format_args!("           {connection_string}"));
    let accounts = options.accounts.iter().map(|account| account.name.as_str());
    for name in accounts.filter(|name| *name != DEVELOPMENT_ACCOUNT) {
        people.tell(format_args!("account    {name}"));
        people.tell(format_args!("           {}", shown(server, name, true)));
    }
}

fn introduce_snapshot(snapshot: &EmulatorSnapshot, path: &Path, options: &Options, people: &People) {
    people.tell(format_args!("snapshot   {}, {}", path.display(), of(snapshot)));
    let is_known = |name: &&str| *name != DEVELOPMENT_ACCOUNT && !options.accounts.iter().any(|a| a.name == **name);
    for name in snapshot.accounts().filter(is_known) {
        people.tell(format_args!(
            "           it has account {name}, which needs --account {name}:@FILE to be reached"
        ));
    }
}

fn scheme(options: &Options) -> &'static str {
    if options.certificate.is_some() { "https" } else { "http" }
}

fn warnings(is_open_to_network: bool, options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    for Account { name, .. } in options.accounts.iter().filter(|account| account.is_key_visible) {
        warnings.push(format!(
            "all users of this machine can see the key of {name} in the list of processes: use --account {name}:@FILE, \
             or AZURE_TABLE_EMULATOR_ACCOUNTS in the environment"
        ));
    }
    if is_open_to_network {
        warnings.push(format!(
            "other machines can reach {}, and the key of {DEVELOPMENT_ACCOUNT} is public: use --host 127.0.0.1, or \
             --account {DEVELOPMENT_ACCOUNT}:@FILE with a key of your own",
            options.hosts.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into())
        ));
    }
    if let Some(control) = &options.control {
        if control.is_token_visible {
            warnings.push(
                "all users of this machine can see the token of the control port in the list of processes: use \
                 --control-token @FILE, or AZURE_TABLE_EMULATOR_CONTROL_TOKEN in the environment"
                    .to_owned(),
            );
        }
        if !control.host.to_canonical().is_loopback() {
            warnings.push(format!(
                "other machines can reach the control port at {}, and its token is sent in clear over HTTP",
                control.host
            ));
        }
    }
    for audience in &options.token_audiences {
        warnings.push(format!(
            "every token for {audience} is accepted, whoever signed it: for tests only"
        ));
    }
    warnings
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
