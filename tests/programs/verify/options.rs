//! The command line and the environment, validated.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt as _};

/// The variable with a connection string: as in the examples.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
/// The variable with a token of Entra ID.
const TOKEN: &str = "AZURE_TABLE_TOKEN";

pub(crate) const HELP: &str = "\
Compares a Table service with the emulator: the conformance suite, and a probe for each line of unknowns.md.

usage: cargo run --release -p azure-table-tests --example verify -- [OPTION]...

The account is in AZURE_STORAGE_CONNECTION_STRING (with a key or a shared access signature),
or in --endpoint with a token of Entra ID in AZURE_TABLE_TOKEN.

  --connection-string TEXT  the account; other users of this machine may see an argument
  --endpoint URL            the address of an account, for a token
  --certificate FILE        accepts this certificate too, in PEM
  --cosmos                  the service is Cosmos DB for Table: for its emulator, or a domain of your own
  --yes                     does not ask before the run; needed without a terminal
  --max-requests NUMBER     stops after this many requests (default: 1.5 times the estimate)
  --only TEXT               runs only tests and probes whose name contains the text
  --change-properties       also runs what changes the service properties; they are restored
  --record FOLDER           keeps the exchanges, without secrets, in FOLDER/storage or FOLDER/cosmos
  --tables FILE             where the tables are noted (default: verify and 8 characters and .tables,
                            in the current folder); the run removes it at its end
  --cleanup FILE            only deletes the tables noted in the file, of the same account
  --help                    prints this text

First it runs on the emulator, and prints the number of requests. After a yes it creates and deletes one
table, and starts if both succeed. The report is on standard output, the progress on standard error.

exit code: 0 no difference, 1 a difference or a failure, 3 not finished,
           2 not started: a wrong option, or an account that cannot be used
";

/// The credential and address of an account, as they were given.
pub(crate) enum Given {
    ConnectionString(String),
    Token { endpoint: String, token: String },
}

pub(crate) struct Options {
    pub(crate) account: Given,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) cosmos: bool,
    pub(crate) yes: bool,
    pub(crate) max_requests: Option<u64>,
    pub(crate) only: String,
    pub(crate) change_properties: bool,
    pub(crate) record: Option<PathBuf>,
    pub(crate) tables: Option<PathBuf>,
    pub(crate) cleanup: Option<PathBuf>,
}

impl Options {
    /// Returns the default options for an account.
    pub(crate) fn new(account: Given) -> Self {
        Self {
            account,
            certificate: None,
            cosmos: false,
            yes: false,
            max_requests: None,
            only: String::new(),
            change_properties: false,
            record: None,
            tables: None,
            cleanup: None,
        }
    }

    /// Parses the arguments. Returns `None` if they ask for help.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let mut parser = Parser::from_args(arguments);
        let mut options = Self::new(Given::ConnectionString(String::new()));
        let (mut connection_string, mut endpoint) = (variable(CONNECTION_STRING), None);
        while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
            let Arg::Long(name) = argument else {
                // Not shown: it may be a connection string without its option.
                return Err("every argument is an option; --help lists them".to_owned());
            };
            match name.to_owned().as_str() {
                "help" => return Ok(None),
                "yes" => options.yes = true,
                "cosmos" => options.cosmos = true,
                "change-properties" => options.change_properties = true,
                "connection-string" => connection_string = Some(text(&mut parser, "connection-string")?),
                "endpoint" => endpoint = Some(text(&mut parser, "endpoint")?),
                "only" => options.only = text(&mut parser, "only")?.to_lowercase(),
                "max-requests" => {
                    let number = text(&mut parser, "max-requests")?;
                    let parsed = number.parse().ok().filter(|number| *number > 0);
                    let wrong = || format!("--max-requests {number}: it must be a number from 1");
                    options.max_requests = Some(parsed.ok_or_else(wrong)?);
                }
                "certificate" => options.certificate = Some(path(&mut parser)?),
                "record" => options.record = Some(path(&mut parser)?),
                "tables" => options.tables = Some(path(&mut parser)?),
                "cleanup" => options.cleanup = Some(path(&mut parser)?),
                other => return Err(format!("--{other} is not an option; --help lists them")),
            }
        }
        options.account = match (endpoint, connection_string) {
            (Some(endpoint), _) => Given::Token {
                endpoint,
                token: variable(TOKEN).ok_or(format!("--endpoint needs a token: set {TOKEN}"))?,
            },
            (None, Some(text)) => Given::ConnectionString(text),
            (None, None) => {
                return Err(format!(
                    "no account: set {CONNECTION_STRING}, or --endpoint and {TOKEN}"
                ));
            }
        };
        Ok(Some(options))
    }
}

fn text(parser: &mut Parser, option: &str) -> Result<String, String> {
    let value = parser.value().map_err(|e| e.to_string())?;
    // The error of `string` would repeat the value.
    value
        .string()
        .map_err(|_| format!("--{option}: its value is not UTF-8"))
}

fn path(parser: &mut Parser) -> Result<PathBuf, String> {
    parser.value().map(PathBuf::from).map_err(|e| e.to_string())
}
