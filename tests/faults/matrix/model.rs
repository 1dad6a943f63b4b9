//! The expected contents of a table: a plain map, independent of requests.

use std::collections::BTreeMap;

use azure_table::service::StoredAccessPolicy;
use azure_table::{ETag, Error, ErrorKind, TableClient, TableEntity, TableServiceClient};

/// The partition of most rows: a batch can contain any of them.
pub(crate) const PARTITION: &str = "p";
/// The partition of the rows from `6` on, for operations on several partitions.
pub(crate) const OTHER_PARTITION: &str = "q";
/// The rows that are written; each state has some of them.
pub(crate) const ROWS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
/// The rows of the first partition.
pub(crate) const ROWS_OF_BATCH: [&str; 6] = ["0", "1", "2", "3", "4", "5"];

/// Returns the partition of a row.
pub(crate) fn partition_of(row: &str) -> &'static str {
    match row {
        "6" | "7" => OTHER_PARTITION,
        _ => PARTITION,
    }
}

/// Returns the key of a row.
pub(crate) fn key(row: &str) -> (&'static str, String) {
    (partition_of(row), row.to_owned())
}

/// The entity of the matrix. Its column `b` distinguishes a replace from a merge.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    #[table(partition_key)]
    pub(crate) partition: String,
    #[table(row_key)]
    pub(crate) row: String,
    pub(crate) a: i64,
    pub(crate) b: Option<i64>,
}

impl Cell {
    pub(crate) fn new(row: &str, a: i64, b: Option<i64>) -> Self {
        let (partition, row) = (partition_of(row).to_owned(), row.to_owned());
        Self { partition, row, a, b }
    }
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) a: i64,
    pub(crate) b: Option<i64>,
    /// `None`: written by the current operation, so it differs from the version before.
    pub(crate) etag: Option<ETag>,
}

/// The part of a service that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The rows of the table `Things`.
    Rows,
    /// The names of the tables.
    Tables,
    /// The tables, and their rows except in `Things`.
    Contents,
    /// The access policies of the table `Things`.
    Policies,
    /// The service's properties.
    Properties,
}

/// All that the operations read and write.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) rows: BTreeMap<String, Stored>,
    /// Each table with the keys of its rows, if they matter.
    pub(crate) tables: BTreeMap<String, Vec<String>>,
    pub(crate) policies: Vec<StoredAccessPolicy>,
    /// The days for which hourly metrics are kept.
    pub(crate) retention_days: Option<u32>,
}

/// The condition of a write on the stored row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Demand {
    Exists,
    Version(ETag),
}

/// One write of one row.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Insert(Cell),
    Replace(Cell, Demand),
    Merge(Cell, Demand),
    InsertOrReplace(Cell),
    InsertOrMerge(Cell),
    Delete(String, Demand),
    /// Column `a` of a row.
    Patch(String, i64, Demand),
}

impl State {
    /// Reads the state again, by a client without faults.
    pub(crate) async fn read(&mut self, subject: Subject, service: &TableServiceClient) -> Result<(), Error> {
        let things = service.table::<Cell>("Things")?;
        match subject {
            Subject::Rows => self.rows = rows(&things).await?,
            Subject::Policies => self.policies = things.access_policies().await?,
            Subject::Properties => {
                let metrics = service.properties().await?.hour_metrics;
                self.retention_days = metrics.and_then(|metrics| metrics.retention_days);
            }
            Subject::Tables | Subject::Contents => {
                self.tables.clear();
                for name in service.list_tables().await? {
                    let keys = match subject {
                        Subject::Contents if name != "Things" => {
                            rows(&service.table(&name)?).await?.into_keys().collect()
                        }
                        _ => Vec::new(),
                    };
                    self.tables.insert(name, keys);
                }
            }
        }
        Ok(())
    }

    /// Returns this state with the second partition of another one.
    pub(crate) fn with_other_partition_of(&self, other: &Self) -> Self {
        let is_other = |row: &str| partition_of(row) == OTHER_PARTITION;
        let first = self.rows.iter().filter(|(row, _)| !is_other(row));
        let second = other.rows.iter().filter(|(row, _)| is_other(row));
        let rows = first.chain(second).map(|(row, stored)| (row.clone(), stored.clone()));
        Self {
            rows: rows.collect(),
            ..Self::default()
        }
    }

