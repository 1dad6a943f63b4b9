use azure_table::TableEntity;

enum Color {
    Red,
}

#[derive(TableEntity)]
struct Car {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    plate: String,
    color: Color,
}

fn main() {}
