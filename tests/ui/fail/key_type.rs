use azure_table::TableEntity;

#[derive(TableEntity)]
struct Reading {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    seconds: f64,
}

fn main() {}
