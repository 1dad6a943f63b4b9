//! Rows of older forms, stored again in the current form of the struct.

use azure_table::operation::OperationKind;
use azure_table::testing::Faults;
use azure_table::{DynamicEntity, EdmValue, Guid, PropertyGroup, Result, TableClient, TableEntity};

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

#[azure_table::test]
async fn upgrade_writes_only_old_rows(shops: TableClient<Shop>, faults: Faults) {
    insert(&shops, 0, |_| ()).await;
    insert(&shops, 1, |row| moved(row, "rating", "stars")).await;
    insert(&shops, 2, |row| drop(row.remove("visits"))).await;
    insert(&shops, 3, |row| drop(row.insert("rating", "five"))).await;
    insert(&shops, 4, |row| drop(row.insert("visits", 1))).await;
    insert(&shops, 5, |row| moved(row, "Home_street", "Home_Road")).await;
    insert(&shops, 6, |row| moved(row, "text", "body")).await;
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

    let is_write = |kind| {
        matches!(
            kind,
            OperationKind::Batch | OperationKind::Merge | OperationKind::Replace
        )
    };
    let writes = || {
        faults
            .log()
            .iter()
            .filter(|sent| sent.kind().is_some_and(is_write))
            .count()
    };
    let all = || shops.query().page_size(7);
    let report = shops.upgrade_where(all()).await.unwrap();
    let counts = (report.applied(), report.unchanged(), report.rejected());
    assert_eq!(counts, (8, 2, 1), "{report:?}");
    assert_eq!(report.leftovers()[0].key().row_key(), "0000000009");
    assert_eq!(writes(), 2, "one for the old rows of each page");

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
        let type_of = |row: &DynamicEntity| row.get("visits").map(EdmValue::edm_type);
        assert_eq!(type_of(&row), type_of(&now));
    }
    for id in [7, 10] {
        let kept = stored(&shops, id).await;
        assert_eq!(kept.get("Unknown"), Some(&EdmValue::Double(1.5)));
        assert_eq!(kept.get("stars"), None);
    }
    assert_eq!(report.kept_unknown(), 1, "of the written rows");

    let again = shops.upgrade_where(all()).await.unwrap();
    assert_eq!((again.applied(), again.unchanged(), again.rejected()), (0, 10, 1));
    assert_eq!(writes(), 2);
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

#[azure_table::test]
async fn properties_that_the_upgrade_took_are_removed(prices: TableClient<Price>) -> Result<()> {
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
    assert_eq!(names(&changed), "Unknown cents");
    assert_eq!(changed.property::<i64>("cents")?, 1_000);

    // The rows of an enum.
    old.insert("Kind", "Price");
    rows.insert_or_replace(&old).await?;
    let of_enum = prices.typed::<Row>();
    assert_eq!(of_enum.upgrade_where(of_enum.query()).await?.applied(), 1);
    assert_eq!(names(&rows.get(("s", "1")).await?.unwrap()), "Kind Unknown cents");

    // The tag of an enum is known.
    for applied in [1, 0] {
        let upgrade = of_enum.upgrade_where(of_enum.query()).drop_unknown();
        assert_eq!(upgrade.await?.applied(), applied);
        assert_eq!(names(&rows.get(("s", "1")).await?.unwrap()), "Kind cents");
    }
    Ok(())
}

#[azure_table::test]
async fn unknown_properties_are_dropped_on_request(shops: TableClient<Shop>) {
    insert(&shops, 0, |_| ()).await;
    insert(&shops, 1, |row| drop(row.insert("Unknown", 1))).await;
    insert(&shops, 2, |row| drop(row.insert("Unknown", 1))).await;
    let one = shops.query().partition("Rome").filter(Shop::ID.le(1));
    let report = shops.upgrade_where(one).drop_unknown().await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.kept_unknown()), (1, 1, 0));
    assert_eq!(stored(&shops, 1).await.get("Unknown"), None);
    assert!(stored(&shops, 2).await.get("Unknown").is_some());
    assert_eq!(shops.upgrade_where(shops.query()).await.unwrap().applied(), 0);
    for applied in [1, 0] {
        let upgrade = shops.upgrade_where(shops.query()).drop_unknown();
        assert_eq!(upgrade.await.unwrap().applied(), applied);
    }
}
