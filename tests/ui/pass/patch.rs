//! Patches of one column, with or without brackets, and of several.

use azure_table::{TableClient, TableEntity, TableOperation};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    rating: i32,
    views: i64,
}

fn main() {
    let key = azure_table::AccountKey::new("a", "AAAA").unwrap();
    let service = azure_table::TableServiceClient::new("https://a.table.core.windows.net", key).unwrap();
    let blogs: TableClient<Blog> = service.table("Blogs").unwrap();
    drop(blogs.patch(("Channel9", 1), Blog::RATING.set(5)));
    drop(blogs.patch(("Channel9", 1), [Blog::RATING.set(5)]));
    drop(blogs.patch(("Channel9", 1), vec![Blog::RATING.set(5), Blog::VIEWS.set(70)]));
    drop(blogs.patch(("Channel9", 1), [1, 2].iter().map(|rating| Blog::RATING.set(rating))));
    drop(blogs.patch_where(Blog::RATING.lt(2), Blog::RATING.set(2)));
    drop(TableOperation::patch(("Channel9", 1), Blog::RATING.set(5)));
}
