//! Every exploration as a table: its orders, without and with one fault, and the time that they took.
//!
//! `cargo run --release -p azure-table-tests --example explorations` takes about a minute. It ends with exit code 1 if
//! something is not proven.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;

use azure_table_tests::explorations::operations;

fn main() -> ExitCode {
    println!("| exploration | faults | orders | pruned | requests | time | |");
    println!("|---|--:|--:|--:|--:|--:|---|");
    let mut is_proven = true;
    for case in operations::ALL {
        for faults in 0..=1 {
            let found = (case.explore)(faults);
            let verdict = match (found.failure(), found.bound()) {
                (Some(_), _) => "FAILED".to_owned(),
                (None, Some(bound)) => bound.to_string(),
                (None, None) => "all seen".to_owned(),
            };
            let (orders, pruned, requests) = (found.schedules(), found.pruned(), found.requests());
            let ms = found.elapsed().as_millis();
            println!(
                "| {} | {faults} | {orders} | {pruned} | {requests} | {ms} ms | {verdict} |",
                case.name
            );
            if let Some(failure) = found.failure() {
                println!("\n{failure}\n");
            }
            is_proven &= found.is_proof();
        }
    }
    match is_proven {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
