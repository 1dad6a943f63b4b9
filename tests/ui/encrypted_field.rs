//! An encrypted field: without the feature, its error names the feature.

#[derive(azure_table::TableEntity)]
struct Patient {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    // The error points at the type.
    #[table(encrypted)]
    diagnosis: String,
}

fn main() {}
