use azure_table::{DateTime, Descending, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
    text: String,
    rating: i32,
}

fn filters(posted: DateTime) {
    let _ = Blog::RATING.ge(3) & Blog::POSTED.lt(posted) & Blog::TEXT.starts_with("a");
    let _ = Blog::RATING.ge("3");
    let _ = Blog::RATING.ge(3_i64);
    let _ = Blog::POSTED.lt("2026-01-02T03:04:05Z");
    let _ = Blog::RATING.starts_with("3");
}

fn main() {}
