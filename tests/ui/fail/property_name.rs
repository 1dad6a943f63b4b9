use azure_table::TableEntity;

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    timestamp: i64,
    text: String,
    #[table(rename = "Text")]
    body: String,
    #[table(rename = "the rating")]
    rating: i32,
}

fn main() {}
