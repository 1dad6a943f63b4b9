//! The check of stored index rows against their entities, and the repair.

use std::collections::BTreeMap;
use std::fmt;

use azure_table::index::{INDEX_PREFIX, IndexWrite, IndexedEntity};
use azure_table::{DynamicEntity, EdmValue, Error, Key, ReadEntity, Result, TableOperation, Versioned};

use super::conflict::{CONFLICTS, was_unchanged};
use super::index_build::{RowWrite, with_undeclared};
use super::indexed::{Holder, Indexed, contended, owner, rows_of};

/// An index row that disagrees with the entities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IndexFault {
    /// An entity has no row in an index. In a unique one, another entity may have its value.
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
    /// An index row with its entity's properties has other values.
    Stale {
        /// The PartitionKey of both.
        partition_key: String,
        /// The RowKey of the entity.
        row_key: String,
        /// The RowKey of the index row.
        index_row: String,
    },
}

impl fmt::Display for IndexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing {
                partition_key,
                row_key,
                index_row,
            } => {
                write!(
                    f,
                    "the entity ({partition_key:?}, {row_key:?}) lacks its index row {index_row:?}"
                )
            }
            Self::Dangling {
                partition_key,
                index_row,
            } => {
                write!(
                    f,
                    "the index row ({partition_key:?}, {index_row:?}) has no entity with these fields"
                )
            }
            Self::Unindexable {
                partition_key,
                row_key,
                why,
            } => write!(
                f,
                "the entity ({partition_key:?}, {row_key:?}) cannot be indexed: {why}"
            ),
            Self::Stale {
                partition_key,
                row_key,
                index_row,
            } => {
                write!(
                    f,
                    "the index row {index_row:?} of ({partition_key:?}, {row_key:?}) has other values than its entity"
                )
            }
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
    /// Returns an error that names the first fault, if there is one.
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

/// The rows of a partition, as far as they were read.
#[derive(Default)]
struct Partition {
    key: String,
    /// The index rows that should be stored, with the RowKeys of their entities: two may have one unique value.
    expected: BTreeMap<String, Vec<(String, IndexWrite)>>,
    stored: BTreeMap<String, DynamicEntity>,
    unindexable: Vec<IndexFault>,
}

impl Partition {
    fn faults(self) -> Vec<IndexFault> {
        let mut faults = self.unindexable;
        for (index_row, entities) in &self.expected {
            let stored = self.stored.get(index_row);
            for (row_key, write) in entities {
                let (partition_key, row_key, index_row) = (self.key.clone(), row_key.clone(), index_row.clone());
                match stored {
                    Some(stored) if has_values(stored, write) => {}
                    Some(_) if !write.index.is_unique => faults.push(IndexFault::Stale {
                        partition_key,
                        row_key,
                        index_row,
                    }),
                    _ => faults.push(IndexFault::Missing {
                        partition_key,
                        row_key,
                        index_row,
                    }),
                }
            }
        }
        for (index_row, stored) in &self.stored {
            let entities = self.expected.get(index_row);
            if !entities.is_some_and(|entities| entities.iter().any(|(_, write)| has_values(stored, write))) {
                // One that an entity should have is stale, or belongs to another entity.
                let is_stale =
                    entities.is_some_and(|entities| entities.iter().any(|(_, write)| !write.index.is_unique));
                if !is_stale {
                    faults.push(IndexFault::Dangling {
                        partition_key: self.key.clone(),
                        index_row: index_row.clone(),
                    });
                }
            }
        }
        faults
    }
}

