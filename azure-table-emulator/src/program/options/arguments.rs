//! The command line: options with their help, and the types of their values.
//!
//! Keys and tokens are plain text here and validated by `options.rs`, because an error of clap shows the value.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, ValueEnum};

/// The maximum of every number: a million connections, a tebibyte of bodies, eleven days.
const MAX_NUMBER: usize = 1_000_000;

const TEMPLATE: &str = "\
{about}

Usage: {usage}

Commands for a folder of --data that no process serves:
  check    Verify it, and count its contents
  upgrade  Convert it to the format of this version
  import   Replace its tables with the tables of a snapshot
  export   Write its tables as a snapshot

{all-args}{after-help}";

const USAGE: &str = "\
azure-table-emulator [OPTIONS]
       azure-table-emulator check|upgrade <DIR>
       azure-table-emulator import|export <DIR> <SNAPSHOT>";

const AFTER_HELP: &str = "\
The environment variable AZURE_TABLE_EMULATOR_ACCOUNTS contains accounts as NAME:KEY, separated by semicolons. \
AZURE_TABLE_EMULATOR_CONTROL_TOKEN contains the token of the control port.

Exit codes: 0 after a signal, 1 if something failed, 2 if the options are invalid.

Guide, with curl examples: https://docs.rs/azure-table/latest/azure_table/guide/emulator/";

/// Serves Azure Table storage like the live service, until Ctrl-C, SIGTERM or SIGHUP.
#[derive(Parser)]
#[command(
    version,
    override_usage = USAGE,
    help_template = TEMPLATE,
    after_help = AFTER_HELP,
    // A script may add options to a container's entry point: the last one counts.
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true,
)]
pub(crate) struct Arguments {
    /// A command for a folder, and its arguments.
    #[arg(hide = true)]
    pub(super) words: Vec<OsString>,
    #[command(flatten)]
    pub(super) service: ServiceArguments,
    #[command(flatten)]
    pub(super) storage: StorageArguments,
    #[command(flatten)]
    pub(super) https: HttpsArguments,
    #[command(flatten)]
    pub(super) control: ControlArguments,
    #[command(flatten)]
    pub(super) limits: LimitArguments,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Service")]
pub(super) struct ServiceArguments {
    /// Port to listen on, 0 for any free one [default: 10002; for cosmos 8902]
    #[arg(long, value_name = "N", value_parser = port, allow_negative_numbers = true)]
    pub(super) port: Option<u16>,
    /// Address to listen on [default: localhost, which is 127.0.0.1 and, if this machine has it,
    /// ::1]; use 0.0.0.0 in a container
    #[arg(long, value_name = "ADDRESS", value_parser = host)]
    pub(super) host: Option<Host>,
    /// Add an account, or set another key for devstoreaccount1. The file contains the key in
    /// base64. NAME:KEY is accepted too, but all users of the machine can read the command line
    #[arg(long = "account", value_name = "NAME:@FILE")]
    pub(super) accounts: Vec<String>,
    /// storage, or cosmos for Azure Cosmos DB for Table [default: storage].
    /// Azure.Data.Tables (.NET) and the client for Python recognize Cosmos DB by the host localhost
    /// with any port but 10002, that for JavaScript by localhost without /devstoreaccount1, that for
    /// Go by localhost with port 8902, that for Java by no local address, and
    /// Microsoft.Azure.Cosmos.Table 1.0.8 (.NET) by https://localhost with any port but 10002, and
    /// only with UseRestExecutorForCosmosEndpoint.
    /// Merges that are not tunnelled through POST are accepted too
    #[arg(long, value_name = "SERVICE", hide_possible_values = true)]
    pub(super) profile: Option<Service>,
    /// Reject an x-ms-version after the newest known one, as the live service does
    #[arg(long)]
    pub(super) strict_versions: bool,
    /// Shift Timestamps by a random time, up to this much earlier or later, in milliseconds
    /// [default: 0]
    #[arg(long, value_name = "MS", value_parser = number_or_zero, allow_negative_numbers = true)]
    pub(super) timestamp_skew: Option<usize>,
    /// Do the worst that the service may do, by the choices of a seed: Timestamps off by 30 s,
    /// short and empty pages, 500 and 503, lost responses; --timestamp-skew is then ignored
    #[arg(long, value_name = "SEED")]
    pub(super) adverse: Option<u64>,
}

#[derive(Args)]
#[command(next_help_heading = "Storage")]
pub(super) struct StorageArguments {
    /// Keep the tables in this folder [default: in memory only]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// When a change reaches the disk [default: always]
    ///   always    synced before its response: survives a power cut
    ///   interval  synced each second: a kill or a full disk loses the last second
    ///             and the time of two writes
    ///   never     written before its response: survives a kill, but no power cut
    #[arg(long, value_name = "WHEN", hide_possible_values = true, verbatim_doc_comment)]
    pub(super) sync: Option<Sync>,
    /// Load the tables from this file at the start, and save them at the end; not with --data
    #[arg(long, value_name = "FILE")]
    pub(super) snapshot: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "HTTPS")]
