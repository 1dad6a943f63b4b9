//! The online store: customers and their orders in one table, one partition per customer, one query for both.

use azure_table::{DateTime, Descending, DynamicEntity, Emulator, Projection, TableEntity, TableServiceClient};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "0001_{id}")]
struct Customer {
    #[table(partition_key)]
    account: String,
    id: String,
    name: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "0002_{placed}_{number:06}")]
struct Order {
    #[table(partition_key)]
    account: String,
    placed: Descending<DateTime>,
    number: u32,
    total: f64,
    shipped: bool,
}

/// The beginning of the RowKey selects the variant.
#[derive(TableEntity, Clone, Debug, PartialEq)]
enum Item {
    #[table(row_key_prefix = "0001_")]
    Customer(Customer),
    #[table(row_key_prefix = "0002_")]
    Order(Order),
    #[table(other)]
    Unknown(DynamicEntity),
}

#[derive(Projection, Debug, PartialEq)]
#[table(of = Order)]
struct Total {
    total: f64,
}

fn order(number: u32, total: f64) -> Order {
    let placed = DateTime::from_unix_seconds(1_700_000_000 + i64::from(number) * 3_600);
    Order {
        account: "fabrikam".into(),
        placed: placed.into(),
        number,
        total,
        shipped: number.is_multiple_of(2),
    }
}

#[tokio::test]
async fn customers_and_orders_share_a_table_and_a_batch() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let store = service.table::<Item>("Store").unwrap();
    store.create_table().await.unwrap();
    let customer = Customer {
        account: "fabrikam".into(),
        id: "7".into(),
        name: "Fabrikam".into(),
    };
    let orders = [order(1, 10.0), order(2, 20.0), order(3, 30.0)];

    let mut batch = store.batch();
    batch.insert(&Item::Customer(customer.clone())).unwrap();
    for order in &orders {
        batch.insert(&Item::Order(order.clone())).unwrap();
    }
    batch.submit().await.unwrap();
    service
        .dynamic_table("Store")
        .unwrap()
        .insert(&DynamicEntity::new("fabrikam", "0003_x"))
        .await
        .unwrap();

    let items = store.query().partition("fabrikam").all().await.unwrap();
    assert_eq!(items.len(), 5);
    assert_eq!(items[0], Item::Customer(customer));
    // The latest order first.
    assert_eq!(items[1], Item::Order(orders[2].clone()));
    assert!(matches!(&items[4], Item::Unknown(row) if row.row_key == "0003_x"));

    let large = store
        .query()
        .partition("fabrikam")
        .filter(Item::ORDER.field(Order::TOTAL).ge(20.0))
        .all()
        .await
        .unwrap();
    assert_eq!(large, [Item::Order(orders[2].clone()), Item::Order(orders[1].clone())]);
    let customers = store.query().filter(Item::CUSTOMER.only()).all().await.unwrap();
    assert_eq!(customers.len(), 1);

    let table = service.table::<Order>("Store").unwrap();
    let key = ("fabrikam", orders[1].placed, 2);
    assert_eq!(table.get(key).await.unwrap().as_ref(), Some(&orders[1]));
    assert_eq!(
        table.get(key).project::<Total>().await.unwrap(),
        Some(Total { total: 20.0 })
    );
    let shipped = table
        .query()
        .key_prefix(azure_table::Key::prefix(("fabrikam",)).unwrap())
        .filter(Order::SHIPPED.eq(true))
        .select((Order::TOTAL, Order::SHIPPED));
    assert_eq!(shipped.all().await.unwrap(), [(20.0, true)]);
}
