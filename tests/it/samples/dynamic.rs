//! DynamicTableEntity and EntityResolver: rows with undeclared properties, and rows read as another type.

use azure_table::{Column, DynamicEntity, EdmValue, Emulator, TableServiceClient};

/// A merge of one property leaves all others of a row unchanged, for any kind of row.
#[tokio::test]
async fn a_property_is_added_to_rows_of_every_kind() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Customers")
        .unwrap();
    table.create_table().await.unwrap();
    let mut customer = DynamicEntity::new("Customer", "1");
    customer.insert("Name", "Fabrikam");
    customer.insert("Since", azure_table::DateTime::from_unix_seconds(0));
    let mut order = DynamicEntity::new("Customer", "1_order");
    order.insert("Total", 12.5);
    table.insert(&customer).await.unwrap();
    table.insert(&order).await.unwrap();

    for row in table.query().partition("Customer").all().await.unwrap() {
        let mut patch = DynamicEntity::new(row.partition_key, row.row_key);
        patch.insert("Audited", true);
        table.merge(&patch).await.unwrap();
    }
    let customer = table.get(("Customer", "1")).await.unwrap().unwrap();
    assert_eq!(customer.properties.len(), 3);
    assert_eq!(customer.property::<String>("Name").unwrap(), "Fabrikam");
    assert_eq!(customer.property::<Option<f64>>("Total").unwrap(), None);
    let order = table.get(("Customer", "1_order")).await.unwrap().unwrap();
    assert_eq!(order.get("Total"), Some(&EdmValue::Double(12.5)));
    assert!(order.property::<bool>("Audited").unwrap());

    // Only the named columns: no read, no row in memory.
    let seen = Column::<DynamicEntity, i64>::property("Seen");
    table.patch(("Customer", "1"), [seen.set(7)]).await.unwrap();
    let customer = table.get(("Customer", "1")).await.unwrap().unwrap();
    assert_eq!(
        (customer.properties.len(), customer.property::<i64>("Seen").unwrap()),
        (4, 7)
    );
}

/// The EntityResolver: a closure converts each row.
#[tokio::test]
async fn rows_are_resolved_by_their_properties() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Shapes")
        .unwrap();
    table.create_table().await.unwrap();
    for (row_key, name, value) in [("1", "Radius", 2.0), ("2", "Side", 3.0)] {
        let mut row = DynamicEntity::new("shapes", row_key);
        row.insert(name, value);
        table.insert(&row).await.unwrap();
    }
    let area = |row: &azure_table::entity::Row<'_>| match row.get("Radius") {
        Some(radius) => Ok(3.0 * radius.read::<f64>()?.powi(2)),
        None => match row.get("Side") {
            Some(side) => Ok(side.read::<f64>()?.powi(2)),
            None => Ok(0.0),
        },
    };
    assert_eq!(
        table.query().partition("shapes").resolve(area).all().await.unwrap(),
        [12.0, 9.0]
    );
    assert_eq!(table.get(("shapes", "2")).resolve(area).await.unwrap(), Some(9.0));
}
