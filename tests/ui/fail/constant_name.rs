use azure_table::TableEntity;

#[derive(TableEntity)]
struct Reading {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    time: String,
    max: f64,
    #[table(column = "MAX")]
    greatest: f64,
    #[table(column = "the least")]
    least: f64,
}

fn main() {}
