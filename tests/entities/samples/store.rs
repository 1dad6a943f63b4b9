//! The orders of the online store: one partition per customer, the latest order first.

use azure_table::{DateTime, Descending, Key, Projection, Result, TableClient, TableEntity};

#[derive(TableEntity)]
#[table(row_key = "0002_{placed}_{number:06}")]
struct Order {
    #[table(partition_key)]
    account: String,
    placed: Descending<DateTime>,
    number: u32,
    total: f64,
    shipped: bool,
}

#[derive(Projection, Debug, PartialEq)]
#[table(of = Order)]
struct Total {
    total: f64,
}

#[azure_table::test]
async fn totals_of_orders_are_read_without_the_orders(orders: TableClient<Order>) -> Result<()> {
    let placed = |number: u32| Descending(DateTime::from_unix_seconds(i64::from(number)));
    for number in 1..=3 {
        let order = Order {
            account: "fabrikam".into(),
            placed: placed(number),
            number,
            total: 10.0 * f64::from(number),
            shipped: number != 2,
        };
        orders.insert(&order).await?;
    }
    let second = orders.get(("fabrikam", placed(2), 2)).project::<Total>().await?;
    assert_eq!(second, Some(Total { total: 20.0 }));
    let shipped = orders.query().key_prefix(Key::prefix(("fabrikam",))?);
    let shipped = shipped
        .filter(Order::SHIPPED.eq(true))
        .select((Order::TOTAL, Order::SHIPPED));
    assert_eq!(shipped.all().await?, [(30.0, true), (10.0, true)]);
    Ok(())
}
