//! The last program of `cargo test`: names the tests that were ignored on this machine, and the command for each kind.
//!
//! The conditions come from `tests/build.rs` and the feature `full`.

#![expect(clippy::print_stdout, reason = "a summary for a person")]

/// Returns the kinds of ignored tests: whether they ran, their name, and the command that runs them.
fn kinds() -> [(bool, &'static str, &'static str); 7] {
    [
        (
            cfg!(feature = "full"),
            "types of other crates",
            "cargo test -p azure-table-tests --features full --test foreign",
        ),
        (
            false,
            "tests that take long",
            "cargo test --test it -- --ignored load:: api::bulk:: certificate_of_the_guide; cargo test --test kit -- --ignored",
        ),
        (
            // It always runs by itself, under a profile of its own.
            false,
            "the whole matrix of faults, all histories, long outages",
            "tests/faults/run 130",
        ),
        (
            cfg!(azurite),
            "conformance on Azurite",
            "tests/external/azurite/run cargo test -p azure-table-tests --test it conformance",
        ),
        (
            cfg!(azurite_oauth),
            "conformance on Azurite by tokens",
            "tests/external/azurite/run --oauth cargo test -p azure-table-tests --features full --test foreign with_token",
        ),
        (
            cfg!(recordings),
            "recorded requests and responses of the service",
            "AZURE_TABLE_FIXTURES=FOLDER cargo test -p azure-table-tests --test it recordings",
        ),
        (
            cfg!(recorded_compiler),
            "texts of compile errors, recorded with Rust 1.95",
            "cargo +1.95 test -p azure-table-tests --test ui",
        ),
    ]
}

fn main() {
    // For tools that list tests: there are none.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let ignored: Vec<_> = kinds().into_iter().filter(|(ran, ..)| !ran).collect();
    println!("\nignored here, and the command that runs them (see tests/README.md):");
    for (_, name, command) in ignored {
        println!("  {name}\n      {command}");
    }
    println!();
}
