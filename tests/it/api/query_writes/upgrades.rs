//! Rows of older forms, stored again in the current form of the struct.

use azure_table::operation::OperationKind;
use azure_table::testing::Faults;
use azure_table::{
    DynamicEntity, EdmValue, Emulator, Guid, PropertyGroup, Result, TableClient, TableEntity, TableServiceClient,
};

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(upgrade = "from_text")]
struct Shop {
    #[table(partition_key)]
    city: String,
    #[table(row_key)]
    id: u32,
    #[table(alias = "stars")]
    rating: i32,
    #[table(default)]
    visits: i64,
    #[table(write_id)]
    version: Option<Guid>,
    #[table(chunked, alias = "body")]
    text: Option<String>,
    #[table(flatten, prefix = "Home_")]
    home: Home,
}

#[derive(PropertyGroup, Debug, Clone, PartialEq)]
struct Home {
    #[table(alias = "Road")]
    street: Option<String>,
}

/// The rating was once a text.
fn from_text(row: &mut DynamicEntity) -> Result<Shop> {
    let rating: String = row.property("rating")?;
    row.insert("rating", i32::try_from(rating.len()).unwrap_or_default());
    row.to_entity()
}

fn shop(id: u32) -> Shop {
    Shop {
        city: "Rome".into(),
        id,
        rating: 3,
        visits: 1,
        version: None,
        text: Some("x".into()),
        home: Home {
            street: Some("Main".into()),
        },
    }
}

async fn shops() -> (Faults, TableClient<Shop>) {
    let faults = Faults::new(Emulator::new().page_size(7));
    let shops = TableServiceClient::from_transport(faults.clone())
        .table::<Shop>("Shops")
        .unwrap();
    shops.create_table().await.unwrap();
    (faults, shops)
}

async fn insert(shops: &TableClient<Shop>, id: u32, make: impl FnOnce(&mut DynamicEntity)) {
    let mut row = DynamicEntity::from_entity(&shop(id)).unwrap();
    make(&mut row);
    shops.typed().insert(&row).await.unwrap();
}

async fn stored(shops: &TableClient<Shop>, id: u32) -> DynamicEntity {
    let key = azure_table::Key::from_text("Rome", format!("{id:010}")).unwrap();
    shops.typed().get(key).await.unwrap().unwrap()
}

fn moved(row: &mut DynamicEntity, from: &str, to: &str) {
    let value = row.remove(from).unwrap();
    row.insert(to, value);
}

#[tokio::test]
async fn upgrade_writes_only_old_rows() {
    let (faults, shops) = shops().await;
    insert(&shops, 0, |_| ()).await;
    insert(&shops, 1, |row| moved(row, "rating", "stars")).await;
    insert(&shops, 2, |row| drop(row.remove("visits"))).await;
    insert(&shops, 3, |row| drop(row.insert("rating", "five"))).await;
    insert(&shops, 4, |row| drop(row.insert("visits", 1))).await;
    insert(&shops, 5, |row| moved(row, "Home_street", "Home_Road")).await;
    insert(&shops, 6, |row| {
        moved(row, "text", "body");
        moved(row, "text_chunks", "body_chunks");
    })
    .await;
    insert(&shops, 7, |row| drop(row.insert("Unknown", 1.5))).await;
    // The row has the new name, and no longer the old one.
    insert(&shops, 8, |row| drop(row.insert("stars", 1))).await;
    insert(&shops, 9, |row| drop(row.insert("rating", true))).await;
    // An older form, and a property that the struct does not declare.
    insert(&shops, 10, |row| {
        moved(row, "rating", "stars");
        row.insert("Unknown", 1.5);
    })
    .await;

    let writes = |faults: &Faults| {
        let log = faults.log();
        log.iter()
            .filter(|it| {
                matches!(
                    it.kind(),
                    Some(OperationKind::Batch | OperationKind::Merge | OperationKind::Replace)
                )
            })
            .count()
    };
    let report = shops.upgrade_where(shops.query()).await.unwrap();
    assert_eq!(
        (report.applied(), report.unchanged(), report.rejected()),
        (8, 2, 1),
        "{report:?}"
    );
    assert_eq!(report.leftovers()[0].key().row_key(), "0000000009");
    assert_eq!(writes(&faults), 2, "one for the old rows of each page");

    let now = DynamicEntity::from_entity(&shop(0)).unwrap();
    for id in [0, 1, 2, 3, 4, 5, 6, 8] {
        let row = stored(&shops, id).await;
        let names: Vec<_> = row.properties.keys().collect();
        assert_eq!(names, now.properties.keys().collect::<Vec<_>>(), "{id}");
        let expected = match id {
            2 => Shop { visits: 0, ..shop(id) },
            3 => Shop { rating: 4, ..shop(id) },
            _ => shop(id),
        };
        let read: Shop = row.to_entity().unwrap();
        assert_eq!(Shop { version: None, ..read }, expected);
        assert_eq!(
            row.get("visits").map(EdmValue::edm_type),
            now.get("visits").map(EdmValue::edm_type)
        );
    }
    let kept = stored(&shops, 10).await;
    assert_eq!(
        (kept.get("Unknown"), kept.get("stars")),
        (Some(&EdmValue::Double(1.5)), None)
    );
    assert_eq!(stored(&shops, 7).await.get("Unknown"), Some(&EdmValue::Double(1.5)));
    assert_eq!(report.kept_unknown(), 1, "of the written rows");

    let again = shops.upgrade_where(shops.query()).await.unwrap();
    assert_eq!((again.applied(), again.unchanged(), again.rejected()), (0, 10, 1));
    assert_eq!(writes(&faults), 2);
}

