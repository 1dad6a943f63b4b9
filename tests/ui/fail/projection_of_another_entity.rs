//! A projection selects only from its own entity.

use azure_table::{Projection, Result, TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    text: String,
    rating: i32,
}

#[derive(TableEntity)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: u64,
    total: f64,
}

#[derive(Projection)]
#[table(of = Blog)]
struct Summary {
    text: String,
}

async fn read(orders: TableClient<Order>) -> Result<()> {
    orders.query().project::<Summary>().all().await?;
    orders.get(("c", 1)).project::<Blog>().await?;
    orders.query().select((Order::TOTAL, Blog::TEXT)).all().await?;
    orders.query().select(Order::TOTAL).all().await?;
    orders.patch(("c", 1), [Order::NUMBER.set(2)]).await?;
    orders.patch(("c", 1), [Blog::RATING.set(2)]).await?;
    Ok(())
}

fn main() {}
