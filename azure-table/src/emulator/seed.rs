//! Rows that are there before the first request.
//!
//! Owns [`Emulator::seed`]. It goes past HTTP and signatures, and past nothing else: the rows are those that the same entities
//! would be after an upsert by a client.

use crate::emulator::Emulator;
use crate::emulator::address::Site;
use crate::emulator::body;
use crate::emulator::row::{Properties, RowId};
use crate::emulator::store::{Action, Change};
use crate::model::edm::Edm;
use crate::model::entity::TableEntity;
use crate::model::entity_key::key_texts;
use crate::model::error::{Error, Result};
use crate::model::error_text::Shown;
use crate::model::name::TableName;
use crate::model::property_writer::{PropertySink, PropertyWriter};

/// What an entity writes.
#[derive(Default)]
struct Written(Properties);

impl PropertySink for Written {
    fn put(&mut self, name: &str, value: &Edm<'_>) {
        self.0.push((name.into(), value.clone().into_owned()));
    }
}

impl Emulator {
    /// Puts entities into a table of the account `devstoreaccount1`, and makes the table if it is not there. A row that is there
    /// is replaced. One call in a test, without a client; it takes no time, whatever the
    /// [model](Self::with_service_model).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
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
    /// let blogs = TableServiceClient::on(emulator).table::<Blog>("Blogs")?;
    /// assert_eq!(blogs.query().filter(Blog::RATING.ge(2)).all().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a name, key or value that the service would refuse; the entities before
    /// it are there then.
    pub fn seed<E: TableEntity>(&self, table: &str, entities: impl IntoIterator<Item = E>) -> Result<()> {
        TableName::new(table)?;
        let site = Site::development().under(&self.settings);
        let now = self.settings.clock.now();
        if self.store().table(&site, table).is_none() {
            self.store_mut()
                .create_table(&site, table, now)
                .map_err(|refusal| refused(table, &refusal.message))?;
        }
        for entity in entities {
            let (partition_key, row_key) = key_texts(&entity)?.into_pair();
            let mut written = Written::default();
            let mut writer = PropertyWriter::new(&mut written, &partition_key, &row_key);
            entity.write_properties(&mut writer)?;
            writer.finish()?;
            let id = RowId::new(partition_key, row_key);
            // The writer knows the limits of Table storage alone.
            body::check(&id, &written.0, site.profile).map_err(|refusal| {
                let entity = format!("entity ({}, {})", Shown(&id.partition_key), Shown(&id.row_key));
                refused(table, &format!("{entity}: {}: {}", refusal.code, refusal.message))
            })?;
            let change = Change {
                id,
                action: Action::Replace(written.0, None),
            };
            // One lock for each, so that an iterator may ask the emulator itself.
            self.store_mut()
                .apply(&site, table, vec![change], now)
                .map_err(|(_, refusal)| refused(table, &refusal.message))?;
        }
        Ok(())
    }
}

fn refused(table: &str, why: &str) -> Error {
    Error::invalid_input(format!("table {table}: {why}"))
}