pub(super) struct HttpsArguments {
    /// Serve HTTPS with this certificate, in PEM; needs --key
    #[arg(long, value_name = "FILE")]
    pub(super) certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    #[arg(
        long = "token-audience",
        value_name = "URL",
        help = "Accept every token of Entra ID for this audience, such as https://storage.azure.com, \
                without checking who signed it: for tests only; may be repeated; needs --certificate"
    )]
    pub(super) token_audiences: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Control port")]
pub(super) struct ControlArguments {
    /// Serve a control API on this port, 0 for any free one: tables, snapshots, faults, the
    /// clock and the log of requests, as JSON over HTTP. GET / is a page for a browser, and with
    /// Accept: application/json the list of all routes
    #[arg(id = "control", long, value_name = "PORT", value_parser = port, allow_negative_numbers = true)]
    pub(super) port: Option<u16>,
    /// Address of the control port [default: 127.0.0.1]; others require a token
    #[arg(id = "control-host", long, value_name = "ADDRESS", value_parser = address)]
    pub(super) host: Option<IpAddr>,
    /// Another name by which clients reach the control port, such as emulator or emulator:8080
    #[arg(id = "control-name", long, value_name = "NAME")]
    pub(super) names: Vec<String>,
    /// Number of requests that the log of the control port keeps [default: 1000]
    #[arg(id = "control-requests", long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    pub(super) requests: Option<usize>,
    /// Require this token in requests to the control port, as Authorization: Bearer
    #[arg(id = "control-token", long, value_name = "@FILE")]
    pub(super) token: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// Maximum number of open connections [default: 10000]; a further one replaces the one that
    /// has waited longest for its client
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    pub(super) max_connections: Option<usize>,
    /// Maximum total size of request bodies being read [default: 256]; others wait
    #[arg(long, value_name = "MIB", value_parser = number, allow_negative_numbers = true)]
    pub(super) max_bodies: Option<usize>,
    /// Time limit for the head of a request, for its body, and for each piece of its response
    /// [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_negative_numbers = true)]
    pub(super) timeout: Option<usize>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArguments {
    /// Print one line of JSON on standard output when the port is open: address, port,
    /// connection strings, the certificate's fingerprint and the URL of the control port. All
    /// other output goes to standard error
    #[arg(long)]
    pub(super) ready_json: bool,
    /// Do not print a line per request
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Stop when standard input ends, as it does when the process that holds its other end does
    #[arg(long)]
    pub(super) stop_on_eof: bool,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
    /// Print this text
    #[arg(long, short, action = ArgAction::Help)]
    help: Option<bool>,
}

// Without documentation of the values, which would spread the help over three times as many lines.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Service {
    Storage,
    Cosmos,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Sync {
    Always,
    Interval,
    Never,
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "it must be 0 to 65535")
}

/// The value of `--host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// All addresses of this name.
    Localhost,
    Address(IpAddr),
}

fn host(text: &str) -> Result<Host, &'static str> {
    match text {
        "localhost" => Ok(Host::Localhost),
        _ => address(text).map(Host::Address),
    }
}

fn address(text: &str) -> Result<IpAddr, &'static str> {
    let address = if text == "localhost" { "127.0.0.1" } else { text };
    let why = "it must be an address such as 127.0.0.1, or 0.0.0.0 for all";
    address.parse().map_err(|_| why)
}

fn number_or_zero(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (0..=MAX_NUMBER).contains(number));
    number.ok_or_else(|| format!("it must be 0 to {MAX_NUMBER}"))
}

/// Parses a number from 1 on.
fn number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_NUMBER).contains(number));
    number.ok_or_else(|| format!("it must be 1 to {MAX_NUMBER}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn help_fits_a_line_of_120_columns() {
        Arguments::command().debug_assert();
        let help = |option| {
            Arguments::try_parse_from(["emulator", option])
                .map(drop)
                .unwrap_err()
                .to_string()
        };
        for line in help("--help").lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
        assert_eq!(help("-h"), help("--help"), "nothing is left out");
    }

    #[test]
    fn options_of_a_script_override_those_before() {
        let words = "emulator --host 0.0.0.0 --port 1 --quiet --host localhost --port 2 --quiet";
        let arguments = Arguments::try_parse_from(words.split(' ')).unwrap_or_else(|e| panic!("{e}"));
        let service = arguments.service;
        assert_eq!((service.host, service.port), (Some(Host::Localhost), Some(2)));
    }
}
