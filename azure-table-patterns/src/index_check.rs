//! Checks stored index rows against their entities, and repairs them.

use std::collections::BTreeMap;
use std::fmt;

use azure_table::index::{INDEX_PREFIX, IndexedEntity};
use azure_table::{DynamicEntity, Error, ReadEntity, Result, TableOperation, Versioned};

use super::conflict::{CONFLICTS, Rounds, concerns_row, more_serious, was_unchanged};
use super::index_build::from_stored;
use super::indexed::{Holder, Indexed, index_of, rows_of};

/// An index row that disagrees with the entities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IndexFault {
    /// An entity has no row in an index. If the index is unique, another entity may have its value.
    Missing {
        /// The PartitionKey of both.
        partition_key: String,
        /// The RowKey of the entity.
        row_key: String,
        /// The RowKey of the index row.
        index_row: String,
    },
    /// An index row belongs to no entity, or to an entity with other fields.
    Dangling {
        /// Its PartitionKey.
        partition_key: String,
        /// The RowKey of the index row.
        index_row: String,
    },
    /// An index row of an entity cannot be stored.
    Unindexable {
        /// The PartitionKey of the entity.
        partition_key: String,
        /// The RowKey of the entity.
        row_key: String,
        /// The reason, such as a RowKey that would be too long.
        why: String,
    },
    /// A covering index row has other values than its entity.
    Stale {
        /// The PartitionKey of both.
        partition_key: String,
        /// The RowKey of the entity.
        row_key: String,
        /// The RowKey of the index row.
        index_row: String,
    },
}

impl IndexFault {
    /// Returns the PartitionKey, and the RowKeys of the entity and of the index row; empty if the fault has none.
    fn keys(&self) -> [&str; 3] {
        match self {
            Self::Missing {
                partition_key,
                row_key,
                index_row,
            }
            | Self::Stale {
                partition_key,
                row_key,
                index_row,
            } => [partition_key, row_key, index_row],
            Self::Dangling {
                partition_key,
                index_row,
            } => [partition_key, "", index_row],
            Self::Unindexable {
                partition_key, row_key, ..
            } => [partition_key, row_key, ""],
        }
    }
}

impl fmt::Display for IndexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [partition_key, row_key, index_row] = self.keys();
        let entity = format!("({partition_key:?}, {row_key:?})");
        match self {
            Self::Missing { .. } => write!(f, "the entity {entity} lacks its index row {index_row:?}"),
            Self::Dangling { .. } => write!(
                f,
                "the index row ({partition_key:?}, {index_row:?}) has no entity with these fields"
            ),
            Self::Unindexable { why, .. } => write!(f, "the entity {entity} cannot be indexed: {why}"),
            Self::Stale { .. } => write!(
                f,
                "the index row {index_row:?} of {entity} has other values than its entity"
            ),
        }
    }
}

/// The result of [`Indexed::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexFaults {
    /// The number of entities that were read.
    pub entities: u64,
    /// The number of index rows that were read.
    pub index_rows: u64,
    /// The faults, in the order of their partitions.
    pub faults: Vec<IndexFault>,
}

impl IndexFaults {
    /// Returns an error that names the first fault, if any.
    ///
    /// # Errors
    /// - [`Other`](azure_table::ErrorKind::Other): an index row disagrees with the entities.
    pub fn ensure_none(self) -> Result<Self> {
        match self.faults.first() {
            None => Ok(self),
            Some(first) => Err(Error::other(format!(
                "{} faults of indexes; the first: {first}",
                self.faults.len()
            ))),
        }
    }
}

/// An index row that an entity should have.
struct Expected {
    /// The RowKey of the entity.
    row_key: String,
    is_unique: bool,
    row: DynamicEntity,
}

/// The rows of a fault that a second read confirms.
enum Confirmed {
    /// The entity that lacks its index row.
    Lacking(Versioned<DynamicEntity>),
    /// The index row.
    Dangling(Versioned<DynamicEntity>),
    Unindexable,
}

/// The rows of a partition, as far as they were read.
#[derive(Default)]
struct Partition {
    key: String,
    /// The index rows that should be stored, by their RowKeys: two entities may have one unique value.
    expected: BTreeMap<String, Vec<Expected>>,
    stored: BTreeMap<String, DynamicEntity>,
    unindexable: Vec<IndexFault>,
}

