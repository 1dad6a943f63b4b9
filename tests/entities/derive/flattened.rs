//! `flatten`: structs that are stored as properties of the entity that contains them.

use azure_table::entity::MetadataLevel;
use azure_table::{EdmValue, PropertyGroup, ReadEntity, Result, TableClient, TableEntity};

use super::{assert_unreadable, names, store, stored};

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
struct Geo {
    lat: f64,
    #[table(rename = "Lon", alias = "Lng")]
    long: f64,
}

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
struct Address {
    city: String,
    street: Option<String>,
    #[table(flatten, prefix = "Geo_")]
    geo: Geo,
    #[table(json)]
    lines: Vec<String>,
    #[table(chunked)]
    map: Option<String>,
    #[table(default)]
    floor: i32,
    #[table(ignore)]
    cached: Option<u8>,
}

#[derive(PropertyGroup, Clone, Debug, Default, PartialEq)]
struct Stamp {
    by: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase", deny_unknown_properties)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten, prefix = "Home_")]
    home: Address,
    #[table(flatten, prefix = "Work_", column = "OFFICE")]
    work: Address,
    #[table(flatten, default)]
    stamp: Stamp,
    rating: i32,
}

fn address(city: &str, lat: f64) -> Address {
    Address {
        city: city.into(),
        street: None,
        geo: Geo { lat, long: 2.5 },
        lines: vec!["a".into()],
        map: Some("x".repeat(40_000)),
        floor: 3,
        cached: None,
    }
}

fn shop(id: u32, lat: f64) -> Shop {
    Shop {
        country: "DE".into(),
        id,
        home: address("Köln", lat),
        work: Address {
            map: None,
            ..address("Bonn", -lat)
        },
        stamp: Stamp { by: "me".into() },
        rating: 1,
    }
}

#[azure_table::test]
async fn groups_inside_of_groups_are_stored_under_their_prefixes(table: TableClient<Shop>) -> Result<()> {
    let mut written = shop(1, 1.5);
    // It is ignored: neither written nor read.
    (written.home.cached, written.work.cached) = (Some(1), Some(2));
    table.insert(&written).await?;
    let row = stored(&table).await;
    let expected = "Home_City Home_Floor Home_Geo_Lat Home_Geo_Lon Home_Lines Home_Map Home_Map_1 Home_Map_2 Rating \
        Work_City Work_Floor Work_Geo_Lat Work_Geo_Lon Work_Lines by";
    assert_eq!(names(&row).join(" "), expected);
    assert_eq!(row.get("Work_Geo_Lat"), Some(&EdmValue::Double(-1.5)));
    assert_eq!(table.get(("DE", 1)).await?, Some(shop(1, 1.5)));
    Ok(())
}

#[azure_table::test]
async fn flattened_columns_are_filtered_by(table: TableClient<Shop>) -> Result<()> {
    for (id, lat) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
        table.insert(&shop(id, lat)).await?;
    }
    for (filter, expected) in [
        (Shop::HOME.field(Address::GEO).field(Geo::LAT).gt(1.5), &[2, 3][..]),
        (Shop::OFFICE.field(Address::GEO.field(Geo::LAT)).gt(-2.5), &[1, 2]),
        (Shop::HOME.field(Address::CITY).eq("Köln") & Shop::ID.lt(2), &[1]),
        (Shop::STAMP.field(Stamp::BY).ne("me"), &[]),
    ] {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await?;
        assert_eq!(found.iter().map(|shop| shop.id).collect::<Vec<_>>(), expected, "{text}");
    }
    Ok(())
}

#[azure_table::test]
async fn older_names_and_defaults_work_and_unknown_names_are_rejected(table: TableClient<Shop>) -> Result<()> {
    let mut expected = shop(1, 1.5);
    table.insert(&expected).await?;
    let mut row = stored(&table).await;
    // Also beside the current name.
    row.insert("Home_Geo_Lng", 2.5);
    store(&table, &row).await?;
    assert_eq!(table.get(("DE", 1)).await?.as_ref(), Some(&expected));
    for name in ["Home_Geo_Lon", "Home_Floor", "by"] {
        row.remove(name);
    }
    store(&table, &row).await?;
    expected.home.floor = 0;
    expected.stamp = Stamp::default();
    assert_eq!(table.get(("DE", 1)).await?, Some(expected));

    row.remove("Work_Geo_Lon");
    assert_unreadable(&table, &row, "property `Work_Geo_Lon`: it is missing").await;
    row.insert("Work_Geo_Lon", 1.0);
    row.insert("Work_Geo_Alt", 1.0);
    let why = "property `Work_Geo_Alt`: the entity does not declare it";
    assert_unreadable(&table, &row, why).await;
    Ok(())
}

#[test]
fn the_schema_has_the_whole_names() {
    let text = <Shop as TableEntity>::SCHEMA.to_string();
    let group = [
        "City Edm.String",
        "Street Edm.String",
        "Lines Edm.String json",
        "Map Edm.String chunked",
        "Floor Edm.Int32",
        "Geo_Lat Edm.Double",
        "Geo_Lon Edm.Double",
    ];
    let groups = ["Home_", "Work_"].map(|prefix| group.map(|line| format!("{prefix}{line}\n")).concat());
    let expected = format!("Rating Edm.Int32\n{}by Edm.String\n", groups.concat());
    assert!(text.ends_with(&expected) && text.lines().count() == 3 + 16, "{text}");
    assert_eq!(Shop::METADATA, MetadataLevel::None);
}