    /// Returns the state of one row.
    pub(crate) fn only(&self, row: &str) -> Self {
        let rows = self.rows.get_key_value(row);
        Self {
            rows: rows
                .into_iter()
                .map(|(row, stored)| (row.clone(), stored.clone()))
                .collect(),
            ..Self::default()
        }
    }

    fn met(&self, row: &str, demand: &Demand) -> Result<&Stored, ErrorKind> {
        let stored = self.rows.get(row).ok_or(ErrorKind::NotFound)?;
        match demand {
            Demand::Version(etag) if stored.etag.as_ref() != Some(etag) => Err(ErrorKind::ConditionNotMet),
            _ => Ok(stored),
        }
    }

    /// A row that was written, with its ETag.
    pub(crate) fn put(&mut self, cell: &Cell, etag: ETag) {
        let (a, b, etag) = (cell.a, cell.b, Some(etag));
        self.rows.insert(cell.row.clone(), Stored { a, b, etag });
    }

    fn set(&mut self, row: &str, a: i64, b: Option<i64>) {
        self.rows.insert(row.to_owned(), Stored { a, b, etag: None });
    }

    /// Returns the state after a write, or why the write is invalid.
    pub(crate) fn write(&mut self, write: &Write) -> Result<(), ErrorKind> {
        match write {
            Write::Insert(cell) if self.rows.contains_key(&cell.row) => return Err(ErrorKind::AlreadyExists),
            Write::Insert(cell) | Write::InsertOrReplace(cell) => self.set(&cell.row, cell.a, cell.b),
            Write::Replace(cell, demand) => {
                self.met(&cell.row, demand)?;
                self.set(&cell.row, cell.a, cell.b);
            }
            Write::Merge(cell, demand) => {
                let b = cell.b.or(self.met(&cell.row, demand)?.b);
                self.set(&cell.row, cell.a, b);
            }
            Write::InsertOrMerge(cell) => {
                let b = cell.b.or(self.rows.get(&cell.row).and_then(|stored| stored.b));
                self.set(&cell.row, cell.a, b);
            }
            Write::Delete(row, demand) => {
                self.met(row, demand)?;
                self.rows.remove(row);
            }
            Write::Patch(row, a, demand) => {
                let b = self.met(row, demand)?.b;
                self.set(row, *a, b);
            }
        }
        Ok(())
    }

    /// Checks that `found` is this state, which followed `before`: a written row has a new version.
    pub(crate) fn is(&self, found: &Self, before: &Self) -> bool {
        (&self.tables, &self.policies, self.retention_days) == (&found.tables, &found.policies, found.retention_days)
            && self.rows.len() == found.rows.len()
            && self.rows.iter().all(|(row, expected)| {
                found.rows.get(row).is_some_and(|found| {
                    let version = match &expected.etag {
                        Some(etag) => found.etag.as_ref() == Some(etag),
                        None => before.rows.get(row).is_none_or(|before| before.etag != found.etag),
                    };
                    (found.a, found.b) == (expected.a, expected.b) && version
                })
            })
    }
}

async fn rows(table: &TableClient<Cell>) -> Result<BTreeMap<String, Stored>, Error> {
    let rows = table.query().versioned().all().await?.into_iter().map(|row| {
        let stored = Stored {
            a: row.entity.a,
            b: row.entity.b,
            etag: Some(row.etag),
        };
        (row.entity.row, stored)
    });
    Ok(rows.collect())
}

impl Write {
    pub(crate) fn row(&self) -> &str {
        match self {
            Self::Insert(cell) | Self::InsertOrReplace(cell) | Self::InsertOrMerge(cell) => &cell.row,
            Self::Replace(cell, _) | Self::Merge(cell, _) => &cell.row,
            Self::Delete(row, _) | Self::Patch(row, ..) => row,
        }
    }

    /// Returns `true` if applying it twice has the same effect as once, and succeeds both times.
    pub(crate) fn is_repeatable(&self) -> bool {
        match self {
            Self::InsertOrReplace(_) | Self::InsertOrMerge(_) => true,
            Self::Replace(_, demand) | Self::Merge(_, demand) | Self::Patch(_, _, demand) => *demand == Demand::Exists,
            Self::Insert(_) | Self::Delete(..) => false,
        }
    }
}
