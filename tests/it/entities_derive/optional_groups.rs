//! `flatten` of an `Option`: a group that is present or absent as a whole.

use azure_table::{DynamicEntity, EdmValue, PropertyGroup, TableEntity};

use super::{names, stored, table};

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
struct Geo {
    lat: f64,
    long: f64,
}

#[derive(PropertyGroup, Clone, Debug, Default, PartialEq)]
struct Address {
    #[table(alias = "town")]
    city: String,
    street: Option<String>,
    #[table(chunked)]
    map: Option<String>,
    #[table(flatten, prefix = "geo_")]
    geo: Option<Geo>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(deny_unknown_properties)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten, prefix = "home_")]
    home: Option<Address>,
    #[table(flatten, prefix = "work_", default = "nowhere")]
    work: Option<Address>,
    #[table(flatten)]
    bare: Option<Bare>,
    name: String,
}

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
struct Bare {
    by: String,
}

fn nowhere() -> Option<Address> {
    Some(address("nowhere"))
}

fn address(city: &str) -> Address {
    Address {
        city: city.into(),
        ..Address::default()
    }
}

fn shop(id: u32, home: Option<Address>) -> Shop {
    Shop {
        country: "DE".into(),
        id,
        home,
        work: nowhere(),
        bare: None,
        name: "n".into(),
    }
}

#[tokio::test]
async fn absent_group_writes_nothing_and_reads_as_none() {
    let table = table::<Shop>().await;
    let without = Shop {
        work: None,
        ..shop(1, None)
    };
    table.insert(&without).await.unwrap();
    assert_eq!(names(&stored(&table).await), ["name"]);
    // The default replaces the absent group.
    assert_eq!(table.get(("DE", 1)).await.unwrap(), Some(shop(1, None)));
}

#[tokio::test]
async fn present_group_survives_whole() {
    let table = table::<Shop>().await;
    let home = Address {
        street: Some("s".into()),
        map: Some("x".repeat(40_000)),
        geo: Some(Geo { lat: 1.5, long: 2.5 }),
        ..address("Köln")
    };
    let shop = Shop {
        bare: Some(Bare { by: "me".into() }),
        ..shop(1, Some(home))
    };
    table.insert(&shop).await.unwrap();
    assert_eq!(
        names(&stored(&table).await),
        [
            "by",
            "home_city",
            "home_geo_lat",
            "home_geo_long",
            "home_map",
            "home_map_1",
            "home_map_chunks",
            "home_street",
            "name",
            "work_city",
        ]
    );
    assert_eq!(table.get(("DE", 1)).await.unwrap(), Some(shop));
}

#[tokio::test]
async fn one_property_makes_the_group_present_and_the_error_names_what_it_lacks() {
    let table = table::<Shop>().await;
    table.insert(&shop(1, None)).await.unwrap();
    let dynamic = table.typed::<DynamicEntity>();
    let row = stored(&table).await;
    let (street, city, long) = (
        ("home_street", EdmValue::from("s")),
        ("home_city", EdmValue::from("c")),
        ("home_geo_long", EdmValue::Double(1.0)),
    );
    for (some, missing) in [(vec![street], "home_city"), (vec![city, long], "home_geo_lat")] {
        let mut partly = row.clone();
        for (name, value) in some {
            partly.insert(name, value);
        }
        dynamic.insert_or_replace(&partly).await.unwrap();
        let error = table.get(("DE", 1)).await.unwrap_err().to_string();
        assert!(
            error.contains(&format!("property `{missing}`: it is missing")),
            "{error}"
        );
    }
    let mut older = row.clone();
    older.insert("home_town", "Bonn");
    dynamic.insert_or_replace(&older).await.unwrap();
    assert_eq!(table.get(("DE", 1)).await.unwrap().unwrap().home, Some(address("Bonn")));
}

#[tokio::test]
async fn merge_of_none_leaves_the_stored_group_and_replace_removes_it() {
    let table = table::<Shop>().await;
    table.insert(&shop(1, Some(address("Köln")))).await.unwrap();
    table.merge(&shop(1, None)).await.unwrap();
    assert_eq!(table.get(("DE", 1)).await.unwrap().unwrap().home, Some(address("Köln")));
    table.replace(&shop(1, None)).await.unwrap();
    assert_eq!(table.get(("DE", 1)).await.unwrap().unwrap().home, None);
}

#[tokio::test]
async fn columns_of_an_optional_group_are_compared_set_and_selected() {
    let table = table::<Shop>().await;
    let located = |lat| Address {
        geo: Some(Geo { lat, long: 0.0 }),
        ..address("Köln")
    };
    for shop in [shop(1, None), shop(2, Some(located(1.0))), shop(3, Some(located(2.0)))] {
        table.insert(&shop).await.unwrap();
    }
    let lat = Shop::HOME.field(Address::GEO).field(Geo::LAT);
    assert_eq!(lat.name(), "home_geo_lat");
    for (filter, expected) in [
        (lat.gt(1.5), vec![3]),
        (Shop::HOME.field(Address::CITY).eq("Köln"), vec![2, 3]),
        (Shop::HOME.field(Address::CITY).starts_with("K"), vec![2, 3]),
        (Shop::HOME.field(Address::GEO.field(Geo::LAT)).le(1.5), vec![2]),
        (Shop::HOME.field(Address::STREET).ne(""), vec![]),
    ] {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await.unwrap();
        assert_eq!(found.iter().map(|shop| shop.id).collect::<Vec<_>>(), expected, "{text}");
    }
    // A row without the group has none of its columns.
    let city = Shop::HOME.field(Address::CITY);
    let selected = table.query().select((Shop::ID, city, lat)).all().await.unwrap();
    assert_eq!(
        selected,
        [
            (1, None, None),
            (2, Some("Köln".to_owned()), Some(1.0)),
            (3, Some("Köln".to_owned()), Some(2.0))
        ]
    );
    table.patch(("DE", 1), [city.set("Bonn")]).await.unwrap();
    assert_eq!(table.get(("DE", 1)).await.unwrap().unwrap().home, Some(address("Bonn")));
}

#[test]
fn schema_has_the_properties_of_an_optional_group() {
    let text = <Shop as TableEntity>::SCHEMA.to_string();
    assert!(
        text.contains("home_city Edm.String\n") && text.contains("home_geo_lat Edm.Double\n"),
        "{text}"
    );
}