impl Partition {
    fn faults(mut self) -> Vec<IndexFault> {
        let mut faults = self.unindexable;
        let dangling = |index_row| IndexFault::Dangling {
            partition_key: self.key.clone(),
            index_row,
        };
        for (index_row, entities) in self.expected {
            let stored = self.stored.remove(&index_row);
            // Without the values of its entity, a unique row belongs to another, and any other row is stale.
            let is_stale = |entity: &Expected| stored.is_some() && !entity.is_unique;
            let is_right = |entity: &Expected| stored.as_ref().is_some_and(|stored| has_values(stored, &entity.row));
            let dangles = stored.is_some() && !entities.iter().any(|entity| is_stale(entity) || is_right(entity));
            for entity in entities.into_iter().filter(|entity| !is_right(entity)) {
                let is_stale = is_stale(&entity);
                let (partition_key, row_key, index_row) = (self.key.clone(), entity.row_key, index_row.clone());
                faults.push(match is_stale {
                    true => IndexFault::Stale {
                        partition_key,
                        row_key,
                        index_row,
                    },
                    false => IndexFault::Missing {
                        partition_key,
                        row_key,
                        index_row,
                    },
                });
            }
            faults.extend(dangles.then(|| dangling(index_row)));
        }
        faults.extend(self.stored.into_keys().map(dangling));
        faults
    }
}

