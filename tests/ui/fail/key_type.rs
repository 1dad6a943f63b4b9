use azure_table::TableEntity;

#[derive(TableEntity)]
struct Reading {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    seconds: f64,
}

#[derive(TableEntity)]
struct Place {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    city: Option<String>,
}

fn main() {}
