//! `@Ignore`, `@StoreAs` and the complex property that is stored as `[STATE];[CITY]`.

use azure_table::{Emulator, TableEntity, TableServiceClient};

/// A complex value with its own text.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    state: String,
    city: String,
}

/// The text of a place.
mod place {
    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    use super::Place;

    pub(super) const EDM_TYPE: EdmType = EdmType::String;

    #[expect(clippy::unnecessary_wraps, reason = "the signature that `with` asks for")]
    pub(super) fn to_edm(place: &Place) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::String(format!("{};{}", place.state, place.city).into())))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<Place, ValueError> {
        let text = value.as_str()?;
        let (state, city) = text
            .split_once(';')
            .ok_or_else(|| ValueError::new(format!("{text:?} has no `;`")))?;
        Ok(Place {
            state: state.into(),
            city: city.into(),
        })
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Customer {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(rename = "cea")]
    email_address: String,
    #[table(with = "place")]
    home: Place,
    #[table(ignore)]
    session: Option<String>,
}

/// The state and the city as the PartitionKey, joined and parsed.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{state};{city}")]
struct Shop {
    state: String,
    city: String,
    #[table(row_key)]
    id: u32,
}

#[tokio::test]
async fn names_values_and_keys_are_stored_as_the_entity_says() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let customers = service.table::<Customer>("Customers").unwrap();
    customers.create_table().await.unwrap();
    let customer = Customer {
        country: "US".into(),
        id: 7,
        email_address: "someone@example.com".into(),
        home: Place {
            state: "WA".into(),
            city: "Seattle".into(),
        },
        session: Some("not stored".into()),
    };
    customers.insert(&customer).await.unwrap();
    let stored = service
        .dynamic_table("Customers")
        .unwrap()
        .get(("US", "0000000007"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.get("home"), Some(&"WA;Seattle".into()));
    assert_eq!(stored.get("cea"), Some(&"someone@example.com".into()));
    assert_eq!(stored.properties.len(), 2);
    let read = customers.get(("US", 7)).await.unwrap().unwrap();
    assert_eq!(
        read,
        Customer {
            session: None,
            ..customer
        }
    );

    let shops = service.table::<Shop>("Customers").unwrap();
    let shop = Shop {
        state: "WA".into(),
        city: "Seattle".into(),
        id: 3,
    };
    shops.insert(&shop).await.unwrap();
    assert_eq!(
        shops.query().partition(("WA", "Seattle")).all().await.unwrap(),
        std::slice::from_ref(&shop)
    );
    assert_eq!(shops.get(("WA", "Seattle", 3)).await.unwrap(), Some(shop));
}
