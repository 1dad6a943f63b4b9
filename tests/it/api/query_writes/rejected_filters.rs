//! Conditions that select more rows than they say: no write takes them.

use std::slice;

use azure_table::{
    Column, DynamicEntity, ErrorKind, Filter, Key, KeyPrefix, ReadEntity, TableClient, TableEntity, TableQuery,
};
use azure_table_tests::entities::Order;
use azure_table_tests::errors::assert_error;

async fn fill(items: &TableClient<Item>) {
    let (shop, total) = (|| "contoso".to_owned(), 1.5);
    let order = |number| {
        let shop = shop();
        Item::Order(Order { shop, number, total })
    };
    let customer = Item::Customer(Customer { shop: shop(), total });
    for item in [customer, order(1), order(2)] {
        items.insert(&item).await.unwrap();
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "customer")]
struct Customer {
    #[table(partition_key)]
    shop: String,
    total: f64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
enum Item {
    Customer(Customer),
    Order(Order),
}

/// An order whose own type does not know the mark.
#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Numbered {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    number: String,
    total: f64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Tagged {
    Customer(Customer),
    Order(Order),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
enum Prefixed {
    #[table(row_key_prefix = "customer")]
    Customer(Customer),
    #[table(row_key_prefix = "order")]
    Order(Numbered),
}

/// Asserts that no write over a filter takes it, for this reason, and that nothing was written.
async fn assert_rejected(items: &TableClient<Item>, filter: impl Fn() -> Filter<Item>, why: &str) {
    assert_query_rejected(items, || items.query().filter(filter()), why).await;
    let error = items.delete_where(filter()).await.unwrap_err();
    assert_error(error.error(), ErrorKind::InvalidInput, why);
}

async fn assert_query_rejected(items: &TableClient<Item>, query: impl Fn() -> TableQuery<Item>, why: &str) {
    let before = items.query().versioned().all().await.unwrap();
    let total = || Column::<Item, f64>::property("total").set(0.0);
    let clear = |item: &mut Item| match item {
        Item::Customer(customer) => customer.total = 0.0,
        Item::Order(order) => order.total = 0.0,
    };
    for error in [
        items.delete_where(query()).await.unwrap_err().into_error(),
        items.delete_where(query()).atomic().await.unwrap_err(),
        items.patch_where(query(), [total()]).await.unwrap_err().into_error(),
        items.patch_where(query(), [total()]).atomic().await.unwrap_err(),
        items.update_where(query(), clear).await.unwrap_err().into_error(),
        items.update_where(query(), clear).atomic().await.unwrap_err(),
        items.upgrade_where(query()).await.unwrap_err().into_error(),
        items.upgrade_where(query()).atomic().await.unwrap_err(),
    ] {
        assert_error(&error, ErrorKind::InvalidInput, why);
    }
    assert_eq!(items.query().versioned().all().await.unwrap(), before);
}

#[azure_table::test]
async fn variant_by_the_form_of_its_keys_selects_no_rows_to_write(items: TableClient<Item>) {
    fill(&items).await;
    let why = "give the enum a `tag` or each variant a `row_key_prefix`";
    assert_rejected(&items, || Item::ORDER.only(), why).await;
    assert_rejected(&items, || Item::CUSTOMER.only(), why).await;
    assert_rejected(&items, || Item::ORDER.field(Order::TOTAL).gt(1.0), why).await;
    let is_large = || Item::ORDER.filter(Order::TOTAL.gt(1.0));
    assert_rejected(&items, || !is_large() | Filter::raw("PartitionKey eq 'contoso'"), why).await;

    assert_eq!(items.query().filter(is_large()).all().await.unwrap().len(), 3);
    assert_eq!(items.delete_where(items.query()).await.unwrap().applied(), 3);
}

fn orders() -> KeyPrefix<Order> {
    Key::prefix(("contoso",)).unwrap()
}

/// Returns the ways to name all orders by the keys of their variant.
fn all_orders<T: TableEntity + ReadEntity>(
    items: &TableClient<T>,
    prefix: impl Fn() -> KeyPrefix<T>,
) -> [TableQuery<T>; 3] {
    [
        items.query().key_prefix(prefix()),
        items.query().key_prefixes([prefix(), prefix()]),
        items.query().between(prefix(), prefix()),
    ]
}

#[azure_table::test]
async fn prefix_of_a_variant_by_the_form_of_its_keys_selects_no_rows_to_write(items: TableClient<Item>) {
    fill(&items).await;
    for query in all_orders(&items, || orders().into_enum()) {
        assert_query_rejected(&items, || query.clone(), "or the prefix selects a variant by the form").await;
        assert_eq!(query.all().await.unwrap().len(), 3);
    }
}

#[azure_table::test]
async fn prefix_of_a_tagged_variant_selects_no_other_rows_to_write(items: TableClient<Tagged>) {
    let (shop, total) = (|| "contoso".to_owned(), 1.5);
    let customer = Tagged::Customer(Customer { shop: shop(), total });
    items.insert(&customer).await.unwrap();
    for query in all_orders(&items, || orders().into_enum()) {
        for number in [1, 2] {
            let order = Order {
                shop: shop(),
                number,
                total,
            };
            items.insert(&Tagged::Order(order)).await.unwrap();
        }
        let set = || Column::<Tagged, f64>::property("total").set(total);
        assert_eq!(items.patch_where(query.clone(), [set()]).await.unwrap().applied(), 2);
        assert_eq!(items.delete_where(query).await.unwrap().applied(), 2);
        assert_eq!(items.query().all().await.unwrap(), slice::from_ref(&customer));
    }
}

/// The keys of its type have no such prefix.
#[azure_table::test]
async fn prefix_of_a_variant_with_a_mark_in_its_row_key_has_the_mark(items: TableClient<Prefixed>) {
    let (shop, total) = (|| "contoso".to_owned(), 1.5);
    let customer = Prefixed::Customer(Customer { shop: shop(), total });
    let number = "order-1".to_owned();
    let order = Prefixed::Order(Numbered {
        shop: shop(),
        number,
        total,
    });
    for item in [&customer, &order] {
        items.insert(item).await.unwrap();
    }
    let orders = Key::<Numbered>::prefix(("contoso",)).unwrap().into_enum();
    assert_eq!(
        items
            .delete_where(items.query().key_prefix(orders))
            .await
            .unwrap()
            .applied(),
        1
    );
    assert_eq!(items.query().all().await.unwrap(), [customer]);
}

/// A tag, and within it another mark or only the form of the keys. Archived orders have the inner tag too.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Source")]
enum Nested {
    Tagged(Tagged),
    Item(Item),
    Archived(Archived),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Archived {
    Order(Numbered),
}

#[azure_table::test]
async fn prefix_of_a_variant_within_a_variant_has_both_marks(items: TableClient<Nested>) {
    let (shop, total) = (|| "contoso".to_owned(), 1.5);
    let customer = Nested::Tagged(Tagged::Customer(Customer { shop: shop(), total }));
    let archived = Nested::Archived(Archived::Order(Numbered {
        shop: shop(),
        number: "order-1".into(),
        total,
    }));
    for item in [&customer, &archived] {
        items.insert(item).await.unwrap();
    }
    for query in all_orders(&items, || orders().into_enum::<Tagged>().into_enum()) {
        let (number, shop) = (1, shop());
        let order = Nested::Tagged(Tagged::Order(Order { shop, number, total }));
        items.insert(&order).await.unwrap();
        assert_eq!(query.clone().all().await.unwrap(), [order]);
        assert_eq!(items.delete_where(query).await.unwrap().applied(), 1);
        let left = items.query().all().await.unwrap();
        assert_eq!(left, [customer.clone(), archived.clone()]);
    }
}

#[azure_table::test]
async fn prefix_of_a_form_of_keys_within_a_marked_variant_selects_no_rows_to_write(items: TableClient<Nested>) {
    for query in all_orders(&items, || orders().into_enum::<Item>().into_enum()) {
        let error = items.delete_where(query).await.unwrap_err();
        let why = "or the prefix selects a variant by the form";
        assert_error(error.error(), ErrorKind::InvalidInput, why);
    }
}

/// Of the partitions between both ends, all rows are in the range of keys.
#[azure_table::test]
async fn range_of_a_marked_variant_over_partitions_selects_no_other_rows_to_write(items: TableClient<Prefixed>) {
    let customer = |shop: &str| {
        let shop = shop.to_owned();
        Prefixed::Customer(Customer { shop, total: 1.5 })
    };
    let shops = ["a", "b", "c"];
    for shop in shops {
        let number = "order-1".to_owned();
        let order = Numbered {
            shop: shop.into(),
            number,
            total: 1.5,
        };
        items.insert(&customer(shop)).await.unwrap();
        items.insert(&Prefixed::Order(order)).await.unwrap();
    }
    let at = |shop| Key::<Numbered>::prefix((shop, "order-1")).unwrap().into_enum();
    let orders = items.query().between(at("a"), at("c"));
    assert_eq!(items.delete_where(orders).await.unwrap().applied(), 3);
    assert_eq!(items.query().all().await.unwrap(), shops.map(customer));
}

#[azure_table::test]
async fn blank_text_is_not_a_condition(items: TableClient<Item>) {
    fill(&items).await;
    for text in ["", " \t\n"] {
        assert_rejected(&items, || Filter::raw(text), "is blank").await;
        assert_rejected(&items, || Filter::with_parameters::<&str>(text, []), "is blank").await;
        let error = items.query().filter(Filter::raw(text)).all().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

/// A merge of such a row would write old values of all other properties.
#[azure_table::test]
async fn versioned_rows_have_only_the_selected_names(items: TableClient<Item>) {
    fill(&items).await;
    let rows = items.typed::<DynamicEntity>();
    let key = Key::<DynamicEntity>::from_text("contoso", "customer").unwrap();
    let mut row = rows.get(&key).await.unwrap().unwrap();
    row.insert("name", "Ada");
    rows.replace(&row).await.unwrap();

    let names = |row: &DynamicEntity| row.properties.keys().cloned().collect::<Vec<_>>();
    let one = rows.get(&key).select_names(["name"]).versioned();
    let one = one.await.unwrap().unwrap();
    assert_eq!(names(&one), ["name"]);
    let all = rows.query().select_names(["name"]).versioned().all().await.unwrap();
    assert_eq!((names(&all[0]).len(), names(&all[2])), (0, names(&one)));
    assert_eq!((&all[2].etag, all[2].timestamp), (&one.etag, one.timestamp));
}
