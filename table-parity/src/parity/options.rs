//! The options of a run on an endpoint, validated.

use std::path::PathBuf;

use clap::Args;

use crate::service::account::Given;

/// The account of the storage emulators, and its public key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const AFTER_HELP: &str = "\
Examples:
  table-parity --endpoint http://127.0.0.1:10002/devstoreaccount1 --report parity.html
  table-parity --endpoint http://127.0.0.1:8902/devstoreaccount1 --cosmos --badge badge.json

The tables of a run have a prefix of their own, and are deleted at its end. The figures are on standard output.

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
    /// Accept this certificate too, in PEM
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The facts of Cosmos DB for Table, and not those of Azure Table storage
    #[arg(long)]
    cosmos: bool,
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
    /// Run only facts and functions whose name contains the text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
    /// Leave the conformance suite out
    #[arg(long)]
    no_suite: bool,
    /// Note the tables here (default: parity and 8 characters and .tables, in the current folder); removed at the end
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// Do not ask before a run on an account in a cloud
    #[arg(long)]
    yes: bool,
}

pub(crate) struct Options {
    pub(crate) account: Given,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) cosmos: bool,
    pub(crate) name: Option<String>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) badge: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) only: String,
    pub(crate) no_suite: bool,
    pub(crate) tables: Option<PathBuf>,
    pub(crate) yes: bool,
}

impl Options {
    /// Returns the options for an account that its connection string names.
    pub(crate) fn new(account: Given) -> Self {
        Self {
            account,
            certificate: None,
            cosmos: false,
            name: None,
            report: None,
            badge: None,
            json: None,
            only: String::new(),
            no_suite: false,
            tables: None,
            yes: false,
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
            certificate: arguments.certificate,
            cosmos: arguments.cosmos,
            name: arguments.name,
            report: arguments.report,
            badge: arguments.badge,
            json: arguments.json,
            only: arguments.only.to_lowercase(),
            no_suite: arguments.no_suite,
            tables: arguments.tables,
            yes: arguments.yes,
            ..Self::new(Given::ConnectionString(format!(
                "AccountName={account};AccountKey={key};TableEndpoint={endpoint}"
            )))
        })
    }
}
