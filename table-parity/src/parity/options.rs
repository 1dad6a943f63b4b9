//! The options of a run on an endpoint, validated.

use std::path::PathBuf;

use clap::Args;

use crate::run::Common;
use crate::service::account::Given;

/// The account of the storage emulators, and its public key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const AFTER_HELP: &str = "\
Examples:
  table-parity --endpoint http://127.0.0.1:10002/devstoreaccount1 --report parity.html
  table-parity --endpoint http://127.0.0.1:8902/devstoreaccount1 --cosmos --badge badge.json

First it runs on the emulator, and prints the number of requests. On an account in a cloud it asks before it starts. \
The tables of a run have a prefix of their own, and are deleted at its end. A run of all facts of Cosmos DB for Table \
creates 17 tables, each with the throughput that the account gives to a new one. The service properties are restored at \
the end. The figures are on standard output, the progress on standard error.

Exit codes: 0 all as live, 1 differences, 3 not finished, 2 not started: a wrong option, or an endpoint that cannot be \
used";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The URL of the account on the service
    #[arg(long, value_name = "URL", required = true)]
    endpoint: Option<String>,
    /// The name of the account
    #[arg(long, value_name = "NAME", default_value = ACCOUNT)]
    account: String,
    /// The file with the account key (default: the public key of emulators)
    #[arg(long, value_name = "@FILE")]
    key: Option<String>,
    #[command(flatten)]
    common: Common,
    /// The name on the page (default: the name and version that the service states)
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Write a page with a row for each fact
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a badge, for the endpoint of shields.io
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write the results
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave the conformance suite out
    #[arg(long)]
    no_suite: bool,
}

pub(crate) struct Options {
    pub(crate) account: Given,
    pub(crate) common: Common,
    pub(crate) name: Option<String>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) badge: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) no_suite: bool,
}

impl Options {
    /// Returns the default options for an account.
    #[cfg(test)]
    pub(crate) fn new(account: Given) -> Self {
        Self {
            account,
            common: Common::default(),
            name: None,
            report: None,
            badge: None,
            json: None,
            no_suite: false,
        }
    }

    /// Reads the key, and validates the arguments.
    pub(crate) fn of(arguments: Arguments) -> Result<Self, String> {
        let endpoint = arguments.endpoint.unwrap_or_default();
        let account = arguments.account;
        let key = match arguments.key.as_deref().map(|key| key.strip_prefix('@')) {
            Some(Some(file)) => std::fs::read_to_string(file).map_err(|e| format!("--key @{file}: {e}"))?,
            Some(None) => return Err("--key: write the key to a file, and name it as @FILE".to_owned()),
            None if account == ACCOUNT => KEY.to_owned(),
            None => return Err(format!("--account {account}: its key is needed, --key @FILE")),
        };
        let key = key.trim();
        Ok(Self {
            account: Given::ConnectionString(format!(
                "AccountName={account};AccountKey={key};TableEndpoint={endpoint}"
            )),
            common: arguments.common,
            name: arguments.name,
            report: arguments.report,
            badge: arguments.badge,
            json: arguments.json,
            no_suite: arguments.no_suite,
        })
    }
}
