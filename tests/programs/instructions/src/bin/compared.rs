//! Executes a write or a query, declared or by hand: `compared NAME TIMES`.

use azure_table_instructions::indexes::Compared;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().expect("a name");
    let times = arguments.next().and_then(|times| times.parse().ok()).expect("a number");
    let named = Compared::ALL.into_iter().find(|(known, _)| *known == name);
    named.expect("a known name").1.run(times);
}
