//! Rows collected by kind, over pages of two rows.

use azure_table::entity::VariantOf;
use azure_table::query::{Families, Gather};
use azure_table::{
    DynamicEntity, Emulator, Error, ErrorKind, Key, Result, TableClient, TableEntity, TableQuery, Versioned,
};
use azure_table_tests::entities::Customer;
use azure_table_tests::errors::assert_contains;

use crate::api::create;

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    key: String,
    total: i64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Line {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    key: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Item {
    Customer(Customer),
    Order(Order),
    Line(Line),
    #[table(other)]
    Unknown(DynamicEntity),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
enum Prefixed {
    #[table(row_key_prefix = "c")]
    Customer(Customer),
    #[table(row_key_prefix = "o")]
    Order(Order),
    #[table(row_key_prefix = "p")]
    Proforma(Order),
    #[table(row_key_prefix = "x")]
    Line(Line),
}

fn customer(id: &str) -> Customer {
    Customer {
        shop: id.into(),
        name: "Ada".into(),
    }
}

fn order(customer: &str, key: &str) -> Order {
    Order {
        customer: customer.into(),
        key: key.into(),
        total: 5,
    }
}

fn line(customer: &str, key: &str) -> Line {
    Line {
        customer: customer.into(),
        key: key.into(),
    }
}

/// Creates a table with these rows: customers as `customer`, orders without `-` in their key.
async fn items(rows: &[(&str, &str)]) -> TableClient<Item> {
    let items = create(Emulator::new().page_size(2), "Items").await;
    for (partition, row) in rows {
        let item = match *row {
            "customer" => Item::Customer(customer(partition)),
            row if row.starts_with("note") => Item::Unknown(DynamicEntity::new(*partition, row)),
            row if row.contains('-') => Item::Line(line(partition, row)),
            row => Item::Order(order(partition, row)),
        };
        items.insert(&item).await.unwrap();
    }
    items
}

fn keys(families: &Families<Order, Line>) -> Vec<(&str, Vec<&str>)> {
    let keys = families.iter().map(|(order, lines)| {
        let lines = lines.iter().map(|line| line.key.as_str());
        (order.key.as_str(), lines.collect())
    });
    keys.collect()
}

async fn families(query: TableQuery<Item>) -> Result<Families<Order, Line>> {
    query.gather().await
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

fn assert_misfit(error: &Error, entity: (&str, &str), words: &str) {
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert_eq!(error.entity(), Some(entity));
    assert_eq!((error.operation(), error.table()), (Some("query"), Some("Items")));
    assert_contains(error, words);
}

#[tokio::test]
async fn rows_are_gathered_by_kind_over_all_pages() {
    let of_a = ["customer", "001", "001-1", "001-2", "001-3", "002", "note", "003"].map(|row| ("a", row));
    let items = items(&[&of_a[..], &[("b", "customer")]].concat()).await;
    let query = || items.query().partition("a");

    let gathered = assert_send(query().gather()).await.unwrap();
    let (found, orders): (Option<Customer>, Vec<Order>) = gathered;
    assert_eq!(found, Some(customer("a")));
    assert_eq!(orders, ["001", "002", "003"].map(|key| order("a", key)));

    type Slots = (Vec<DynamicEntity>, (Vec<Line>, Vec<Order>), Vec<Customer>);
    let (notes, (lines, orders), customers): Slots = query().gather().await.unwrap();
    let found = (notes.len(), lines.len(), orders.len(), customers.len());
    assert_eq!(found, (1, 3, 3, 1), "slots stand in any order, and in slots");
    let found: Option<Customer> = query().filter(Item::ORDER.only()).gather().await.unwrap();
    assert_eq!(found, None);
    let (first, second): (Vec<Order>, Vec<Order>) = query().limit(3).gather().await.unwrap();
    assert_eq!((first.len(), second.len()), (1, 0), "the first slot takes");
}

#[tokio::test]
async fn rows_are_gathered_by_prefix() {
    let items = create::<Prefixed>(Emulator::new().page_size(2), "Items").await;
    for item in [
        Prefixed::Customer(customer("a")),
        Prefixed::Order(order("a", "o1")),
        Prefixed::Proforma(order("a", "p1")),
        Prefixed::Line(line("a", "x1")),
        Prefixed::Line(line("a", "x2")),
    ] {
        items.insert(&item).await.unwrap();
    }
    // Orders match two variants, and so neither of them alone.
    let (lines, found): (Vec<Line>, Option<Customer>) = items.query().partition("a").gather().await.unwrap();
    assert_eq!(lines, [line("a", "x1"), line("a", "x2")]);
    assert_eq!(found, Some(customer("a")));
    assert_eq!(Line::of(Prefixed::Line(line("a", "x1"))), Ok(line("a", "x1")));
    assert!(Line::of(Prefixed::Order(order("a", "o1"))).is_err());
}

#[tokio::test]
async fn children_find_their_parents() {
    let of_a = ["1", "1-1", "10", "10-1", "10-2", "2", "customer", "note", "note1"].map(|row| ("a", row));
    let of_b = ["1", "1-1", "1-2", "3"].map(|row| ("b", row));
    let items = items(&[&of_a[..], &of_b].concat()).await;
    let (found, orders): (Option<Customer>, Families<Order, Line>) =
        items.query().partition("a").gather().await.unwrap();
    assert!(found.is_some());
    let expected = [("1", vec!["1-1"]), ("10", vec!["10-1", "10-2"]), ("2", vec![])];
    assert_eq!(keys(&orders), expected);

    let mut orders = families(items.query()).await.unwrap();
    let lines = orders
        .iter()
        .map(|(order, lines)| (order.customer.as_str(), lines.len()));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines, [("a", 1), ("a", 2), ("a", 0), ("b", 2), ("b", 0)]);
    for (order, lines) in &mut orders {
        order.total = 0;
        lines.clear();
    }
    let mut orders = orders.into_iter();
    assert!(orders.all(|(order, lines)| order.total == 0 && lines.is_empty()));

    let none = families(items.query().partition("c")).await.unwrap();
    assert!(none.is_empty() && none == Families::default());
}

/// The RowKeys of `Order` and `Line` are one text field. A longer key continues after a separator, not within a word.
#[tokio::test]
async fn child_whose_parent_is_missing_joins_no_shorter_key() {
    for orphan in ["11-1", "1a-1", "1\u{e9}-1"] {
        let items = items(&[("a", "1"), ("a", "1-1"), ("a", orphan), ("a", "1 -2")]).await;
        let error = families(items.query()).await.unwrap_err();
        assert_misfit(&error, ("a", orphan), "a `Line` without its `Order`");
        items.delete(&Item::Line(line("a", orphan))).await.unwrap();
        let orders = families(items.query()).await.unwrap();
        assert_eq!(keys(&orders), [("1", vec!["1 -2", "1-1"])]);
    }
}

mod of_fields {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "{order}")]
    pub(super) struct Order {
        #[table(partition_key)]
        customer: String,
        order: String,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "{order}~{line}")]
    pub(super) struct Line {
        #[table(partition_key)]
        customer: String,
        order: String,
        line: u8,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(tag = "Kind")]
    enum Item {
        Order(Order),
        Line(Line),
    }

    #[tokio::test]
    async fn children_belong_to_the_parent_with_their_field() {
        let items = create::<Item>(Emulator::new().page_size(2), "Items").await;
        let customer = || "a".to_owned();
        let order = |order: &str| Order {
            customer: customer(),
            order: order.into(),
        };
        let line = |order: &str, line| Line {
            customer: customer(),
            order: order.into(),
            line,
        };
        // Keys and families have different orders: `7-x~1` comes before `7~1`.
        for name in ["7", "7-x", "7-"] {
            items.insert(&Item::Order(order(name))).await.unwrap();
            for number in [1, 2] {
                items.insert(&Item::Line(line(name, number))).await.unwrap();
            }
        }
        let orders: Families<Order, Line> = items.query().gather().await.unwrap();
        assert_eq!(orders.len(), 3);
        for (order, lines) in &orders {
            assert_eq!(lines, &[line(&order.order, 1), line(&order.order, 2)]);
        }

        // `7` and `7-` are not parents of `7-x~1`, even though its key begins with theirs.
        items.delete(&Item::Order(order("7-x"))).await.unwrap();
        let error = items.query().gather::<Families<Order, Line>>().await.unwrap_err();
        assert_misfit(&error, ("a", "7-x~001"), "a `Line` without its `Order`");
    }
}

