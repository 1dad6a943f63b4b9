use azure_table::{DateTime, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(etag)]
    etag: String,
    #[table(timestamp)]
    changed: DateTime,
}

fn main() {}
