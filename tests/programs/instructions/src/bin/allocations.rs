//! Prints the allocations of ten executions of each operation, after ten others.

use azure_table_instructions::{Client, Operation};

fn main() {
    let client = Client::new();
    for (name, operation, _) in Operation::ALL {
        client.run(operation, 10);
        let counted = allocation_counter::measure(|| client.run(operation, 10));
        println!("{name} {}", counted.count_total);
    }
}
