//! The options of `table-parity account`, validated.

use std::path::PathBuf;

use clap::Args;

use crate::run::Common;
use crate::service::account::Given;

/// The variable with a connection string: as in the examples.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
/// The variable with a token of Entra ID.
const TOKEN: &str = "AZURE_TABLE_TOKEN";

const AFTER_HELP: &str = "\
The account is in AZURE_STORAGE_CONNECTION_STRING (with a key or a shared access signature), or in --endpoint with a \
token of Entra ID in AZURE_TABLE_TOKEN.

First it runs on the emulator, and prints the number of requests. After a yes it creates and deletes one table, and \
starts if both succeed. The report is on standard output, the progress on standard error.

Exit codes: 0 no difference, 1 a difference or a failure, 3 not finished, 2 not started: a wrong option, or an account \
that cannot be used";

/// Compare an account with the emulator: the conformance suite, and a probe for each line of unknowns.md
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The account; other users of this machine may see an argument
    #[arg(long, value_name = "TEXT")]
    connection_string: Option<String>,
    /// The address of an account, for a token
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    #[command(flatten)]
    common: Common,
    /// Also run what changes the service properties; they are restored
    #[arg(long)]
    change_properties: bool,
    /// Keep the exchanges, without secrets, in FOLDER/storage or FOLDER/cosmos
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
}

pub(crate) struct Options {
    pub(crate) account: Given,
    pub(crate) common: Common,
    pub(crate) change_properties: bool,
    pub(crate) record: Option<PathBuf>,
}

impl Options {
    /// Returns the default options for an account.
    #[cfg(test)]
    pub(crate) fn new(account: Given) -> Self {
        Self {
            account,
            common: Common::default(),
            change_properties: false,
            record: None,
        }
    }

    /// Completes the arguments by the variables of the environment.
    pub(crate) fn of(arguments: Arguments, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let account = match (arguments.endpoint, arguments.connection_string) {
            (Some(endpoint), _) => Given::Token {
                endpoint,
                token: variable(TOKEN).ok_or(format!("--endpoint needs a token: set {TOKEN}"))?,
            },
            (None, given) => Given::ConnectionString(
                given
                    .or_else(|| variable(CONNECTION_STRING))
                    .ok_or_else(|| format!("no account: set {CONNECTION_STRING}, or --endpoint and {TOKEN}"))?,
            ),
        };
        Ok(Self {
            account,
            common: arguments.common,
            change_properties: arguments.change_properties,
            record: arguments.record,
        })
    }
}
