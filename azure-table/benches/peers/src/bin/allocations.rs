//! Allocations of each operation, by the floor, this crate and the older client. Exits with 1 if a bar is missed.
//!
//! The second of two equal rounds is counted: the first opens connections and fills caches.

use std::process::ExitCode;

use azure_table_peers::floor::Floor;
use azure_table_peers::older::Older;
use azure_table_peers::ours::Ours;
use azure_table_peers::process::Server;
use azure_table_peers::{Operation, Peer};

/// Few, because counts are the same in every run.
fn units(operation: Operation) -> usize {
    operation.units() / 10
}

/// Allocations per unit, and the peak of the heap in KiB.
fn count(peer: &impl Peer, operation: Operation) -> Option<(f64, f64)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if !runtime.block_on(peer.run(operation, units(operation))) {
        return None;
    }
    let counted = allocation_counter::measure(|| {
        runtime.block_on(peer.run(operation, units(operation)));
    });
    let per_unit = counted.count_total as f64 / units(operation) as f64;
    Some((per_unit, counted.bytes_max as f64 / 1024.0))
}

fn main() -> ExitCode {
    let server = Server::start(&[]);
    let address = server.address();
    let (floor, ours) = (Floor::new(address), Ours::new(address));
    let lean = ours.lean(address);
    let (older, pooled) = (Older::new(address, false), Older::new(address, true));
    let mut missed = 0;
    println!(
        "| allocations per unit (peak of the heap) | floor | azure-table | bar | on hyper | azure_data_tables | pooled |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for operation in Operation::ALL {
        let cell = |counted: Option<(f64, f64)>| match counted {
            Some((count, peak)) => format!("{count:.2} ({peak:.0} KiB)"),
            None => "none".to_owned(),
        };
        let (Some(least), Some(own)) = (count(&floor, operation), count(&ours, operation)) else {
            continue;
        };
        let bar = match operation {
            Operation::Get | Operation::GetInFlight | Operation::Insert | Operation::Merge => least.0 + 12.0,
            _ => least.0,
        };
        let verdict = if own.0 > bar { "missed" } else { "held" };
        missed += usize::from(own.0 > bar);
        println!(
            "| {} | {} | {} | {bar:.2} {verdict} | {} | {} | {} |",
            operation.name(),
            cell(Some(least)),
            cell(Some(own)),
            cell(count(&lean, operation)),
            cell(count(&older, operation)),
            cell(count(&pooled, operation)),
        );
    }
    ExitCode::from(u8::from(missed > 0))
}
