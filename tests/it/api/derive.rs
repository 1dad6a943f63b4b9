//! Derived code works in unusual code of the user.

/// The crate has another name here.
mod renamed {
    use azure_table as tables;

    #[derive(tables::TableEntity, Clone, Debug, PartialEq)]
    #[table(crate = "tables", columns = off)]
    pub(super) struct Renamed {
        #[table(partition_key)]
        pub(super) a: String,
        #[table(row_key)]
        pub(super) b: u32,
        pub(super) max: i32,
    }

    impl Renamed {
        pub(super) const MAX: i32 = 5;
    }
}

use azure_table::entity::MetadataLevel;
use azure_table::{DynamicEntity, ReadEntity, TableClient, TableEntity, TableOperation};
use azure_table_tests::entities::{AllTypes, Post, Tracked};

/// Borrowed fields can be written.
#[derive(TableEntity)]
struct Borrowed<'a> {
    #[table(partition_key)]
    a: &'a str,
    #[table(row_key)]
    b: u32,
    text: &'a str,
}

/// A type parameter as a field.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "generic", row_key = "{n}")]
struct Generic<T> {
    n: u32,
    value: T,
}

#[azure_table::test]
async fn renamed_borrowed_and_generic_entities_work(table: TableClient<renamed::Renamed>) {
    let renamed = renamed::Renamed {
        a: "k".into(),
        b: 1,
        max: renamed::Renamed::MAX,
    };
    table.insert(&renamed).await.unwrap();
    assert_eq!(table.get(("k", 1)).await.unwrap().unwrap(), renamed);

    let text = String::from("borrowed");
    let (a, b, text) = ("k", 2, &*text);
    let insert = TableOperation::insert(&Borrowed { a, b, text });
    table.execute(insert).await.unwrap();
    let dynamic = table.typed::<DynamicEntity>().get(("k", "0000000002"));
    assert_eq!(dynamic.await.unwrap().unwrap().get("text"), Some(&"borrowed".into()));

    let table = table.typed::<Generic<f64>>();
    let generic = Generic { n: 4, value: 2.5 };
    table.insert(&generic).await.unwrap();
    assert_eq!(table.get((4,)).await.unwrap().unwrap(), generic);
    let query = table.query().partition(()).filter(Generic::<f64>::VALUE.gt(2.0));
    assert_eq!(query.all().await.unwrap(), [generic]);
}

/// The schema describes the stored form.
#[test]
fn the_schema_is_a_constant() {
    let schema = <AllTypes as TableEntity>::SCHEMA;
    assert_eq!(schema.name, "AllTypes");
    let names: Vec<_> = schema.properties.iter().map(|p| (p.name, p.edm_type.name())).collect();
    assert_eq!(names[0], ("Text", "Edm.String"));
    assert_eq!(names[8], ("opt", "Edm.Int64"));
    assert_eq!(names.len(), 9);
    // An etag field needs the metadata that carries it.
    assert_eq!(Tracked::METADATA, MetadataLevel::Minimal);
    assert_eq!(Post::METADATA, MetadataLevel::None);
}