#[tokio::test]
async fn row_without_its_slot_or_parent_is_an_error() {
    let items = items(&[("a", "1"), ("a", "1-1"), ("a", "2"), ("a", "3-1"), ("b", "2-1")]).await;
    let error = items.query().gather::<Option<Order>>().await.unwrap_err();
    let why = r#"a second `Order`, after ("a", "1"): gather a Vec"#;
    assert_misfit(&error, ("a", "2"), why);

    let orphan = "a `Line` without its `Order`";
    let query = || items.query().partition("a");
    let error = families(query()).await.unwrap_err();
    assert_misfit(&error, ("a", "3-1"), orphan);
    let error = families(query().filter(Item::LINE.only())).await.unwrap_err();
    assert_misfit(&error, ("a", "1-1"), orphan);

    // The parent is in another partition.
    items.delete(&Item::Line(line("a", "3-1"))).await.unwrap();
    let error = families(items.query()).await.unwrap_err();
    assert_misfit(&error, ("b", "2-1"), orphan);

    // A row that cannot be read is an error, even if no slot requests it.
    let mut bad = DynamicEntity::new("a", "9");
    bad.insert("Kind", "Order");
    items.typed().insert(&bad).await.unwrap();
    let error = query().gather::<Vec<Customer>>().await.unwrap_err();
    assert_misfit(&error, ("a", "9"), "property `total`");
    let orders = query().skip_bad_rows(|_| ()).gather::<Vec<Order>>();
    assert_eq!(orders.await.unwrap().len(), 2);
}

