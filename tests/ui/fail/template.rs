use azure_table::{TableClient, TableEntity};

#[derive(TableEntity)]
#[table(partition_key = "{state}{city}", row_key = "o-{numbr};{day")]
struct Order {
    state: String,
    city: String,
    number: u32,
    day: u32,
}

async fn use_it(orders: TableClient<Order>) {
    let _ = orders.get(("WA", "Seattle", 7, 31)).await;
    let _ = orders.query().partition(("WA", "Seattle"));
}

fn main() {}
