use azure_table::TableEntity;

struct Cache;

#[derive(TableEntity)]
#[table(rename_al = "camelCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(rowkey)]
    slug: String,
    #[table(skip)]
    cache: Cache,
}

fn main() {}