#[tokio::test]
async fn variants_keep_their_versions() {
    let items = items(&[("a", "customer"), ("a", "1"), ("a", "1-1"), ("a", "2"), ("a", "note")]).await;
    let query = || items.query().partition("a").versioned();
    type Orders = Families<Versioned<Order>, Versioned<Line>>;
    let (found, orders, notes): (Option<Versioned<Customer>>, Orders, Vec<Versioned<DynamicEntity>>) =
        query().gather().await.unwrap();
    assert_eq!((orders.len(), orders[0].1.len(), notes.len()), (2, 1, 1));

    let mut found = found.unwrap();
    found.name = "Grace".into();
    let found = found.map(Item::Customer);
    items.merge(&found).await.unwrap();
    let error = items.merge(&found).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);

    let error = query().gather::<Option<Versioned<Order>>>().await.unwrap_err();
    assert_misfit(&error, ("a", "2"), "a second `Order`");
}

/// A custom slot, and an enum that is not an entity.
struct Total(i64);

impl<E> Gather<E> for Total
where
    Order: VariantOf<E>,
{
    type State = i64;

    fn take(sum: &mut i64, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
        match Order::of(entity) {
            Ok(order) => *sum += order.total,
            Err(entity) => return Ok(Some((key, entity))),
        }
        Ok(None)
    }

    fn finish(sum: i64) -> Result<Self> {
        Ok(Self(sum))
    }
}

enum Sight {
    Long(String),
    Short,
}

impl VariantOf<Sight> for String {
    const VARIANT: &'static str = "Long";

    fn of(sight: Sight) -> std::result::Result<Self, Sight> {
        match sight {
            Sight::Long(key) => Ok(key),
            Sight::Short => Err(sight),
        }
    }
}

#[tokio::test]
async fn slots_and_variants_are_implemented_from_outside() {
    let items = items(&[("a", "1"), ("a", "1-1"), ("a", "2"), ("a", "customer")]).await;
    let (Total(total), lines): (_, Vec<Line>) = items.query().gather().await.unwrap();
    assert_eq!((total, lines.len()), (10, 1));

    let resolved = items.query().resolve(|row| {
        let key = row.row_key()?;
        Ok(match key.len() {
            2.. => Sight::Long(key.to_owned()),
            _ => Sight::Short,
        })
    });
    assert_eq!(resolved.gather::<Vec<String>>().await.unwrap(), ["1-1", "customer"]);
}
