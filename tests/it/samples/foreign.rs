//! A type of a third party, stored through a wrapper.

use azure_table::entity::{EntitySchema, MetadataLevel, PropertyWriter, Row};
use azure_table::key::{KeyShape, KeyWriter};
use azure_table::{Emulator, ReadEntity, Result, TableEntity, TableServiceClient};

/// A foreign type that does not depend on this crate.
mod theirs {
    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Endpoint {
        pub(super) host: String,
        pub(super) port: u16,
    }
}

/// The adapter: adds our own key to the value.
#[derive(Clone, Debug, PartialEq)]
struct Stored {
    region: String,
    inner: theirs::Endpoint,
}

impl TableEntity for Stored {
    type PartitionFields = (String,);
    type KeyFields = (String, String);
    const SCHEMA: &'static EntitySchema = &EntitySchema::new("Endpoint", KeyShape::SIMPLE);

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        key.field(&self.region)?;
        key.field(&self.inner.host)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        properties.property("Port", &i32::from(self.inner.port))
    }
}

impl ReadEntity for Stored {
    const METADATA: MetadataLevel = MetadataLevel::None;

    fn read(row: &Row<'_>) -> Result<Self> {
        let port: i32 = row.property::<Option<i32>>("Port")?.unwrap_or(443);
        Ok(Self {
            region: row.partition_key()?.to_owned(),
            inner: theirs::Endpoint {
                host: row.row_key()?.to_owned(),
                port: u16::try_from(port).unwrap_or(443),
            },
        })
    }
}

#[tokio::test]
async fn a_foreign_type_is_stored_through_a_wrapper() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<Stored>("Endpoints")
        .unwrap();
    table.create_table().await.unwrap();
    let stored = Stored {
        region: "eu".into(),
        inner: theirs::Endpoint {
            host: "a.example".into(),
            port: 8_080,
        },
    };
    table.insert(&stored).await.unwrap();
    assert_eq!(table.get(("eu", "a.example")).await.unwrap(), Some(stored.clone()));
    assert_eq!(table.query().partition("eu").all().await.unwrap(), [stored]);
}
