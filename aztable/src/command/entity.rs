//! Single rows: get, put, set, delete, with `--if-match`.

use azure_table::{DynamicEntity, ETag, TableOperation};
use clap::Args;
use serde_json::json;

use crate::failure::{Done, Failure, fail};
use crate::place::TablePlace;
use crate::rows::printed_rows::print_properties;
use crate::session::{Session, was_applied};
use crate::value;

/// The key of a row.
#[derive(Args)]
struct RowKeys {
    /// The table
    table: TablePlace,
    /// The PartitionKey of the row
    #[arg(value_name = "PARTITION_KEY")]
    partition: String,
    /// The RowKey of the row
    #[arg(value_name = "ROW_KEY")]
    row: String,
}

/// The condition of a write.
#[derive(Args)]
struct Match {
    /// Write only if the stored row has this ETag, which `get` prints
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable get Quakes banda 0001
  aztable get Quakes banda 0001 --select Magnitude,Place --json")]
pub(crate) struct Get {
    #[command(flatten)]
    key: RowKeys,
    /// Only these properties
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    select: Vec<String>,
}

impl Get {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let table = session.table(&self.key.table)?;
        let get = table.get((&self.key.partition, &self.key.row));
        let is_whole = self.select.is_empty();
        let get = if is_whole { get } else { get.select_names(self.select) };
        let Some(row) = get.await? else {
            fail!("no row {:?}", (self.key.partition, self.key.row));
        };
        if session.terminal.json {
            return session.terminal.result(serde_json::to_string(&row)?);
        }
        print_properties(&row)
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable put Quakes banda 0001 Magnitude:double=6.8 'Place=Banda Sea'
  aztable put Quakes banda 0002 Magnitude:double=6.9 --insert")]
pub(crate) struct Put {
    #[command(flatten)]
    key: RowKeys,
    /// Name=text, or Name:TYPE=value: bool, int32, int64, double, datetime, guid, binary
    properties: Vec<String>,
    /// Fail if the row exists
    #[arg(long, conflicts_with = "if_match")]
    insert: bool,
    #[command(flatten)]
    condition: Match,
}

impl Put {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let entity = value::entity(&self.key.partition, &self.key.row, &self.properties)?;
        let operation = match (self.insert, &self.condition.if_match) {
            (true, _) => TableOperation::insert(&entity),
            (false, None) => TableOperation::insert_or_replace(&entity),
            (false, Some(_)) => TableOperation::replace(&entity),
        };
        write(session, &self.key, operation, self.condition).await
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable set Quakes banda 0001 Reviewed:bool=true
  aztable set Quakes banda 0001 'Note=felt' Felt:int32=12")]
pub(crate) struct Set {
    #[command(flatten)]
    key: RowKeys,
    /// Name=text, or Name:TYPE=value
    #[arg(required = true)]
    properties: Vec<String>,
    #[command(flatten)]
    condition: Match,
}

impl Set {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let entity = value::entity(&self.key.partition, &self.key.row, &self.properties)?;
        let operation = match &self.condition.if_match {
            None => TableOperation::insert_or_merge(&entity),
            Some(_) => TableOperation::merge(&entity),
        };
        write(session, &self.key, operation, self.condition).await
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable del Quakes banda 0001
  aztable del Quakes banda 0001 --if-match '*'")]
pub(crate) struct Delete {
    #[command(flatten)]
    key: RowKeys,
    #[command(flatten)]
    condition: Match,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let operation = TableOperation::delete::<DynamicEntity>((&self.key.partition, &self.key.row));
        write(session, &self.key, operation, self.condition).await
    }
}

/// Writes a row, and prints its ETag.
async fn write(session: &Session, key: &RowKeys, operation: TableOperation, condition: Match) -> Done<()> {
    let (terminal, (service, table)) = (&session.terminal, session.connections.service_and_table(&key.table)?);
    let operation = match condition.if_match {
        Some(etag) => operation.if_match(ETag::new(etag)),
        None => operation,
    };
    match table.execute(operation).await {
        Ok(result) => match result.etag() {
            None => session.note("done"),
            Some(etag) => terminal.either(json!({ "etag": etag.as_str() }), etag.as_str())?,
        },
        Err(error) => match was_applied(&service, &error).await {
            Some(true) => session.note("done, after a response was lost"),
            Some(false) => fail!("not written: {}", Failure::from(error.last_failure().unwrap_or(error))),
            None => return Err(error.into()),
        },
    }
    Ok(())
}
