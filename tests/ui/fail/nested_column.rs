//! The columns of a flattened field belong to the field. Types that the service cannot compare have none.

use azure_table::{PropertyGroup, TableClient, TableEntity};

#[derive(PropertyGroup)]
struct Address {
    city: String,
}

#[derive(PropertyGroup)]
struct Name {
    first: String,
}

#[derive(TableEntity)]
struct Shop {
    #[table(partition_key)]
    country: String,
    #[table(row_key)]
    id: u32,
    #[table(flatten, prefix = "Home_")]
    home: Address,
    #[table(json)]
    tags: Vec<String>,
    #[table(chunked)]
    text: String,
    #[table(with = "minutes")]
    closes: u16,
}

mod minutes {
    use azure_table::{Edm, EdmType, ValueError};
    use azure_table::entity::WireValue;

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(value: &u16) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Int32(i32::from(*value))))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<u16, ValueError> {
        value.as_i32().map(|minutes| minutes as u16)
    }
}

fn read(shops: TableClient<Shop>) {
    let _ = shops.query().filter(Address::CITY.eq("Köln"));
    let _ = shops.query().filter(Shop::HOME.eq("Köln"));
    let _ = Shop::HOME.field(Name::FIRST).eq("Ada");
    let _ = shops.query().filter(Shop::TAGS.eq("a"));
    let _ = shops.query().filter(Shop::TEXT.starts_with("a"));
    let _ = shops.query().select((Shop::CLOSES,));
    let _ = shops.patch(("DE", 1), [Shop::CLOSES.set(5)]);
    let _ = shops.query().filter(Shop::COUNTRY);
    let _ = shops.query().filter("country eq 'DE'");
}

fn main() {}
