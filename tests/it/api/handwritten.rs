//! Every trait can be implemented outside the crate.

use azure_table::entity::{Condition, EntitySchema, MetadataLevel, PropertyWriter, ReadProperty, Row, WireValue};
use azure_table::key::{KeyShape, KeyWriter, ReadTableKey};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{
    Edm, EdmType, Emulator, Property, ReadEntity, Result, TableEntity, TableKey, TableServiceClient, ValueError,
};
use bytes::Bytes;

/// Stands for a type of another crate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Good,
    Bad,
}

impl Property for Mood {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::String;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        let text = match self {
            Self::Good => "good",
            Self::Bad => "bad",
        };
        Ok(Some(Edm::String(text.into())))
    }
}

impl ReadProperty for Mood {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        match value.as_str()? {
            "good" => Ok(Self::Good),
            "bad" => Ok(Self::Bad),
            other => Err(ValueError::new(format!("{other:?} is no mood"))),
        }
    }
}

/// Three letters, upper case in the key.
#[derive(Clone, Debug, PartialEq)]
struct Station(String);

impl TableKey for Station {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        if self.0.len() != 3 {
            return Err(ValueError::new(format!("{:?} has not three letters", self.0)));
        }
        text.push_str(&self.0.to_uppercase());
        Ok(())
    }
}

impl ReadTableKey for Station {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        Ok(Self(text.to_lowercase()))
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Derived {
    #[table(partition_key)]
    station: Station,
    #[table(row_key)]
    n: u64,
    mood: Mood,
    before: Option<Mood>,
}

/// An entity written by hand.
#[derive(Clone, Debug, PartialEq)]
struct Counter {
    group: String,
    name: String,
    value: i64,
    step: i32,
}

impl TableEntity for Counter {
    type PartitionFields = (String,);
    type KeyFields = (String, String);
    const SCHEMA: &'static EntitySchema = &EntitySchema::new("Counter", KeyShape::SIMPLE);

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        key.field(&self.group)?;
        key.field(&self.name)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        properties.property("Value", &self.value)?;
        // Absent if it is the default.
        properties.property("Step", &(self.step != 1).then_some(self.step))
    }

    fn condition(&self) -> Condition {
        Condition::Exists
    }
}

impl ReadEntity for Counter {
    const METADATA: MetadataLevel = MetadataLevel::None;

    fn read(row: &Row<'_>) -> Result<Self> {
        let mut counter = Self {
            group: row.partition_key()?.to_owned(),
            name: row.row_key()?.to_owned(),
            value: 0,
            step: row.property::<Option<i32>>("Step")?.unwrap_or(1),
        };
        for property in row.properties() {
            if property.name() == "Value" {
                counter.value = property.read()?;
            }
        }
        Ok(counter)
    }
}

/// A transport that counts requests.
#[derive(Debug)]
struct Counting(Emulator, std::sync::atomic::AtomicUsize);

impl Transport for Counting {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.send(request)
    }
}

#[tokio::test]
async fn own_properties_keys_entities_and_transports_work() {
    let service = TableServiceClient::from_transport(Counting(Emulator::new(), 0.into()));
    let derived = service.table::<Derived>("Things").unwrap();
    derived.create_table().await.unwrap();
    let entity = Derived {
        station: Station("zrh".into()),
        n: 7,
        mood: Mood::Bad,
        before: None,
    };
    derived.insert(&entity).await.unwrap();
    let read = derived.get((Station("zrh".into()), 7)).await.unwrap().unwrap();
    assert_eq!(read, entity);
    let found = derived
        .query()
        .filter(Derived::MOOD.eq(Mood::Bad) & Derived::STATION.eq(Station("zrh".into())));
    assert_eq!(found.all().await.unwrap(), [entity]);
    let found = derived.query().filter(Derived::BEFORE.eq(Mood::Good));
    assert_eq!(found.all().await.unwrap(), []);
    let error = derived.get((Station("zurich".into()), 7)).await.unwrap_err();
    let why = "get in table Things: PartitionKey, field `station`: \"zurich\" has not three letters";
    assert_eq!(error.to_string(), why);

    let counters = derived.typed::<Counter>();
    for step in [1, 5] {
        let counter = Counter {
            group: "counter".into(),
            name: step.to_string(),
            value: 1 << 40,
            step,
        };
        counters.insert(&counter).await.unwrap();
        assert_eq!(counters.get(&counter).await.unwrap().unwrap(), counter);
    }
}
