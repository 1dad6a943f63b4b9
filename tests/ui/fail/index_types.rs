//! Types of fields in an index that the newest should lead, and the ends of a range by such an index.

use azure_table::{DateTime, Descending, Result, TableEntity};
use azure_table_patterns::Indexed;

#[derive(TableEntity)]
#[table(index(by_change = (listed, changed)))]
struct Doc {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    listed: bool,
    changed: Descending<DateTime>,
}

#[derive(TableEntity)]
struct Text {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    title: Descending<String>,
}

#[derive(TableEntity)]
struct Optional {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    deleted: Descending<Option<DateTime>>,
}

fn changed(docs: &Indexed<Doc>, day: DateTime) -> Result<()> {
    docs.between(Doc::BY_CHANGE, ("t", day), ("t", true))?;
    docs.between(Doc::BY_CHANGE, ("t", true, 5), ("t", true, day))?;
    Ok(())
}

fn main() {}