/// Returns `true` if an index row has the properties that it should have. Their texts are compared, because NaN differs
/// from itself.
fn has_values(stored: &DynamicEntity, expected: &DynamicEntity) -> bool {
    format!("{:?}", stored.properties) == format!("{:?}", expected.properties)
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Reads the whole table, and returns the index rows that disagree with the entities.
    ///
    /// It can run while others write, because it reads each fault again before it reports it. It keeps the rows of one
    /// partition in memory at a time.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): 16 other writes of an entity or a row came first.
    /// - The errors of [`TableQuery`](azure_table::TableQuery), for example if a row is not an `E`.
    pub async fn verify(&self) -> Result<IndexFaults> {
        let mut found = IndexFaults::default();
        let mut partition = Partition::default();
        let mut rows = self.table.typed::<DynamicEntity>().query().allow_table_scan().stream();
        while let Some(row) = rows.try_next().await? {
            if row.partition_key != partition.key {
                let done = std::mem::take(&mut partition);
                self.confirm(done, &mut found).await?;
                partition.key.clone_from(&row.partition_key);
            }
            if !row.row_key.starts_with(INDEX_PREFIX) {
                found.entities += 1;
                for expected in self.expected(&row)? {
                    match expected {
                        Ok(expected) => {
                            let entities = partition.expected.entry(expected.row.row_key.clone()).or_default();
                            entities.push(expected);
                        }
                        Err(e) => partition.unindexable.push(IndexFault::Unindexable {
                            partition_key: row.partition_key.clone(),
                            row_key: row.row_key.clone(),
                            why: e.to_string(),
                        }),
                    }
                }
            } else if index_of(&row.row_key, E::INDEXES).is_some() {
                found.index_rows += 1;
                partition.stored.insert(row.row_key.clone(), row);
            }
        }
        self.confirm(partition, &mut found).await?;
        Ok(found)
    }

    /// Writes missing and stale index rows, and deletes dangling ones. Returns the number of repaired rows.
    ///
    /// It can run while others write, and in any release: it changes no property of an entity, and covering rows get
    /// the properties as they are stored. A row for a `unique` value that another entity has stays missing.
    ///
    /// If a row fails, for example with `Rejected`, it repairs the others, and returns the first such error at the end.
    /// An error in doubt takes precedence, also over one that ends the call early. If any row was repaired, the error is
    /// [`InDoubt`](azure_table::ErrorKind::InDoubt). Repaired rows stay. Then call [`verify`](Self::verify) again.
    ///
    /// On Cosmos DB, call it while no entities are inserted, unless the account's consistency level is Strong:
    /// otherwise a read may miss a new entity, and its row would be deleted as dangling.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): 16 other writes of an entity or a row came first.
    /// - The errors of [`TableQuery`](azure_table::TableQuery) and of batches.
    pub async fn repair(&self, found: &IndexFaults) -> Result<u64> {
        let (mut repaired, mut failed) = (0, None::<Error>);
        for fault in &found.faults {
            match self.repair_one(fault).await {
                Ok(is_repaired) => repaired += u64::from(is_repaired),
                Err(e) => {
                    let is_over = !concerns_row(&e);
                    failed = Some(more_serious(
                        failed.filter(|first| first.may_have_applied() || !is_over),
                        e,
                    ));
                    if is_over {
                        break;
                    }
                }
            }
        }
        failed.map_or(Ok(repaired), |e| Err(e.after_writes(repaired > 0)))
    }

    /// Returns `true` if the fault was repaired.
    async fn repair_one(&self, fault: &IndexFault) -> Result<bool> {
        let [_, _, index_row] = fault.keys();
        match self.confirmed(fault).await? {
            Some(Confirmed::Lacking(entity)) => {
                let row_named = |entity: &E| Ok(rows_of(entity).into_iter().find(|write| write.row_key == index_row));
                let mut has_written = false;
                let written = self.write_row(entity, row_named, &mut has_written).await;
                written.map(|_| has_written).map_err(|e| e.after_writes(has_written))
            }
            Some(Confirmed::Dangling(row)) => self.drop_dangling(row).await,
            Some(Confirmed::Unindexable) | None => Ok(false),
        }
    }

    /// Adds the faults of a partition that a second read confirms.
    async fn confirm(&self, partition: Partition, found: &mut IndexFaults) -> Result<()> {
        for fault in partition.faults() {
            if self.confirmed(&fault).await?.is_some() {
                found.faults.push(fault);
            }
        }
        Ok(())
    }

    /// Reads the rows of a fault again. Returns `None` if it is gone.
    async fn confirmed(&self, fault: &IndexFault) -> Result<Option<Confirmed>> {
        let [partition_key, row_key, index_row] = fault.keys();
        Ok(match fault {
            IndexFault::Missing { .. } | IndexFault::Stale { .. } => {
                let entity = self.lacking(partition_key, row_key, index_row).await?;
                entity.map(Confirmed::Lacking)
            }
            IndexFault::Dangling { .. } => match self.holder(partition_key, index_row).await? {
                Holder::Nobody(row) => Some(Confirmed::Dangling(row)),
                _ => None,
            },
            IndexFault::Unindexable { why, .. } => {
                let entity = self.stored_row(partition_key, row_key).await?;
                let rows = entity.map(|entity| self.expected(&entity)).transpose()?;
                let mut errors = rows.into_iter().flatten().filter_map(Result::err);
                errors
                    .any(|error| error.to_string() == *why)
                    .then_some(Confirmed::Unindexable)
            }
        })
    }

    /// Returns the entity if it should have this index row, and the stored row is missing or different.
    async fn lacking(
        &self,
        partition_key: &str,
        row_key: &str,
        index_row: &str,
    ) -> Result<Option<Versioned<DynamicEntity>>> {
        let mut rounds = Rounds::new(CONFLICTS);
        loop {
            rounds.next(&row_key).await?;
            let Some(entity) = self.stored_row(partition_key, row_key).await? else {
                return Ok(None);
            };
            let stored = self.stored_row(partition_key, index_row).await?;
            let after = self.stored_row(partition_key, row_key).await?;
            if after.is_some_and(|after| after.etag == entity.etag) {
                let mut expected = self.expected(&entity)?.into_iter().flatten();
                let expected = expected.find(|expected| expected.row.row_key == index_row);
                let is_right = |row: DynamicEntity| stored.is_some_and(|stored| has_values(&stored, &row));
                let lacks = expected.is_some_and(|expected| !is_right(expected.row));
                return Ok(lacks.then_some(entity));
            }
        }
    }

    /// Returns the index rows that a stored entity should have, or an error for a row that cannot be stored.
    fn expected(&self, stored: &DynamicEntity) -> Result<Vec<Result<Expected>>> {
        let rows = stored.to_entity::<E>()?.index_rows().into_iter();
        let rows = rows.map(|write| {
            let write = from_stored(write?, stored);
            let row = write.write.entity().unwrap_or_default();
            let _ = self.with_entity(stored, write.write)?;
            Ok(Expected {
                row_key: stored.row_key.clone(),
                is_unique: write.index.is_unique,
                row,
            })
        });
        Ok(rows.collect())
    }

    /// Deletes an index row that no entity should have. If reads may lag, the entity that it names is merged unchanged
    /// in the transaction, so that the row of a newer version stays.
    async fn drop_dangling(&self, row: Versioned<DynamicEntity>) -> Result<bool> {
        if let Some(key) = self.owner_key(&row).filter(|_| self.reads_may_lag())
            && let Some(entity) = self.stored_row(key.partition_key(), key.row_key()).await?
        {
            if rows_of(&entity.to_entity::<E>()?)
                .iter()
                .any(|write| write.row_key == row.row_key)
            {
                return Ok(false);
            }
            let delete = TableOperation::delete::<DynamicEntity>(&row);
            return Ok(was_unchanged(self.with_entity(&entity, delete)?.submit().await)?.is_some());
        }
        self.drop_row(&row).await
    }
}
