//! Compiles if azure-table has the feature `encryption`.

use azure_table::encryption as _;

fn main() {}
