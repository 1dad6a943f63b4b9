//! Executes one operation: `operation NAME TIMES`.

use azure_table_instructions::{Client, Operation};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().expect("the name of an operation");
    let times = arguments.next().and_then(|times| times.parse().ok()).expect("a number");
    let named = Operation::ALL.into_iter().find(|(known, ..)| *known == name);
    Client::new().run(named.expect("a known operation").1, times);
}
