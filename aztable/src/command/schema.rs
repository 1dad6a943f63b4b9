//! `schema`: the properties, types and keys of a table, or a Rust struct for its rows.

use clap::Args;
use indicatif::HumanCount;

use crate::failure::{Done, fail};
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::rows::printed_rows::print_table;
use crate::rows::unread::read_row;
use crate::session::Session;
use crate::shape::rust_struct;
use crate::shape::table_shape::TableShape;
use crate::terminal::counted;

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable schema Quakes                  # the first 1,000 rows
  aztable schema Quakes --all --rust     # a struct for all rows")]
pub(crate) struct Schema {
    /// The table
    table: TablePlace,
    #[command(flatten)]
    rows: RowSelection,
    /// Read the first N rows only
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "all")]
    sample: usize,
    /// Read all rows
    #[arg(long)]
    all: bool,
    /// Print a Rust struct with its derive
    #[arg(long)]
    rust: bool,
    /// The name of the struct
    #[arg(long, value_name = "NAME", requires = "rust")]
    name: Option<String>,
}

impl Schema {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let table = session.table(&self.table)?;
        let mut query = self.rows.query(&table)?.allow_table_scan().lenient();
        if !self.all {
            // One row more shows whether there are others.
            query = query.limit(self.sample.saturating_add(1));
        }
        let (mut shape, mut is_sample, mut read) = (TableShape::default(), false, 0);
        let mut rows = query.prefetch(1).stream();
        let mut progress = session.progress(None);
        while let Some(row) = rows.try_next().await? {
            is_sample = !self.all && read == self.sample;
            if is_sample {
                break;
            }
            session.readable(read_row(row)).iter().for_each(|row| shape.add(row));
            read += 1;
            session.advance(&mut progress, read as u64)?;
        }
        drop(progress);
        if shape.rows == 0 {
            fail!("{}: no such rows, which a schema needs", self.table);
        }
        if self.rust {
            let source = rust_struct::source(self.table.table.as_str(), self.name, &shape, is_sample);
            return session.terminal.result(source);
        }
        if session.terminal.json {
            return session.terminal.result(shape.json(is_sample));
        }
        session.note(&match is_sample {
            true => format!("the first {}; --all reads all", counted(shape.rows, "row")),
            false => format!("all {}", counted(shape.rows, "row")),
        });
        print(&shape)
    }
}

/// Prints keys and properties, a line each.
fn print(shape: &TableShape) -> Done<()> {
    let share = |rows: u64| {
        let percent = 100.0 * rows as f64 / shape.rows as f64;
        format!("{} ({percent:.0} %)", HumanCount(rows))
    };
    let mut lines = Vec::new();
    for (key, shapes) in [("PartitionKey", &shape.partition_keys), ("RowKey", &shape.row_keys)] {
        for (words, rows) in shapes.in_words() {
            lines.push([key.into(), words, share(rows), String::new(), String::new()]);
        }
    }
    for (name, property) in &shape.properties {
        let lengths = property.lengths.map(|(least, most)| match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        });
        let (types, examples) = (property.types_in_words(), property.examples.join(" | "));
        let rows = share(property.rows());
        lines.push([name.clone(), types, rows, lengths.unwrap_or_default(), examples]);
    }
    if shape.others > 0 {
        let (none, values) = (String::new, counted(shape.others, "value"));
        lines.push(["(other names)".into(), none(), values, none(), none()]);
    }
    print_table(["Name", "Type or shape", "Rows", "Length", "Examples"], lines)
}
