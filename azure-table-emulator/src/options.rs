//! The options of the command line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use azure_table::emulator::SyncPolicy;
use azure_table::{Emulator, Profile};
use lexopt::prelude::*;

use crate::output::print;
use crate::preset::Preset;
use crate::token::Token;

/// The account that all emulators have.
pub(crate) const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";

/// The interval of `--sync interval`.
const INTERVAL: Duration = Duration::from_secs(1);
/// The environment variable with the accounts.
const ACCOUNTS: &str = "AZURE_TABLE_EMULATOR_ACCOUNTS";
/// The environment variable with the token of the control port.
const CONTROL_TOKEN: &str = "AZURE_TABLE_EMULATOR_CONTROL_TOKEN";
/// The maximum of a number: a million connections, a tebibyte of bodies, eleven days.
const MOST: usize = 1_000_000;

/// The port of `UseDevelopmentStorage=true`.
pub(crate) const DEVELOPMENT_PORT: u16 = 10_002;
/// The port of Cosmos DB's own emulator for tables.
///
/// Source: "Azure Cosmos DB emulator"; the official client for Go knows it as this service.
const COSMOS_PORT: u16 = 8_902;

pub(crate) const USAGE: &str = "\
Serves Azure Table storage like the live service, until Ctrl-C, SIGTERM or SIGHUP.

Usage: azure-table-emulator [OPTIONS]                 Serve
       azure-table-emulator check <DIR>               Verify a folder of --data, and count its contents
       azure-table-emulator upgrade <DIR>             Convert it to the format of this version
       azure-table-emulator import <DIR> <SNAPSHOT>   Replace its tables with those of a snapshot
       azure-table-emulator export <DIR> <SNAPSHOT>   Write its tables as a snapshot

Options:
  --port <N>            Port to listen on, 0 for any free one [default: 10002; for cosmos 8902]
  --host <ADDRESS>      Address to listen on [default: 127.0.0.1]; use 0.0.0.0 in a container
  --account <NAME:@FILE>
                        Add an account, or set another key for devstoreaccount1. The file contains the key
                        in base64. NAME:KEY is accepted too, but all users of the machine can read the command line
  --profile <SERVICE>   storage, or cosmos for Azure Cosmos DB for Table [default: storage]
                        The official clients for .NET, Python and JavaScript recognize Cosmos DB by the host
                        localhost with any port but 10002, the client for Go by localhost with port 8902.
                        Merges that are not tunnelled through POST are accepted too
  --data <DIR>          Keep the tables in this folder [default: in memory only]
  --sync <WHEN>         When a change reaches the disk [default: always]
                          always    synced before its response: it survives a power cut
                          interval  each second: a kill loses up to the last second
                          never     written before its response: it survives a kill, but no power cut
  --snapshot <FILE>     Load the tables from this file at the start, and save them at the end; not with --data
  --certificate <FILE>  Serve HTTPS with this certificate, in PEM; needs --key
  --key <FILE>          The certificate's private key, in PEM
  --token-audience <URL>
                        Accept every token of Entra ID for this audience, such as https://storage.azure.com, without
                        checking who signed it: for tests only; may be given several times; needs --certificate
  --strict-versions     Reject an x-ms-version after the newest known one, as the live service does
  --timestamp-skew <MILLISECONDS>
                        Shift Timestamps by a random time, up to this much earlier or later [default: 0]
  --model <MODEL>       Simulate latency and throttling of the service: today or 2010 [default: none]
  --control <PORT>      Serve a control API on this port, 0 for any free one: tables, snapshots, faults, the clock, the
                        load and the log of requests, as JSON over HTTP, also for a browser. The guide lists all routes
  --control-host <ADDRESS>
                        Address of the control port [default: 127.0.0.1]; others require a token
  --control-name <NAME> Another name by which clients reach the control port, such as emulator or emulator:8080
  --control-token <@FILE>
                        Require this token in requests to the control port, as Authorization: Bearer
  --max-connections <N> Maximum number of open connections [default: 10000]; a further one replaces the one
                        that has waited longest for its client
  --max-bodies <MIB>    Maximum total size of request bodies being read [default: 256]; others wait
  --timeout <SECONDS>   Time limit for the head of a request, for its body, and for each piece of its response
                        [default: 30]
  --ready-json          Print one line of JSON on standard output when the port is open: address, port, connection
                        strings, the certificate's fingerprint and the URL of the control port. All other output goes to
                        standard error
  --quiet, -q           Do not print a line per request
  --version             Print the version
  --help, -h            Print this text

