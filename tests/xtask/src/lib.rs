//! The code that the commands of `cargo xtask` share with the tests: the sources as text, their layers, the rules of
//! how we write, the README, the links of the guides.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a maintenance program says what failed by panicking"
)]

pub mod language;
pub mod layers;
pub mod links;
pub mod readme;
pub mod sources;
