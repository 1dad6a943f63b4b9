//! azure-table with its default features.

mod ours;

fn main() {
    work::run(ours::Ours::new);
}