/// Returns `true` if a stored index row has the values of its write, and no others.
fn has_values(stored: &DynamicEntity, write: &IndexWrite) -> bool {
    let is_same = |one: &EdmValue, other: &EdmValue| match (one, other) {
        (EdmValue::Double(one), EdmValue::Double(other)) => one.to_bits() == other.to_bits() || one == other,
        _ => one == other,
    };
    write.write.entity().is_some_and(|expected| {
        let mut properties = expected.properties.iter();
        expected.properties.len() == stored.properties.len()
            && properties.all(|(name, value)| stored.get(name).is_some_and(|stored| is_same(stored, value)))
    })
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Reads the whole table, and returns the index rows that disagree with the entities.
    ///
    /// It can run while others write: each fault is read again before it is reported. The rows of one partition are
    /// kept in memory at a time.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): 16 other writes of an entity or a row came first.
    /// - The errors of [`TableQuery`](azure_table::TableQuery). A row that is not an `E` is one.
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
                let entity = row.to_entity::<E>()?;
                for write in entity.index_rows() {
                    match write {
                        Ok(write) => {
                            let write = as_stored(write, &entity, &row);
                            let entities = partition.expected.entry(write.row_key.clone()).or_default();
                            entities.push((row.row_key.clone(), write));
                        }
                        Err(e) => partition.unindexable.push(IndexFault::Unindexable {
                            partition_key: row.partition_key.clone(),
                            row_key: row.row_key.clone(),
                            why: e.to_string(),
                        }),
                    }
                }
            } else if owner(&row, E::INDEXES).is_some() {
                found.index_rows += 1;
                partition.stored.insert(row.row_key.clone(), row);
            }
        }
        self.confirm(partition, &mut found).await?;
        Ok(found)
    }

    /// Writes the index rows that are missing or stale, and deletes those that dangle. Returns their number.
    ///
    /// It can run while others write, and in any release: rows that cover entities get the properties that the struct
    /// does not declare too. A missing row of a unique index whose value another entity has stays missing.
    ///
    /// On Cosmos DB, call it while no entities are inserted, unless the account's consistency level is Strong:
    /// otherwise a read may miss a new entity, and its row would be deleted as dangling.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): 16 other writes of an entity or a row came first.
    /// - The errors of [`TableQuery`](azure_table::TableQuery) and of batches.
    pub async fn repair(&self, found: &IndexFaults) -> Result<u64> {
        let mut repaired = 0;
        for fault in &found.faults {
            repaired += u64::from(match fault {
                IndexFault::Missing {
                    partition_key,
                    row_key,
                    index_row,
                }
                | IndexFault::Stale {
                    partition_key,
                    row_key,
                    index_row,
                } => match self.lacking(partition_key, row_key, index_row).await? {
                    None => false,
                    Some(entity) => {
                        let written = self
                            .write_row(entity, |entity| Ok(row_named(entity, index_row)))
                            .await?;
                        written == RowWrite::Written
                    }
                },
                IndexFault::Dangling {
                    partition_key,
                    index_row,
                } => match self.holder(partition_key, index_row).await? {
                    Holder::Nobody(row) => self.drop_dangling(row).await?,
                    _ => false,
                },
                IndexFault::Unindexable { .. } => false,
            });
        }
        Ok(repaired)
    }

    /// Adds the faults of a partition that a second read confirms.
    async fn confirm(&self, partition: Partition, found: &mut IndexFaults) -> Result<()> {
        for fault in partition.faults() {
            let is_still = match &fault {
                IndexFault::Missing {
                    partition_key,
                    row_key,
                    index_row,
                }
                | IndexFault::Stale {
                    partition_key,
                    row_key,
                    index_row,
                } => self.lacking(partition_key, row_key, index_row).await?.is_some(),
                IndexFault::Dangling {
                    partition_key,
                    index_row,
                } => matches!(self.holder(partition_key, index_row).await?, Holder::Nobody(_)),
                IndexFault::Unindexable {
                    partition_key,
                    row_key,
                    why,
                } => {
                    let key = Key::<E>::from_text(partition_key, row_key)?;
                    let rows = self.table.get(key).await?.map(|entity| entity.index_rows());
                    let mut errors = rows.into_iter().flatten().filter_map(Result::err);
                    errors.any(|error| error.to_string() == *why)
                }
            };
            if is_still {
                found.faults.push(fault);
            }
        }
        Ok(())
    }

    /// Reads the entity after its index row, and returns it if it should have that row and the row is not stored so.
    async fn lacking(
        &self,
        partition_key: &str,
        row_key: &str,
        index_row: &str,
    ) -> Result<Option<Versioned<DynamicEntity>>> {
        for _ in 0..=CONFLICTS {
            let Some(entity) = self.stored_row(partition_key, row_key).await? else {
                return Ok(None);
            };
            let stored = self.stored_row(partition_key, index_row).await?;
            let after = self.stored_row(partition_key, row_key).await?;
            if after.is_some_and(|after| after.etag == entity.etag) {
                let typed: E = entity.to_entity()?;
                let write = row_named(&typed, index_row).map(|write| as_stored(write, &typed, &entity));
                let lacks = write.is_some_and(|write| stored.is_none_or(|stored| !has_values(&stored, &write)));
                return Ok(lacks.then_some(entity));
            }
        }
        Err(contended(&Key::<E>::from_text(partition_key, row_key)?))
    }

    /// Deletes an index row that no entity should have. If reads may lag, the entity that it names is merged unchanged
    /// in the transaction, so that the row of a newer version stays.
    async fn drop_dangling(&self, row: Versioned<DynamicEntity>) -> Result<bool> {
        let owner = owner(&row, E::INDEXES).filter(|_| self.reads_may_lag());
        if let Some(owner) = owner {
            let key = Key::<E>::from_text(&*row.partition_key, owner)?;
            if let Some(entity) = self.table.get(key).versioned().await? {
                if rows_of(&entity.entity).iter().any(|write| write.row_key == row.row_key) {
                    return Ok(false);
                }
                let mut batch = self.table.batch();
                batch.push(TableOperation::merge(&entity))?;
                let delete = TableOperation::delete::<DynamicEntity>((&row.partition_key, &row.row_key));
                batch.push(delete.if_match(row.etag))?;
                return Ok(was_unchanged(batch.submit().await)?.is_some());
            }
        }
        self.drop_row(&row).await
    }
}

/// Returns the write of the index row of an entity as its last writer has stored both: with its undeclared properties,
/// and without those that a later release has declared.
fn as_stored<E: IndexedEntity>(write: IndexWrite, entity: &E, stored: &DynamicEntity) -> IndexWrite {
    let mut write = with_undeclared(write, entity, stored);
    if let Some(mut row) = write.write.entity().filter(|_| write.index.covers) {
        row.properties.retain(|name, _| stored.properties.contains_key(name));
        write.write = TableOperation::insert_or_replace(&row);
    }
    write
}

/// Returns the write of the index row with this RowKey, if the entity should have it.
fn row_named<E: IndexedEntity>(entity: &E, index_row: &str) -> Option<IndexWrite> {
    rows_of(entity).into_iter().find(|write| write.row_key == index_row)
}
