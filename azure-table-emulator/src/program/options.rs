//! The options of the program, validated.
//!
//! The command line and its help are in `options/arguments.rs`, accounts in `options/account.rs`, the control port's
//! options in `options/control.rs`.

mod account;
mod arguments;
mod control;

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use azure_table_emulator::SyncPolicy;
use azure_table_wire::account::profile::Profile;

pub(crate) use crate::options::account::Account;
pub(crate) use crate::options::arguments::Arguments;
use crate::options::arguments::{Host, HttpsArguments, Service, StorageArguments, Sync};
pub(crate) use crate::options::control::ControlOptions;

/// The account that all emulators have.
pub(crate) const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// The port of `UseDevelopmentStorage=true`.
pub(crate) const DEVELOPMENT_PORT: u16 = 10_002;
/// The port of Cosmos DB's own emulator for tables.
///
/// Source: "Azure Cosmos DB emulator"; the official client for Go knows it as this service.
const COSMOS_PORT: u16 = 8_902;
/// The interval of `--sync interval`.
const INTERVAL: Duration = Duration::from_secs(1);

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
    /// The addresses to listen on.
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) profile: Profile,
    pub(crate) snapshot: Option<PathBuf>,
    /// The files of the certificate and of its key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) token_audiences: Vec<String>,
    pub(crate) strict_versions: bool,
    pub(crate) timestamp_skew: Duration,
    pub(crate) adverse: Option<u64>,
    pub(crate) control: Option<ControlOptions>,
    pub(crate) max_connections: Option<usize>,
    pub(crate) max_body_bytes: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) ready_json: bool,
    pub(crate) quiet: bool,
    pub(crate) stop_on_eof: bool,
}

impl Command {
    /// Validates the arguments. Errors never contain a key or token.
    pub(crate) fn of(arguments: Arguments) -> Result<Self, String> {
        match arguments.words.split_first() {
            Some((command, words)) => {
                let (command, folder) = FolderCommand::of(command, words)?;
                Ok(Self::Folder(command, folder, profile(arguments.service.profile)))
            }
            None => Ok(Self::Serve(Box::new(Options::of(arguments)?))),
        }
    }
}

impl Options {
    fn of(arguments: Arguments) -> Result<Self, String> {
        let profile = profile(arguments.service.profile);
        let default_port = match profile {
            Profile::Cosmos => COSMOS_PORT,
            _ => DEVELOPMENT_PORT,
        };
        Ok(Self {
            sync: sync(&arguments.storage)?,
            data: arguments.storage.data,
            snapshot: arguments.storage.snapshot,
            port: arguments.service.port.unwrap_or(default_port),
            hosts: arguments.service.host.map_or_else(localhost, Host::addresses),
            accounts: Account::all(&arguments.service.accounts)?,
            profile,
            certificate: certificate(&arguments.https)?,
            token_audiences: arguments.https.token_audiences,
            strict_versions: arguments.service.strict_versions,
            timestamp_skew: Duration::from_millis(arguments.service.timestamp_skew.unwrap_or_default() as u64),
            adverse: arguments.service.adverse,
            control: ControlOptions::of(arguments.control)?,
            max_connections: arguments.limits.max_connections,
            max_body_bytes: arguments
                .limits
                .max_bodies
                .map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
            timeout: arguments
                .limits
                .timeout
                .map(|seconds| Duration::from_secs(seconds as u64)),
            ready_json: arguments.output.ready_json,
            quiet: arguments.output.quiet,
            stop_on_eof: arguments.output.stop_on_eof,
        })
    }

    /// Returns `true` if the account of all emulators has its own key instead of the public one.
    pub(crate) fn has_own_development_key(&self) -> bool {
        self.accounts.iter().any(|account| account.name == DEVELOPMENT_ACCOUNT)
    }
}

/// Returns the addresses that `localhost` leads to. Clients differ in the one that they use first.
fn localhost() -> Vec<IpAddr> {
    vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
}

