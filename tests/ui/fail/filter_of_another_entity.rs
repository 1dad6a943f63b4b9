use azure_table::{DateTime, Descending, TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
    text: String,
    rating: i32,
}

#[derive(TableEntity)]
#[table(partition_key = "{state};{city}", row_key = "o-{number}")]
struct Order {
    state: String,
    city: String,
    number: u32,
    rating: i32,
}

fn read(blogs: TableClient<Blog>) {
    let _ = blogs.query().filter(Blog::RATING.ge(3));
    let _ = blogs.query().filter(Order::RATING.ge(3));
    let _ = blogs.query().filter(Blog::RATING.ge(3) & Order::RATING.ge(3));
}

fn main() {}
