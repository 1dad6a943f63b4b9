//! Filters on the column of an encrypted property.

use azure_table::TableEntity;

#[derive(TableEntity)]
struct Patient {
    #[table(partition_key)]
    clinic: String,
    #[table(row_key)]
    number: u32,
    #[table(encrypted)]
    diagnosis: String,
    #[table(encrypted)]
    scan: Option<Vec<u8>>,
}

fn main() {
    let _ = Patient::DIAGNOSIS.eq("gout");
    let _ = Patient::DIAGNOSIS.starts_with("g");
    let _ = Patient::SCAN.between(vec![1], vec![2]);
    let _ = Patient::SCAN.set("text");
}
