//! The claims of the systems. Each module has one list of claims, and `check!` defines their tests.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test says what failed by panicking, and prints how far it looked"
)]

mod catalogue;
mod crashes;
mod durable_execution;
mod event_streams;
mod guides;
mod interruption;
mod kit;
mod membership;
#[expect(unreachable_pub, reason = "the modules of an example, too")]
#[path = "../../azure-table-patterns/examples/systems/main.rs"]
mod systems;
mod transactional_state;
