//! A client for one partition.

use azure_table::batch::BatchRule;
use azure_table::filter::AccessPath;
use azure_table::{Change, DynamicEntity, Emulator, ErrorKind, TableClient, TableEntity, TableServiceClient};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{state};{city}", row_key = "{customer}-{order:04}")]
struct Order {
    state: String,
    city: String,
    customer: String,
    order: u32,
    total: i32,
}

fn order(city: &str, number: u32, total: i32) -> Order {
    Order {
        state: "WA".into(),
        city: city.into(),
        customer: "ada".into(),
        order: number,
        total,
    }
}

async fn orders() -> TableClient<Order> {
    let orders = TableServiceClient::from_transport(Emulator::new())
        .table::<Order>("Orders")
        .unwrap();
    orders.create_table().await.unwrap();
    for city in ["Seattle", "Tacoma"] {
        for number in 1..=3 {
            orders.insert(&order(city, number, 5)).await.unwrap();
        }
    }
    orders
}

#[tokio::test]
async fn row_keys_of_several_fields_are_given_as_their_tuple() {
    let orders = orders().await;
    let seattle = orders.partition(("WA", "Seattle")).unwrap();
    assert_eq!(seattle.partition_key(), "WA;Seattle");
    assert_eq!(seattle.get(("ada", 2)).await.unwrap(), Some(order("Seattle", 2, 5)));
    assert!(!seattle.exists(("ada", 7)).await.unwrap());

    seattle.patch(("ada", 2), [Order::TOTAL.set(7)]).await.unwrap();
    let changed = seattle
        .modify(("ada", 2), |order| {
            order.total += 1;
            Change::Save
        })
        .await
        .unwrap();
    assert_eq!(changed.total, 8);
    seattle.delete(("ada", 3)).await.unwrap();
    assert_eq!(
        seattle.delete(("ada", 3)).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    seattle.delete_if_exists(("ada", 3)).await.unwrap();

    let query = seattle.query();
    assert_eq!(query.plan().unwrap().path(), AccessPath::Partition);
    assert_eq!(
        query.all().await.unwrap(),
        [order("Seattle", 1, 5), order("Seattle", 2, 8)]
    );
    let dear = seattle.query().filter(Order::TOTAL.ge(8)).all().await.unwrap();
    assert_eq!(dear, [order("Seattle", 2, 8)]);

    let keys = [1, 2].map(|number| seattle.key(("ada", number)));
    assert_eq!(seattle.table().get_many(keys).all().await.unwrap().len(), 2);
    let report = orders.delete_where(seattle.query()).await.unwrap();
    assert_eq!((report.applied(), orders.query().count().await.unwrap()), (2, 3));
}

#[tokio::test]
async fn key_that_cannot_be_sent_is_an_error() {
    let orders = orders().await;
    assert_eq!(
        orders.partition(("W/A", "x")).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let seattle = orders.partition(("WA", "Seattle")).unwrap();
    for error in [
        seattle.get(("a/b", 1)).await.unwrap_err(),
        seattle.exists(("a-b", 1)).await.unwrap_err(),
        seattle.delete(("ada", 12_345)).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("RowKey"), "{error}");
    }
}

#[tokio::test]
async fn batch_of_a_partition_rejects_another_one_from_the_first_operation_on() {
    let orders = orders().await;
    let seattle = orders.partition(("WA", "Seattle")).unwrap();
    let mut batch = seattle.batch();
    let rejected = batch.insert(&order("Tacoma", 8, 1)).unwrap_err();
    assert_eq!((rejected.rule(), rejected.index()), (BatchRule::OnePartition, 0));
    let text = rejected.to_string();
    assert!(text.contains("this batch has \"WA;Seattle\""), "{text}");
    batch.insert(&order("Seattle", 8, 1)).unwrap();
    batch
        .patch(seattle.key(("ada", 1)), [Order::TOTAL.set(2)])
        .unwrap()
        .delete(seattle.key(("ada", 2)))
        .unwrap();
    assert_eq!(
        batch.insert(&order("Tacoma", 9, 1)).unwrap_err().rule(),
        BatchRule::OnePartition
    );
    batch.submit().await.unwrap();
    let totals: Vec<i32> = seattle
        .query()
        .select((Order::TOTAL,))
        .all()
        .await
        .unwrap()
        .iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(totals, [2, 5, 1]);
}

#[tokio::test]
async fn rows_without_a_struct_and_of_an_enum_have_a_text_as_row_key() {
    let orders = orders().await;
    let rows = orders.typed::<DynamicEntity>();
    let partition = rows.partition("WA;Seattle").unwrap();
    assert!(partition.exists("ada-0001").await.unwrap());
    rows.insert(&DynamicEntity::new("WA;Seattle", "x")).await.unwrap();

    #[derive(TableEntity, Debug, PartialEq)]
    enum ByForm {
        Order(Order),
        #[table(other)]
        Other(DynamicEntity),
    }
    let any = rows.typed::<ByForm>();
    let partition = any.partition(("WA", "Seattle")).unwrap();
    let row_key = String::from("ada-0001");
    assert_eq!(
        partition.get(&row_key).await.unwrap(),
        Some(ByForm::Order(order("Seattle", 1, 5)))
    );
    assert!(matches!(partition.get("x").await.unwrap(), Some(ByForm::Other(_))));
}

#[tokio::test]
async fn key_of_constants_needs_no_value() {
    #[derive(TableEntity, Debug, PartialEq)]
    #[table(partition_key = "settings", row_key = "current")]
    struct Settings {
        theme: String,
    }
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<Settings>("Settings")
        .unwrap();
    table.create_table().await.unwrap();
    let settings = Settings { theme: "dark".into() };
    table.insert(&settings).await.unwrap();
    let partition = table.partition(()).unwrap();
    assert_eq!(partition.get(()).await.unwrap(), Some(settings));
}
