use azure_table::{DateTime, Descending, Key, TableClient, TableEntity};

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

fn read(blogs: TableClient<Blog>, orders: TableClient<Order>, order: Order, key: Key<Order>) {
    let _ = orders.get(("WA", "Seattle", 7));
    let _ = orders.get(&order);
    let _ = orders.get(&key);
    let _ = blogs.get(&order);
    let _ = blogs.get(&key);
    let _ = blogs.insert(&order);
}

fn main() {}