The environment variable AZURE_TABLE_EMULATOR_ACCOUNTS contains accounts as NAME:KEY, separated by semicolons.
AZURE_TABLE_EMULATOR_CONTROL_TOKEN contains the token of the control port.

Exit codes: 0 after a signal, 1 if something failed, 2 if the options are invalid.

Guide, with curl examples: https://docs.rs/azure-table/latest/azure_table/guide/emulator/";

/// An account besides the default one.
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) key: String,
}

/// The task of the program.
pub(crate) enum Command {
    Serve(Box<Options>),
    Folder(FolderCommand, PathBuf, Profile),
}

/// A task with a folder of `--data` that is not being served.
pub(crate) enum FolderCommand {
    Check,
    Upgrade,
    /// Imports this snapshot.
    Import(PathBuf),
    /// Exports to this snapshot.
    Export(PathBuf),
}

pub(crate) struct Options {
    pub(crate) data: Option<PathBuf>,
    pub(crate) sync: SyncPolicy,
    pub(crate) port: u16,
    pub(crate) host: IpAddr,
    pub(crate) accounts: Vec<Account>,
    pub(crate) profile: Profile,
    pub(crate) snapshot: Option<PathBuf>,
    /// The files of the certificate and of its key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) token_audiences: Vec<String>,
    pub(crate) strict_versions: bool,
    pub(crate) timestamp_skew: Duration,
    pub(crate) model: Option<Preset>,
    pub(crate) control: Option<ControlOptions>,
    pub(crate) max_connections: Option<usize>,
    pub(crate) max_body_bytes: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) ready_json: bool,
    pub(crate) quiet: bool,
    /// Names of the accounts whose keys are in the command line.
    pub(crate) visible_keys: Vec<String>,
}

/// The options of the control port.
pub(crate) struct ControlOptions {
    pub(crate) port: u16,
    pub(crate) host: IpAddr,
    pub(crate) names: Vec<String>,
    pub(crate) token: Option<Token>,
    /// The token is in the command line.
    pub(crate) is_token_visible: bool,
}

