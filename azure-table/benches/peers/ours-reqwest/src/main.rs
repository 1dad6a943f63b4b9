//! azure-table on reqwest.

#[path = "../../ours/src/ours.rs"]
mod ours;

fn main() {
    work::run(ours::Ours::new);
}
