//! Derived code works in strict and unusual code of the user.

/// Without the prelude, and with every warning as an error.
mod strict {
    #![no_implicit_prelude]
    #![deny(warnings, missing_docs)]

    /// Names that derived code might use itself.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    pub(super) struct Strict {
        /// The partition.
        #[table(partition_key)]
        pub(super) key: ::std::string::String,
        /// The row.
        #[table(row_key)]
        pub(super) row: ::std::string::String,
        /// A keyword.
        pub(super) r#type: i32,
        /// Never read, and neither is its constant.
        pub(super) schema: ::std::option::Option<bool>,
    }

    #[expect(dead_code, reason = "an item of the user that must not clash")]
    impl Strict {
        const SCHEMA_NAME: i32 = 1;
        fn key(&self) -> i32 {
            Self::SCHEMA_NAME
        }
    }
}

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
async fn strict_renamed_borrowed_and_generic_entities_work(table: TableClient<strict::Strict>) {
    let strict = strict::Strict {
        key: "k".into(),
        row: "r".into(),
        r#type: 3,
        schema: None,
    };
    table.insert(&strict).await.unwrap();
    let found = table.query().filter(strict::Strict::TYPE.eq(3)).all().await.unwrap();
    assert_eq!(found, [strict]);

    let renamed = renamed::Renamed {
        a: "k".into(),
        b: 1,
        max: renamed::Renamed::MAX,
    };
    let table = table.typed::<renamed::Renamed>();
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
