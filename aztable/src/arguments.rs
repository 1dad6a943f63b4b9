//! The command line: its commands, and the options of all of them.

use clap::{Parser, Subcommand};

use crate::command::{
    backup, completions, copy, diff, entity, export, import, policies, query, restore, sas, schema, selected, settings,
    stats, sync, tables, ui, verify_backup,
};
use crate::connection::AccountOptions;
use crate::terminal::Terminal;

/// Tables of Azure Storage and Cosmos DB: query, export, import, copy, compare, back up.
#[derive(Parser)]
#[command(version, after_help = include_str!("arguments.txt"), arg_required_else_help = true, infer_subcommands = false)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) account: AccountOptions,
    #[command(flatten)]
    pub(crate) terminal: Terminal,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the tables of an account
    Ls(tables::List),
    /// Create a table
    Create(tables::Create),
    /// Delete a table with its rows
    Rm(tables::Remove),
    /// Print a row
    Get(entity::Get),
    /// Insert a row, or replace the stored one
    Put(entity::Put),
    /// Set properties of a row, and keep the others
    Set(entity::Set),
    /// Delete a row
    Del(entity::Delete),
    /// Print rows, after the plan of the query
    Query(query::Query),
    /// Write rows to a file: JSON lines, CSV or Parquet
    Export(export::Export),
    /// Write the rows of a file to a table
    Import(import::Import),
    /// Write the rows of a table to another one
    Copy(copy::Copy),
    /// Print the rows in which two tables differ
    Diff(diff::Diff),
    /// Make the rows of a table equal to those of another one
    Sync(sync::Sync),
    /// Delete the rows of a selection
    Delete(selected::Delete),
    /// Set properties of the rows of a selection
    Patch(selected::Patch),
    /// Print the properties, types and keys of a table, or a Rust struct for its rows
    Schema(schema::Schema),
    /// Print the rows, bytes, partitions and price of a table
    Stats(stats::Stats),
    /// Make or explain a shared access signature
    Sas(sas::Sas),
    /// Print or change the access policies of a table, which revoke signatures
    Policies(policies::Policies),
    /// Print or change the rules for browsers
    Cors(settings::Cors),
    /// Print the settings of an account: logging, metrics, rules for browsers
    Properties(settings::Properties),
    /// Back up an account's tables into a folder: all rows, or those that have changed
    Backup(backup::Backup),
    /// Restore the tables of a backup where they are absent
    Restore(restore::Restore),
    /// Check the backups of a folder: checksums, order, bases, counts
    VerifyBackup(verify_backup::VerifyBackup),
    /// List the backups of a folder
    Backups(verify_backup::Backups),
    /// Open a page for the tables on this machine
    Ui(ui::Ui),
    /// Print a completion script of a shell
    Completions(completions::Completions),
    /// Print the manual page, or write those of all commands
    Man(completions::Man),
}
