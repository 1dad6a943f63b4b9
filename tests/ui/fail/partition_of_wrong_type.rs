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

fn read(blogs: TableClient<Blog>, orders: TableClient<Order>) {
    let _ = blogs.query().partition("Channel9");
    let _ = orders.query().partition(("WA", "Seattle"));
    let _ = blogs.query().partition(9);
    let _ = orders.query().partition("WA");
}

fn main() {}
