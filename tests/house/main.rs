//! The rules of this repository, held against its sources as text. No test here compiles a crate of the product.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod client_layers;
mod emulator_layers;
mod layers;
mod lines;
mod long;
mod named_methods;
mod public_names;
mod readme;
mod requests;
mod seam;
mod steps;

use std::sync::LazyLock;

use xtask::sources::{Sources, root};

/// Returns the product code, which is read once for all rules.
fn product() -> &'static Sources {
    static PRODUCT: LazyLock<Sources> = LazyLock::new(|| Sources::read(root()));
    &PRODUCT
}
