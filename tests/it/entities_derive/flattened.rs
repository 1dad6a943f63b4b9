//! `flatten`: structs that are stored as properties of the entity that contains them.

use azure_table::entity::MetadataLevel;
use azure_table::{EdmValue, PropertyGroup, ReadEntity, TableEntity};

use super::{names, stored, table};

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

#[tokio::test]
async fn groups_inside_of_groups_are_stored_under_their_prefixes() {
    let table = table::<Shop>().await;
    table.insert(&shop(1, 1.5)).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(
        names(&row),
        [
            "Home_City",
            "Home_Floor",
            "Home_Geo_Lat",
            "Home_Geo_Lon",
            "Home_Lines",
            "Home_Map",
            "Home_Map_1",
            "Home_Map_chunks",
            "Rating",
            "Work_City",
            "Work_Floor",
            "Work_Geo_Lat",
            "Work_Geo_Lon",
            "Work_Lines",
            "by",
        ]
    );
    assert_eq!(row.get("Work_Geo_Lat"), Some(&EdmValue::Double(-1.5)));
    assert_eq!(table.get(("DE", 1)).await.unwrap(), Some(shop(1, 1.5)));
}

#[tokio::test]
async fn flattened_columns_are_filtered_by() {
    let table = table::<Shop>().await;
    for (id, lat) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
        table.insert(&shop(id, lat)).await.unwrap();
    }
    let ids = |filter| {
        let query = table.query().filter(filter);
        async {
            query
                .all()
                .await
                .unwrap()
                .iter()
                .map(|shop| shop.id)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        ids(Shop::HOME.field(Address::GEO).field(Geo::LAT).gt(1.5)).await,
        [2, 3]
    );
    assert_eq!(
        ids(Shop::OFFICE.field(Address::GEO.field(Geo::LAT)).gt(-2.5)).await,
        [1, 2]
    );
    assert_eq!(
        ids(Shop::HOME.field(Address::CITY).eq("Köln") & Shop::ID.lt(2)).await,
        [1]
    );
    assert_eq!(ids(Shop::STAMP.field(Stamp::BY).ne("me")).await, [0; 0]);
}

#[tokio::test]
async fn older_names_and_defaults_work_in_a_group_and_unknown_names_are_rejected() {
    let table = table::<Shop>().await;
    table.insert(&shop(1, 1.5)).await.unwrap();
    let mut row = stored(&table).await;
    let long = row.remove("Home_Geo_Lon").unwrap();
    row.insert("Home_Geo_Lng", long);
    row.remove("Home_Floor");
    row.remove("by");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    let mut expected = shop(1, 1.5);
    expected.home.floor = 0;
    expected.stamp = Stamp::default();
    assert_eq!(table.get(("DE", 1)).await.unwrap(), Some(expected));

    row.remove("Work_Geo_Lon");
    row.etag = Some(table.typed().replace(&row).await.unwrap());
    let text = table.get(("DE", 1)).await.unwrap_err().to_string();
    assert!(text.contains("property `Work_Geo_Lon`: it is missing"), "{text}");

    row.insert("Work_Geo_Lon", 1.0);
    row.insert("Work_Geo_Alt", 1.0);
    table.typed().replace(&row).await.unwrap();
    let text = table.get(("DE", 1)).await.unwrap_err().to_string();
    assert!(
        text.contains("property `Work_Geo_Alt`: the entity does not declare it"),
        "{text}"
    );
}

#[test]
fn the_schema_has_the_whole_names() {
    let text = <Shop as TableEntity>::SCHEMA.to_string();
    assert_eq!(
        text.lines().skip(3).collect::<Vec<_>>(),
        [
            "Rating Edm.Int32",
            "Home_City Edm.String",
            "Home_Street Edm.String",
            "Home_Lines Edm.String json",
            "Home_Map Edm.String chunked",
            "Home_Floor Edm.Int32",
            "Home_Geo_Lat Edm.Double",
            "Home_Geo_Lon Edm.Double",
            "Work_City Edm.String",
            "Work_Street Edm.String",
            "Work_Lines Edm.String json",
            "Work_Map Edm.String chunked",
            "Work_Floor Edm.Int32",
            "Work_Geo_Lat Edm.Double",
            "Work_Geo_Lon Edm.Double",
            "by Edm.String",
        ]
    );
    assert_eq!(Shop::METADATA, MetadataLevel::None);
}

/// Borrowed and generic groups.
#[derive(PropertyGroup)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
struct Pair<T> {
    left: T,
    right: T,
}

#[derive(TableEntity)]
#[table(partition_key = "p", row_key = "r")]
struct Written<'a> {
    #[table(flatten)]
    borrowed: Borrowed<'a>,
    #[table(flatten)]
    pair: Pair<&'a str>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Paired<T> {
    #[table(flatten)]
    pair: Pair<T>,
}

#[tokio::test]
async fn groups_may_borrow_and_may_be_generic() {
    let table = table::<Paired<String>>().await;
    let text = String::from("b");
    let written = Written {
        borrowed: Borrowed { text: "a" },
        pair: Pair {
            left: &text,
            right: "c",
        },
    };
    table
        .execute(azure_table::TableOperation::insert(&written))
        .await
        .unwrap();
    let paired = Paired {
        pair: Pair {
            left: "b".to_owned(),
            right: "c".to_owned(),
        },
    };
    assert_eq!(table.get(()).await.unwrap(), Some(paired.clone()));
    let right = Paired::<String>::PAIR.field(Pair::<String>::RIGHT);
    assert_eq!(table.query().filter(right.eq("c")).all().await.unwrap(), [paired]);
}
