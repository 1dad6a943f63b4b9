//! `flatten` of an `Option`: a group that is present or absent as a whole.

use azure_table::{EdmValue, PropertyGroup, Result, TableClient, TableEntity};

use super::{assert_unreadable, names, store, stored};

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

#[azure_table::test]
async fn absent_group_writes_nothing_and_reads_as_none(table: TableClient<Shop>) -> Result<()> {
    let without = Shop {
        work: None,
        ..shop(1, None)
    };
    table.insert(&without).await?;
    assert_eq!(names(&stored(&table).await), ["name"]);
    // The default replaces the absent group.
    assert_eq!(table.get(("DE", 1)).await?, Some(shop(1, None)));
    Ok(())
}

#[azure_table::test]
async fn present_group_survives_whole(table: TableClient<Shop>) -> Result<()> {
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
    table.insert(&shop).await?;
    let expected = "by home_city home_geo_lat home_geo_long home_map home_map_1 home_map_2 home_street name work_city";
    assert_eq!(names(&stored(&table).await).join(" "), expected);
    assert_eq!(table.get(("DE", 1)).await?, Some(shop));
    Ok(())
}

#[azure_table::test]
async fn one_property_makes_the_group_present_and_the_error_names_another(table: TableClient<Shop>) -> Result<()> {
    table.insert(&shop(1, None)).await?;
    let row = stored(&table).await;
    let long = ("home_geo_long", EdmValue::Double(1.0));
    for (some, missing) in [
        (vec![("home_street", "s".into())], "home_city"),
        (vec![("home_city", "c".into()), long], "home_geo_lat"),
    ] {
        let mut partly = row.clone();
        for (name, value) in some {
            partly.insert(name, value);
        }
        assert_unreadable(&table, &partly, &format!("property `{missing}`: it is missing")).await;
    }
    let mut older = row;
    older.insert("home_town", "Bonn");
    store(&table, &older).await?;
    assert_eq!(table.get(("DE", 1)).await?.unwrap().home, Some(address("Bonn")));
    Ok(())
}

#[azure_table::test]
async fn merge_of_none_leaves_the_stored_group_and_replace_removes_it(table: TableClient<Shop>) -> Result<()> {
    table.insert(&shop(1, Some(address("Köln")))).await?;
    table.merge(&shop(1, None)).await?;
    assert_eq!(table.get(("DE", 1)).await?.unwrap().home, Some(address("Köln")));
    table.replace(&shop(1, None)).await?;
    assert_eq!(table.get(("DE", 1)).await?.unwrap().home, None);
    Ok(())
}

#[azure_table::test]
async fn columns_of_an_optional_group_are_compared_set_and_selected(table: TableClient<Shop>) -> Result<()> {
    let located = |lat| Address {
        geo: Some(Geo { lat, long: 0.0 }),
        ..address("Köln")
    };
    for shop in [shop(1, None), shop(2, Some(located(1.0))), shop(3, Some(located(2.0)))] {
        table.insert(&shop).await?;
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
        let found = table.query().filter(filter).all().await?;
        assert_eq!(found.iter().map(|shop| shop.id).collect::<Vec<_>>(), expected, "{text}");
    }
    // A row without the group has none of its columns.
    let city = Shop::HOME.field(Address::CITY);
    let selected = table.query().select((Shop::ID, city, lat)).all().await?;
    let cologne = || Some("Köln".to_owned());
    let expected = [(1, None, None), (2, cologne(), Some(1.0)), (3, cologne(), Some(2.0))];
    assert_eq!(selected, expected);
    table.patch(("DE", 1), [city.set("Bonn")]).await?;
    assert_eq!(table.get(("DE", 1)).await?.unwrap().home, Some(address("Bonn")));

    let schema = <Shop as TableEntity>::SCHEMA.to_string();
    for line in ["home_city Edm.String\n", "home_geo_lat Edm.Double\n"] {
        assert!(schema.contains(line), "{schema}");
    }
    Ok(())
}
