use azure_table::{ETag, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, rename = "c")]
    channel: String,
    #[table(row_key, row_key)]
    slug: String,
    #[table(ignore, rename = "html")]
    cached_html: Option<String>,
    #[table(etag, rename = "version")]
    etag: Option<ETag>,
}

fn main() {}