#[derive(TableEntity, Debug, PartialEq)]
#[table(upgrade = "from_euros")]
struct Price {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    article: String,
    cents: i64,
}

fn from_euros(row: &mut DynamicEntity) -> Result<Price> {
    let euros: f64 = row.take_property("Euros")?;
    row.insert("cents", (euros * 100.0).round() as i64);
    row.to_entity()
}

#[derive(TableEntity, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Row {
    Price(Price),
}

#[tokio::test]
async fn properties_that_the_upgrade_took_are_removed() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::new());
    let prices = service.table::<Price>("Prices")?;
    prices.create_table().await?;
    let rows = prices.typed::<DynamicEntity>();
    let mut old = DynamicEntity::new("s", "1");
    old.insert("Euros", 9.99);
    old.insert("Unknown", 1);
    rows.insert(&old).await?;
    let names = |row: &DynamicEntity| row.properties.keys().cloned().collect::<Vec<_>>().join(" ");

    // A plain read keeps the row, and so does an update that keeps it.
    assert_eq!(prices.get(("s", "1")).await?.unwrap().cents, 999);
    assert_eq!(names(&rows.get(("s", "1")).await?.unwrap()), "Euros Unknown");
    assert_eq!(prices.upgrade_where(prices.query()).await?.applied(), 1);
    assert_eq!(names(&rows.get(("s", "1")).await?.unwrap()), "Unknown cents");
    assert_eq!(prices.upgrade_where(prices.query()).await?.unchanged(), 1);

    rows.insert_or_replace(&old).await?;
    let report = prices.update_where(prices.query(), |price| price.cents += 1).await?;
    assert_eq!(report.applied(), 1);
    let changed = rows.get(("s", "1")).await?.unwrap();
    assert_eq!(
        (names(&changed), changed.property("cents")?),
        ("Unknown cents".to_owned(), 1_000_i64)
    );

    // The rows of an enum.
    old.insert("Kind", "Price");
    rows.insert_or_replace(&old).await?;
    assert_eq!(
        prices
            .typed::<Row>()
            .upgrade_where(prices.typed::<Row>().query())
            .await?
            .applied(),
        1
    );
    assert_eq!(names(&rows.get(("s", "1")).await?.unwrap()), "Kind Unknown cents");
    Ok(())
}

#[tokio::test]
async fn unknown_properties_are_dropped_on_request() {
    let (_, shops) = shops().await;
    insert(&shops, 0, |_| ()).await;
    insert(&shops, 1, |row| drop(row.insert("Unknown", 1))).await;
    insert(&shops, 2, |row| drop(row.insert("Unknown", 1))).await;
    let one = shops.query().partition("Rome").filter(Shop::ID.le(1));
    let report = shops.upgrade_where(one).drop_unknown().await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.kept_unknown()), (1, 1, 0));
    assert_eq!(stored(&shops, 1).await.get("Unknown"), None);
    assert!(stored(&shops, 2).await.get("Unknown").is_some());
    assert_eq!(shops.upgrade_where(shops.query()).await.unwrap().applied(), 0);
    assert_eq!(
        shops
            .upgrade_where(shops.query())
            .drop_unknown()
            .await
            .unwrap()
            .applied(),
        1
    );
    assert_eq!(
        shops
            .upgrade_where(shops.query())
            .drop_unknown()
            .await
            .unwrap()
            .applied(),
        0
    );
}
