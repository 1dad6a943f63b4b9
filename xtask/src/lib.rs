//! The code that the commands of `cargo xtask` share with the tests: the sources as text, their layers, the rules of
//! how we write, the generated pages, the checks that take long.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a maintenance program says what failed by panicking"
)]

pub mod chart;
mod items;
pub mod layers;
pub mod long;
pub mod pages;
pub mod sources;
