use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: String,
    #[table(row_key)]
    slug: String,
}

fn main() {}
