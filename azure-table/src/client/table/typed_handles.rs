//! Handles to the same table with another entity type.

use crate::client::table_handle::TableClient;
use crate::entity::schema::{self, EntitySchema};
use crate::entity::table_entity::TableEntity;

impl<E> TableClient<E> {
    /// Returns a handle to the same table with another entity type.
    ///
    /// It reads and writes rows as a plain `U`: it neither stores nor checks the tag of an enum of entities. For a
    /// variant of the table's own enum, `cargo build`, `run` and `test` therefore fail to compile, although
    /// `cargo check` reports nothing. Write values of the enum instead.
    pub fn typed<U: TableEntity>(&self) -> TableClient<U>
    where
        E: TableEntity,
    {
        const {
            assert!(
                !is_among(U::SCHEMA, E::VARIANTS),
                "`typed` stores no tag and checks no row, and this type is a variant of the table's enum: write values of the \
                 enum; for rows without a tag write `service.table::<V>(name)`"
            );
        }
        TableClient::new(&self.pipeline, self.table.clone())
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
