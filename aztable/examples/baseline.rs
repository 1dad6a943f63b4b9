//! The library's own rates, with which those of `aztable export` and `aztable import` are compared.
//!
//! ```text
//! baseline rows ROWS          prints rows as JSON lines
//! baseline bulk TABLE ROWS    writes the same rows
//! baseline scan TABLE         reads all rows
//! ```
//!
//! `AZURE_STORAGE_CONNECTION_STRING` names the account. See `tests/external/aztable_figures/run`.

use std::error::Error;
use std::io::{BufWriter, Write as _};

use azure_table::{DateTime, DynamicEntity, Guid, TableOperation, TableServiceClient};
use futures_util::stream;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let table = |name: &str| -> Result<_, Box<dyn Error>> {
        let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING")?;
        Ok(TableServiceClient::from_connection_string(&connection_string)?.dynamic_table(name)?)
    };
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["rows", rows] => {
            let mut lines = BufWriter::new(std::io::stdout());
            for row in 0..rows.parse()? {
                serde_json::to_writer(&mut lines, &entity(row))?;
                lines.write_all(b"\n")?;
            }
            lines.flush()?;
        }
        ["bulk", name, rows] => {
            let table = table(name)?;
            table.create_table_if_not_exists().await?;
            let rows = (0..rows.parse()?).map(|row| TableOperation::insert_or_replace(&entity(row)));
            let report = table
                .bulk()
                .max_pending(20_000)
                .write_stream(stream::iter(rows))
                .await?;
            report.ensure_no_leftovers()?;
        }
        ["scan", name] => {
            let mut pages = table(name)?.query().allow_table_scan().scan().stream();
            while pages.try_next_page().await?.is_some() {}
        }
        _ => return Err("baseline rows ROWS | bulk TABLE ROWS | scan TABLE".into()),
    }
    Ok(())
}

/// A row of 300 bytes as JSON, in a partition of 1,000.
fn entity(row: i64) -> DynamicEntity {
    let mut entity = DynamicEntity::new(format!("p{:07}", row / 1_000), format!("{row:010}"));
    entity.insert("At", DateTime::from_unix_seconds(1_700_000_000 + row));
    entity.insert("Count", (row % 1_000) as i32);
    entity.insert("Id", Guid(i128::from(row).to_be_bytes()));
    entity.insert("Name", format!("row number {row}"));
    entity.insert("Ratio", row as f64 / 7.0);
    entity.insert("Total", row << 20);
    entity
}
