//! Tables: list, create, delete.

use clap::Args;
use serde_json::json;

use crate::failure::Done;
use crate::place::{AccountPlace, TablePlace};
use crate::session::Session;

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable ls contoso --prefix Log
  aztable ls --local tables")]
pub(crate) struct List {
    /// An account: NAME, @FILE or local:DIR
    #[arg(value_name = "ACCOUNT")]
    place: Option<AccountPlace>,
    /// Only tables whose names begin so
    #[arg(long)]
    prefix: Option<String>,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let service = session.connections.service(&self.place.unwrap_or_default())?;
        let tables = service.list_tables().starting_with(self.prefix.unwrap_or_default());
        let mut names = tables.stream();
        while let Some(name) = names.try_next().await? {
            session.terminal.either(json!({ "table": name }), name)?;
        }
        Ok(())
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable create Quakes
  aztable create local:tables/Quakes")]
pub(crate) struct Create {
    /// The table
    table: TablePlace,
}

impl Create {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        session.connections.create_folder(&self.table.account)?;
        session.table(&self.table)?.create_table().await?;
        session.note(&format!("created {}", self.table));
        Ok(())
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable rm Quakes          # asks
  aztable rm Quakes --yes")]
pub(crate) struct Remove {
    /// The table
    table: TablePlace,
}

impl Remove {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let table = session.table(&self.table)?;
        let account = session.connections.described(&self.table.account)?;
        let name = table.name();
        session.confirm(&format!("delete the table {name} at {account}, with all its rows"))?;
        table.delete_table().await?;
        session.note(&format!("deleted {name}"));
        Ok(())
    }
}
