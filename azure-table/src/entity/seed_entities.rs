//! Entities in an emulator before the first request.
//!
//! The emulator stores rows and knows nothing of entities. This trait adds a method that does.

use std::borrow::Cow;

use azure_table_emulator::{Emulator, SeededRow};
use azure_table_wire::error::Result;
use azure_table_wire::value::edm::{Edm, EdmValue};

use crate::entity::property_writer::{self, Destination, PropertySink};
use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::key_texts;

/// Stores entities in an [`Emulator`] without a client.
pub trait SeedEntities {
    /// Inserts or replaces entities in a table of the account `devstoreaccount1`.
    ///
    /// Creates the table if it is missing. Needs no client, and takes no time, whatever the
    /// [model](Emulator::service_model).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::emulator::SeedEntities as _;
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     slug: String,
    ///     rating: i32,
    /// }
    /// let emulator = Emulator::new();
    /// emulator.seed("Blogs", (1..=3).map(|n| Blog { channel: "c".into(), slug: n.to_string(), rating: n }))?;
    /// let blogs = TableServiceClient::from_transport(emulator).table::<Blog>("Blogs")?;
    /// assert_eq!(blogs.query().filter(Blog::RATING.ge(2)).all().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service would reject a name, key or value, or the table
    ///   is being [deleted](Emulator::deletion_time). The entities before the invalid one are stored.
    /// - [`ServerFault`](crate::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    fn seed<E: TableEntity>(&self, table: &str, entities: impl IntoIterator<Item = E>) -> Result<()>;
}

impl SeedEntities for Emulator {
    fn seed<E: TableEntity>(&self, table: &str, entities: impl IntoIterator<Item = E>) -> Result<()> {
        let rows = entities.into_iter().map(|entity| row(&entity));
        azure_table_emulator::seed_rows(self, table, rows)
    }
}

/// The properties that an entity writes.
#[derive(Default)]
struct Written(Vec<(Cow<'static, str>, EdmValue)>);

impl PropertySink for Written {
    fn put(&mut self, name: &str, value: &Edm<'_>) {
        self.0.push((name.to_owned().into(), value.clone().into_owned()));
    }
}

fn row(entity: &impl TableEntity) -> Result<SeededRow> {
    let (partition_key, row_key) = key_texts(entity)?.into_pair();
    let mut written = Written::default();
    let mut writer = property_writer::writer(Destination::Values(&mut written), &partition_key, &row_key);
    entity.write_properties(&mut writer)?;
    property_writer::finish(writer)?;
    Ok((partition_key, row_key, written.0))
}
