//! Handles to the same table with another entity type: any, or one variant of an enum of entities.

use std::sync::Arc;

use crate::client::table_handle::TableClient;
use crate::entity::schema::{self, EntitySchema};
use crate::entity::table_entity::TableEntity;
use crate::entity::variant::{MarkedVariantOf, VariantIn};
use crate::entity::variant_mark::MarkedVariant;

impl<E> TableClient<E> {
    /// Returns a handle to the same table with another entity type.
    ///
    /// It reads and writes rows as a plain `U`. For one variant of an enum of entities this is not enough, because the
    /// enum also writes the mark that distinguishes its variants. A variant of the table's own enum therefore fails to
    /// compile with `cargo build`, `run` and `test`, although `cargo check` reports nothing: use
    /// [`variant`](Self::variant).
    pub fn typed<U: TableEntity>(&self) -> TableClient<U>
    where
        E: TableEntity,
    {
        const {
            assert!(
                !is_among(U::SCHEMA, E::VARIANTS),
                "`typed` writes no tag, and this type is a variant of the table's enum: write `table.variant::<V>()` in place of \
                 `table.typed::<V>()`; for rows without a tag write `service.table::<V>(name)`"
            );
        }
        match self.pipeline.settings.variant {
            // The mark belongs to the type, and no other type has it.
            Some(_) if !schema::is_same(U::SCHEMA, E::SCHEMA) => self.of_variant(None, None),
            _ => TableClient::new(&self.pipeline, self.table.clone()),
        }
    }

    /// Returns a handle to the rows of one variant of the enum of entities `E`.
    ///
    /// It reads and writes `V` as the enum does.
    ///
    /// * Writes add the tag that distinguishes the variant. A RowKey without the variant's prefix, or with the form of
    ///   an earlier variant, is an error.
    /// * Queries, and writes over queries, select only the rows of the variant.
    /// * A read by key of a row of another variant is an error that names its tag or keys. For
    ///   [`exists`](Self::exists), such a row does not exist.
    ///
    /// Writes by key use only the key: they change the row with this key, whatever its variant. A
    /// [`TableOperation`](crate::TableOperation) is sent as it was encoded.
    ///
    /// It does not compile for the type of the variant marked `other`, nor for a type that two variants hold, because
    /// nothing distinguishes such rows from others.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    ///
    /// #[derive(TableEntity)]
    /// struct Deposit {
    ///     #[table(partition_key)]
    ///     account: String,
    ///     #[table(row_key)]
    ///     at: u32,
    ///     cents: i64,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// struct Fee {
    ///     #[table(partition_key)]
    ///     account: String,
    ///     #[table(row_key)]
    ///     at: u32,
    ///     cents: i64,
    ///     reason: String,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(tag = "Kind")]
    /// enum Booking {
    ///     Deposit(Deposit),
    ///     Fee(Fee),
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let bookings = TableServiceClient::from_transport(Emulator::new()).table::<Booking>("Bookings")?;
    /// # bookings.create_table().await?;
    /// # bookings.insert(&Booking::Deposit(Deposit { account: "a".into(), at: 1, cents: 5 })).await?;
    /// let fees = bookings.variant::<Fee>();
    /// fees.insert(&Fee { account: "a".into(), at: 7, cents: 5, reason: "late".into() }).await?;   // Kind = 'Fee'
    /// fees.modify(("a", 7), |fee| fee.cents = 3).await?;
    /// let late = fees.query().partition("a").filter(Fee::REASON.eq("late")).all().await?;          // Vec<Fee>
    /// assert_eq!(late.len(), 1);
    ///
    /// let error = fees.get(("a", 1)).await.err().expect("it is a deposit");
    /// assert!(error.to_string().contains("its `Kind` is \"Deposit\", not \"Fee\""));
    /// assert!(matches!(&bookings.query().all().await?[..], [Booking::Deposit(_), Booking::Fee(_)]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput`: this is the handle of a variant of a variant, `table.variant::<Inner>().variant::<V>()`. Each
    ///   of its calls fails, because a handle writes one mark. Write whole values of the inner enum.
    pub fn variant<V>(&self) -> TableClient<V>
    where
        E: TableEntity,
        V: TableEntity + MarkedVariantOf<E>,
    {
        self.of_variant(Some(VariantIn::<E, V>::MARKED), self.pipeline.settings.variant)
    }

    fn of_variant<U>(
        &self,
        variant: Option<&'static MarkedVariant>,
        outer: Option<&'static MarkedVariant>,
    ) -> TableClient<U> {
        let pipeline = self.pipeline.of_variant(variant, outer);
        TableClient::new(&Arc::new(pipeline), self.table.clone())
    }
}

const fn is_among(schema: &EntitySchema, schemas: &[&EntitySchema]) -> bool {
    let mut at = 0;
    while at < schemas.len() {
        if schema::is_same(schema, schemas[at]) {
            return true;
        }
        at += 1;
    }
    false
}
