//! Prints every exploration as a table: its orders, without and with one fault, and its time.
//!
//! `cargo program explorations` takes some minutes. After `--` it takes
//! `operations` or `patterns`, and a word of the names. It ends with exit code 1 if something is not proven.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;

use azure_table_tests::explorations::{Case, operations, patterns};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut cases: Vec<&Case> = match arguments.next().as_deref() {
        None => operations::ALL.iter().chain(patterns::all()).collect(),
        Some("operations") => operations::ALL.iter().collect(),
        Some("patterns") => patterns::all().collect(),
        Some(other) => {
            println!("{other:?} is not a list of explorations: expected `operations` or `patterns`");
            return ExitCode::from(2);
        }
    };
    if let Some(word) = arguments.next() {
        cases.retain(|case| case.name.to_lowercase().contains(&word.to_lowercase()));
        if cases.is_empty() {
            println!("no exploration has {word:?} in its name");
            return ExitCode::from(2);
        }
    }
    println!("| exploration | faults | orders | pruned | requests | time | |");
    println!("|---|--:|--:|--:|--:|--:|---|");
    let mut is_proven = true;
    for case in cases {
        for faults in 0..=1 {
            let found = (case.explore)(faults);
            let verdict = match (found.failure(), found.stop_reason()) {
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
    if is_proven {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