impl Host {
    fn addresses(self) -> Vec<IpAddr> {
        match self {
            Self::Localhost => localhost(),
            Self::Address(address) => vec![address],
        }
    }
}

fn profile(service: Option<Service>) -> Profile {
    match service {
        Some(Service::Cosmos) => Profile::Cosmos,
        Some(Service::Storage) | None => Profile::Storage,
    }
}

fn sync(storage: &StorageArguments) -> Result<SyncPolicy, String> {
    if storage.data.is_some() && storage.snapshot.is_some() {
        let why = "--snapshot cannot be combined with --data, which keeps its tables: use import and export";
        return Err(why.to_owned());
    }
    if storage.sync.is_some() && storage.data.is_none() {
        return Err("--sync needs --data, the folder of the tables".to_owned());
    }
    Ok(match storage.sync {
        Some(Sync::Always) | None => SyncPolicy::Always,
        Some(Sync::Interval) => SyncPolicy::Interval(INTERVAL),
        Some(Sync::Never) => SyncPolicy::Never,
    })
}

fn certificate(https: &HttpsArguments) -> Result<Option<(PathBuf, PathBuf)>, String> {
    let why = match (&https.certificate, &https.key) {
        (Some(certificate), Some(key)) => return Ok(Some((certificate.clone(), key.clone()))),
        (Some(_), None) => "--certificate needs --key, the file of its private key",
        (None, Some(_)) => "--key needs --certificate, the file of the certificate",
        (None, None) if https.token_audiences.is_empty() => return Ok(None),
        (None, None) => "--token-audience needs --certificate and --key: tokens are accepted over HTTPS only",
    };
    Err(why.to_owned())
}

impl FolderCommand {
    fn of(command: &OsStr, words: &[OsString]) -> Result<(Self, PathBuf), String> {
        let name = command.to_string_lossy();
        let command = match (&*name, words) {
            ("check", [_]) => Self::Check,
            ("upgrade", [_]) => Self::Upgrade,
            ("import", [_, snapshot]) => Self::Import(snapshot.into()),
            ("export", [_, snapshot]) => Self::Export(snapshot.into()),
            ("check" | "upgrade", _) => return Err(format!("{name} needs one folder")),
            ("import" | "export", _) => return Err(format!("{name} needs a folder and a snapshot")),
            _ => {
                let why = "is not a command: check, upgrade, import or export; --data DIR serves a folder";
                return Err(format!("{name:?} {why}"));
            }
        };
        Ok((command, words.first().map(PathBuf::from).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn options(arguments: &str) -> Options {
        let words = ["azure-table-emulator"].into_iter().chain(arguments.split(' '));
        match Command::of(Arguments::try_parse_from(words).unwrap()) {
            Ok(Command::Serve(options)) => *options,
            Ok(Command::Folder(..)) => panic!("{arguments}: a command"),
            Err(why) => panic!("{arguments}: {why}"),
        }
    }

    #[test]
    fn token_audiences_accumulate() {
        let parsed = options("--certificate c --key k --token-audience https://a --token-audience https://b");
        assert_eq!(parsed.token_audiences, ["https://a", "https://b"]);
    }

    #[test]
    fn numbers_have_their_units() {
        let parsed = options("--timestamp-skew 2000 --timeout 3 --max-bodies 4");
        assert_eq!(parsed.timestamp_skew, Duration::from_secs(2));
        assert_eq!(parsed.timeout, Some(Duration::from_secs(3)));
        assert_eq!(parsed.max_body_bytes, Some(4 << 20));
        let parsed = options("--timestamp-skew 0 --adverse 17");
        assert_eq!((parsed.timestamp_skew, parsed.adverse), (Duration::ZERO, Some(17)));
    }

    #[test]
    fn port_is_that_of_the_service() {
        let ports = ["-q", "--profile cosmos", "--profile cosmos --port 1"].map(|arguments| options(arguments).port);
        assert_eq!(ports, [10_002, 8_902, 1]);
    }
}
