//! Prints the allocations of ten executions of each operation, after ten others.
//!
//! The fewest of five counts: some runs add two.

use azure_table_instructions::{Client, Operation};

fn main() {
    let client = Client::new();
    for (name, operation, _) in Operation::ALL {
        client.run(operation, 10);
        let counts = [(); 5].map(|()| allocation_counter::measure(|| client.run(operation, 10)).count_total);
        println!("{name} {}", counts.into_iter().min().expect("five counts"));
    }
}
