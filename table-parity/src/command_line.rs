//! The command line: the facts on an endpoint, the comparison of an account, or a page of results.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::comparison::options as comparison;
use crate::parity::options as parity;

/// Measure how closely a Table service answers as Azure does: facts of Azure Table storage and Cosmos DB for Table,
/// each with its source, on any endpoint
#[derive(Parser)]
#[command(name = "table-parity", version, max_term_width = 110)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) way: Option<Way>,
    #[command(flatten)]
    pub(crate) facts: parity::Arguments,
}

#[derive(Subcommand)]
pub(crate) enum Way {
    Account(Box<comparison::Arguments>),
    /// Draw the page of results that --json has written, on standard output
    Page {
        /// The file
        results: PathBuf,
    },
}

/// A command line that is not accepted.
#[derive(Debug)]
pub(crate) enum Rejected {
    /// Help or the version, for standard output.
    Help(String),
    /// One line, without the texts of arguments that may be secrets.
    Mistake(String),
}

impl CommandLine {
    /// Parses the arguments, of which the first is the program.
    pub(crate) fn of(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Rejected> {
        Self::try_parse_from(arguments).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Rejected::Help(error.to_string()),
            kind => Rejected::Mistake(mistake(&error, kind)),
        })
    }
}

fn mistake(error: &clap::Error, kind: ErrorKind) -> String {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let option = argument.split(['=', ' ']).next().unwrap_or_default();
    match kind {
        ErrorKind::UnknownArgument if option.starts_with("--") => {
            format!("{option} is not an option; --help lists them")
        }
        // Not shown: it may be a connection string without its option.
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict => {
            "every argument is an option, after `account` if it is the first; --help lists them".to_owned()
        }
        ErrorKind::MissingRequiredArgument => {
            "an endpoint is needed: --endpoint URL, or `table-parity account`; --help lists the options".to_owned()
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}