impl Options {
    /// Returns the command, or `None` if help or the version was printed.
    pub(crate) fn parse(mut arguments: lexopt::Parser) -> Result<Option<Command>, lexopt::Error> {
        let mut options = Self {
            data: None,
            sync: SyncPolicy::Always,
            port: DEVELOPMENT_PORT,
            host: Ipv4Addr::LOCALHOST.into(),
            accounts: Vec::new(),
            profile: Profile::Storage,
            snapshot: None,
            certificate: None,
            token_audiences: Vec::new(),
            strict_versions: false,
            timestamp_skew: Duration::ZERO,
            model: None,
            control: None,
            max_connections: None,
            max_body_bytes: None,
            timeout: None,
            ready_json: false,
            quiet: false,
            visible_keys: Vec::new(),
        };
        let in_environment = std::env::var(ACCOUNTS).unwrap_or_default();
        for text in in_environment.split(';').filter(|text| !text.is_empty()) {
            options.add(account(ACCOUNTS, text)?, ACCOUNTS)?;
        }
        let (mut port, mut certificate, mut key, mut sync) = (None, None, None, None);
        let mut control = ControlArguments::default();
        let mut words: Vec<OsString> = Vec::new();
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("help") | Short('h') => {
                    print(USAGE);
                    return Ok(None);
                }
                Long("version") => {
                    print(concat!("azure-table-emulator ", env!("CARGO_PKG_VERSION")));
                    return Ok(None);
                }
                Long("quiet") | Short('q') => options.quiet = true,
                Long("ready-json") => options.ready_json = true,
                Long("max-connections") => {
                    options.max_connections = Some(number("--max-connections", arguments.value()?)?);
                }
                Long("max-bodies") => {
                    let mebibytes = number("--max-bodies", arguments.value()?)?;
                    options.max_body_bytes = Some(mebibytes.saturating_mul(1 << 20));
                }
                Long("timeout") => {
                    let seconds = number("--timeout", arguments.value()?)?;
                    options.timeout = Some(Duration::from_secs(seconds as u64));
                }
                Long("port") => {
                    port = Some(port_number("--port", arguments.value()?)?);
                }
                Long("host") => {
                    options.host = address("--host", arguments.value()?)?;
                }
                Long("account") => {
                    let text = text(arguments.value()?)?;
                    let account = account("--account", &text)?;
                    if !text.contains(":@") {
                        options.visible_keys.push(account.name.clone());
                    }
                    options.add(account, "--account")?;
                }
                Long("profile") => match text(arguments.value()?)?.as_str() {
                    "storage" => options.profile = Profile::Storage,
                    "cosmos" => options.profile = Profile::Cosmos,
                    other => return Err(format!("--profile {other}: it must be storage or cosmos").into()),
                },
                Long("model") => {
                    let preset = Preset::of(&text(arguments.value()?)?);
                    options.model = Some(preset.map_err(|why| format!("--model {why}"))?);
                }
                Long("data") => options.data = Some(arguments.value()?.into()),
                Long("sync") => {
                    sync = Some(match text(arguments.value()?)?.as_str() {
                        "always" => SyncPolicy::Always,
                        "interval" => SyncPolicy::Interval(INTERVAL),
                        "never" => SyncPolicy::Never,
                        other => return Err(format!("--sync {other}: it must be always, interval or never").into()),
                    });
                }
                Value(word) => words.push(word),
                Long("snapshot") => options.snapshot = Some(arguments.value()?.into()),
                Long("token-audience") => options.token_audiences.push(text(arguments.value()?)?),
                Long("strict-versions") => options.strict_versions = true,
                Long("timestamp-skew") => {
                    let millis = number("--timestamp-skew", arguments.value()?)?;
                    options.timestamp_skew = Duration::from_millis(millis as u64);
                }
                Long("control") => control.port = Some(port_number("--control", arguments.value()?)?),
                Long("control-host") => control.host = Some(address("--control-host", arguments.value()?)?),
                Long("control-name") => control.names.push(text(arguments.value()?)?),
                Long("control-token") => control.token = Some(text(arguments.value()?)?),
                Long("certificate") => certificate = Some(arguments.value()?.into()),
                Long("key") => key = Some(arguments.value()?.into()),
                other => return Err(other.unexpected()),
            }
        }
        if let Some((command, rest)) = words.split_first() {
            let (command, folder) = FolderCommand::parse(command, rest)?;
            return Ok(Some(Command::Folder(command, folder, options.profile)));
        }
        if options.data.is_some() && options.snapshot.is_some() {
            return Err(
                "--snapshot cannot be combined with --data, which keeps its tables: use import and export".into(),
            );
        }
        if sync.is_some() && options.data.is_none() {
            return Err("--sync needs --data, the folder of the tables".into());
        }
        options.sync = sync.unwrap_or(SyncPolicy::Always);
        options.port = port.unwrap_or(match options.profile {
            Profile::Cosmos => COSMOS_PORT,
            _ => DEVELOPMENT_PORT,
        });
        options.certificate = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err("--certificate needs --key, the file of its private key".into()),
            (None, Some(_)) => return Err("--key needs --certificate, the file of the certificate".into()),
        };
        options.control = control.options()?;
        if !options.token_audiences.is_empty() && options.certificate.is_none() {
            return Err("--token-audience needs --certificate and --key: tokens are accepted over HTTPS only".into());
        }
        Ok(Some(Command::Serve(Box::new(options))))
    }

    /// Returns `true` if the account of all emulators has a key of its own, which is not public.
    pub(crate) fn has_own_development_key(&self) -> bool {
        self.accounts.iter().any(|account| account.name == DEVELOPMENT_ACCOUNT)
    }

    fn add(&mut self, account: Account, source: &str) -> Result<(), lexopt::Error> {
        if self.accounts.iter().any(|known| known.name == account.name) {
            return Err(format!("{source} {}: it is set twice", account.name).into());
        }
        self.accounts.push(account);
        Ok(())
    }
}

/// The arguments of the control port.
#[derive(Default)]
struct ControlArguments {
    port: Option<u16>,
    host: Option<IpAddr>,
    names: Vec<String>,
    token: Option<String>,
}

