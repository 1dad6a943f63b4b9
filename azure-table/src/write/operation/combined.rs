//! Two operations on one entity as one, since a batch has at most one per entity.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::etag::Condition;

use crate::write::operation::TableOperation;

impl TableOperation {
    /// Combines the operation with a later one on the same entity. Returns `None` if they cancel out.
    ///
    /// A `TableBatch` has at most one operation per entity. A program that records the changes of
    /// a unit of work combines each entity's operations before it sends them:
    ///
    /// | first \ next | insert | replace | delete | insert or merge | insert or replace |
    /// |---|---|---|---|---|---|
    /// | insert | | insert | `None` | | |
    /// | replace | | replace | delete | | |
    /// | delete | replace | | | | |
    /// | insert or merge | | | | both merged | |
    /// | insert or replace | | | | | insert or replace |
    ///
    /// The result has the content of the next operation and the ETag of the first. An insert and a delete that cancel
    /// out do not check that the key is free.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the pair has no entry in the
    ///   table, the keys differ, or the next operation requires an ETag that the first does not.
    /// - The error of an operation that could not be encoded.
    ///
    /// ```
    /// use azure_table::operation::OperationKind;
    /// use azure_table::{DynamicEntity, TableOperation};
    ///
    /// let mut invoice = DynamicEntity::new("orders", "INV-1");
    /// let insert = TableOperation::insert(&invoice);
    /// invoice.insert("Total", 9.5);
    /// let replace = TableOperation::replace(&invoice).unconditionally();
    ///
    /// let both = insert.then(replace)?.expect("the row remains");
    /// assert_eq!(both.kind(), OperationKind::Insert);
    /// assert_eq!(both.entity(), Some(invoice));
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    pub fn then(self, next: Self) -> Result<Option<Self>> {
        use OperationKind::{Delete, Insert, InsertOrMerge, InsertOrReplace, Replace};

        let rejected = |why: &str| Error::invalid_input(format!("{self} cannot be followed by {next}: {why}"));
        let kind = match (self.kind, next.kind) {
            (Insert, Replace) => Some(Insert),
            (Insert, Delete) => None,
            (Replace, Replace) | (Delete, Insert) => Some(Replace),
            (Replace, Delete) => Some(Delete),
            (InsertOrMerge, InsertOrMerge) => Some(InsertOrMerge),
            (InsertOrReplace, InsertOrReplace) => Some(InsertOrReplace),
            _ => return Err(rejected("send them in two batches")),
        };
        for operation in [&self, &next] {
            operation.encoded.as_ref().map_err(Error::copy)?;
        }
        if self.keys() != next.keys() {
            return Err(rejected("the keys differ"));
        }
        if next
            .if_match_etag()
            .is_some_and(|etag| self.if_match_etag() != Some(etag))
        {
            return Err(rejected("it requires another ETag than the first"));
        }
        let merged = match kind {
            Some(InsertOrMerge) => {
                let unread = || rejected("their properties cannot be read back");
                let (first, mut merged) = (self.entity().ok_or_else(unread)?, next.entity().ok_or_else(unread)?);
                merged.properties = first.properties.into_iter().chain(merged.properties).collect();
                Some(merged)
            }
            _ => None,
        };
        let Self { encoded: first, .. } = self;
        let condition = first?.condition().clone();
        let mut encoded = next.encoded?;
        let Some(kind) = kind else { return Ok(None) };
        if let Some(merged) = merged {
            let more = encoded.extras.take();
            encoded = Self::with_body(kind, &merged).encoded?;
            if let Some(mut more) = more {
                more.rare.exceeds = encoded.extras.and_then(|extras| extras.rare.exceeds);
                encoded.extras = Some(more);
            }
        }
        let is_default = condition == Condition::Exists && encoded.extras.is_none();
        if !is_default {
            let more = encoded.extras.get_or_insert_default();
            more.condition = condition;
            more.is_echoed &= kind == Insert;
        }
        Ok(Some(Self::new(kind, Ok(encoded))))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::account::profile::Profile;
    use azure_table_wire::value::edm::EdmValue;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;

    fn merge(name: &str, value: impl Into<EdmValue>) -> TableOperation {
        let mut entity = DynamicEntity::new("p", "r");
        entity.insert(name, value.into());
        TableOperation::insert_or_merge(&entity)
    }

    /// serde_json reads a double as a map with its feature `arbitrary_precision`.
    #[test]
    fn doubles_of_both_are_merged() {
        let both = merge("A", 0.5).then(merge("B", 1e300)).unwrap().unwrap();
        let properties = both.entity().unwrap().properties;
        assert_eq!(
            properties.into_iter().collect::<Vec<_>>(),
            [("A".into(), 0.5.into()), ("B".into(), 1e300.into())]
        );
    }

    #[test]
    fn two_that_exceed_the_size_of_an_entity_together_are_rejected_before_they_are_sent() {
        let texts = |range: std::ops::Range<u32>| {
            let mut entity = DynamicEntity::new("p", "r");
            range.for_each(|n| _ = entity.insert(format!("T{n}"), "x".repeat(30_000)));
            TableOperation::insert_or_merge(&entity)
        };
        let both = |next: TableOperation| texts(0..10).then(next).unwrap().unwrap().check_for(Profile::Storage);
        assert!(both(texts(5..15)).is_ok());
        for next in [texts(10..20), texts(10..20).known_by_write_id()] {
            let error = both(next).unwrap_err();
            assert!(error.to_string().contains("more than the limit of 1048576"), "{error}");
        }
    }
}
