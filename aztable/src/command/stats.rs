//! `stats`: the rows, bytes and partitions of a table, and its price.

use std::collections::BTreeMap;

use clap::Args;
use futures_util::TryStreamExt as _;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::failure::Done;
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::rows::printed_rows::print_table;
use crate::rows::sorted::sorted_rows;
use crate::session::Session;
use crate::shape::partitions::{Partition, Partitions};
use crate::shape::row_size::row_size;
use crate::terminal::counted;

/// The characters of the longest bar.
const BAR: u64 = 40;

#[derive(Args)]
#[command(after_help = "\
Sizes are those of the published formula of Azure Storage: 4 bytes, 2 for each character of the keys, and for each \
property 8, 2 for each character of its name, and its value. Rows of Cosmos DB come in no order: they are sorted in a \
temporary file first.

Examples:
  aztable stats Quakes
  aztable stats Quakes --price-per-gb 0.05 --price-per-10k-requests 0.0004")]
pub(crate) struct Stats {
    /// The table
    table: TablePlace,
    #[command(flatten)]
    rows: RowSelection,
    /// Print the price of a month, at this price for 2^30 bytes
    #[arg(long, value_name = "PRICE", help_heading = "Price")]
    price_per_gb: Option<f64>,
    /// Print the price of reading the table once, at this price for 10,000 requests
    #[arg(long, value_name = "PRICE", help_heading = "Price")]
    price_per_10k_requests: Option<f64>,
}

impl Stats {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let (service, table) = session.connections.service_and_table(&self.table)?;
        let (mut rows, mut bytes) = (0, 0);
        let mut partitions = Partitions::default();
        let mut sizes = BTreeMap::<u32, u64>::new();
        let mut read = sorted_rows(&service, self.rows.query(&table)?, session.interrupt.clone());
        let mut progress = session.progress(None);
        while let Some((_, row)) = read.try_next().await? {
            let Some(row) = session.readable(row) else { continue };
            let size = row_size(&row);
            rows += 1;
            bytes += size;
            partitions.add(&row.partition_key, size);
            *sizes.entry(size.ilog2()).or_default() += 1;
            session.advance(&mut progress, rows)?;
        }
        drop(progress);
        let requests = session.connections.meter.total().requests;
        let count = partitions.count;
        let [by_rows, by_bytes] = partitions.largest();
        let month = self.price_per_gb.map(|price| price * bytes as f64 / f64::from(1 << 30));
        let scan = self.price_per_10k_requests;
        let scan = scan.map(|price| price * requests as f64 / 10_000.0);
        let sizes = sizes.iter().map(|(power, rows)| (1_u64 << power, *rows));
        if session.terminal.json {
            let sizes = sizes.map(|(from, rows)| json!({ "from": from, "below": 2 * from, "rows": rows }));
            let sizes: Vec<_> = sizes.collect();
            return session.terminal.result(json!({
                "rows": rows, "bytes": bytes, "partitions": count, "requests": requests,
                "largest_by_rows": by_rows, "largest_by_bytes": by_bytes, "sizes": sizes, "price_of_month": month,
                "price_of_scan": scan,
            }));
        }
        let (read, size) = (counted(rows, "row"), HumanBytes(bytes));
        let (partitions, requests) = (counted(count, "partition"), counted(requests, "request"));
        let line = format!("{read}, {size}, {partitions}, {requests}");
        session.terminal.result(line)?;
        let prices = [("a month of storage", month), ("reading the table once", scan)];
        for (what, price) in prices.into_iter().filter_map(|(what, price)| Some((what, price?))) {
            session.terminal.result(format!("{what}: {price:.4}"))?;
        }
        if rows == 0 {
            return Ok(());
        }
        let share = |part: u64, of: u64| format!("{:.1} %", 100.0 * part as f64 / of as f64);
        let line = |share: String, partition: Partition| {
            let (rows, bytes) = (HumanCount(partition.rows), HumanBytes(partition.bytes));
            [partition.partition_key, rows.to_string(), bytes.to_string(), share]
        };
        session.terminal.result("")?;
        let lines = by_rows.into_iter().map(|part| line(share(part.rows, rows), part));
        print_table(["Most rows", "Rows", "Bytes", "Of rows"], lines)?;
        session.terminal.result("")?;
        let lines = by_bytes.into_iter().map(|part| line(share(part.bytes, bytes), part));
        print_table(["Most bytes", "Rows", "Bytes", "Of bytes"], lines)?;
        session.terminal.result("")?;
        let most = sizes.clone().map(|(_, rows)| rows).max().unwrap_or(1);
        let line = |(from, of_size): (u64, u64)| {
            let bar = "█".repeat((of_size * BAR).div_ceil(most) as usize);
            let size = format!("{} to {}", HumanBytes(from), HumanBytes(2 * from));
            [size, HumanCount(of_size).to_string(), share(of_size, rows), bar]
        };
        print_table(["Size of a row", "Rows", "Of rows", ""], sizes.map(line))
    }
}