impl ControlArguments {
    /// Errors never contain the token.
    fn options(self) -> Result<Option<ControlOptions>, lexopt::Error> {
        let Some(port) = self.port else {
            if self.host.is_some() || self.token.is_some() || !self.names.is_empty() {
                return Err("--control-host, --control-name and --control-token need --control, the port".into());
            }
            return Ok(None);
        };
        let host = self.host.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let in_environment = std::env::var(CONTROL_TOKEN).ok();
        let is_token_visible = self.token.as_ref().is_some_and(|token| !token.starts_with('@'));
        let (source, token) = match self.token {
            Some(token) => ("--control-token", Some(token)),
            None => (CONTROL_TOKEN, in_environment),
        };
        let token = match token.as_deref().map(|token| (token.strip_prefix('@'), token)) {
            Some((Some(file), _)) => Some(fs::read_to_string(file).map_err(|e| format!("{source}: {file}: {e}"))?),
            Some((None, token)) => Some(token.to_owned()),
            None => None,
        };
        let token = token.map(|token| Token::new(&token).map_err(|why| format!("{source}: {why}")));
        let token = token.transpose()?;
        if token.is_none() && !host.to_canonical().is_loopback() {
            let why = format!("--control-host {host}: other machines reach it, so it needs --control-token @FILE");
            return Err(why.into());
        }
        Ok(Some(ControlOptions {
            port,
            host,
            names: self.names,
            token,
            is_token_visible,
        }))
    }
}

impl FolderCommand {
    fn parse(command: &OsStr, words: &[OsString]) -> Result<(Self, PathBuf), lexopt::Error> {
        let name = command.to_string_lossy();
        let command = match (&*name, words) {
            ("check", [_]) => Self::Check,
            ("upgrade", [_]) => Self::Upgrade,
            ("import", [_, snapshot]) => Self::Import(snapshot.into()),
            ("export", [_, snapshot]) => Self::Export(snapshot.into()),
            ("check" | "upgrade", _) => return Err(format!("{name} needs one folder").into()),
            ("import" | "export", _) => return Err(format!("{name} needs a folder and a snapshot").into()),
            _ => {
                let why = "is not a command: check, upgrade, import or export; --data DIR serves a folder";
                return Err(format!("{name:?} {why}").into());
            }
        };
        Ok((command, words.first().map(PathBuf::from).unwrap_or_default()))
    }
}

fn port_number(option: &str, value: OsString) -> Result<u16, lexopt::Error> {
    let number = text(value)?;
    let why = format!("{option} {number}: it must be 0 to 65535");
    Ok(number.parse().map_err(|_| why)?)
}

fn address(option: &str, value: OsString) -> Result<IpAddr, lexopt::Error> {
    let host = text(value)?;
    let host = if host == "localhost" { "127.0.0.1" } else { &host };
    let why = format!("{option} {host}: it must be an address such as 127.0.0.1, or 0.0.0.0 for all");
    Ok(host.parse().map_err(|_| why)?)
}

/// Parses a number from 1 on.
fn number(option: &str, value: OsString) -> Result<usize, lexopt::Error> {
    let text = text(value)?;
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    Ok(number.ok_or_else(|| format!("{option} {text}: it must be 1 to {MOST}"))?)
}

/// Parses an account. Errors never contain the key.
fn account(source: &str, text: &str) -> Result<Account, lexopt::Error> {
    let (name, key) = text
        .split_once(':')
        .ok_or_else(|| format!("{source} needs NAME:@FILE, a file with the key in base64, or NAME:KEY"))?;
    let key = match key.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).map_err(|e| format!("{source} {name}: {file}: {e}"))?,
        None => key.to_owned(),
    };
    let key = key.trim();
    Emulator::new()
        .with_account(name, key)
        .map_err(|e| format!("{source} {name}: {e}"))?;
    Ok(Account {
        name: name.to_owned(),
        key: key.to_owned(),
    })
}

fn text(value: OsString) -> Result<String, lexopt::Error> {
    value.string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_audiences_accumulate() {
        let arguments =
            "azure-table-emulator --certificate c --key k --token-audience https://a --token-audience https://b";
        let parsed = Options::parse(lexopt::Parser::from_iter(arguments.split(' ')));
        assert!(matches!(
            parsed,
            Ok(Some(Command::Serve(options))) if options.token_audiences == ["https://a", "https://b"]
        ));
    }

    #[test]
    fn skew_of_timestamps_is_in_milliseconds() {
        let parse = |arguments: &str| Options::parse(lexopt::Parser::from_iter(arguments.split(' ')));
        let parsed = parse("azure-table-emulator --timestamp-skew 2000");
        assert!(matches!(
            parsed,
            Ok(Some(Command::Serve(options))) if options.timestamp_skew == Duration::from_secs(2)
        ));
        assert!(parse("azure-table-emulator --timestamp-skew 2s").is_err());
    }
}
