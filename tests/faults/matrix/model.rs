//! What a table should hold: a plain map, which knows nothing of requests.

use std::collections::{BTreeMap, BTreeSet};

use azure_table::{ETag, Error, ErrorKind, TableClient, TableEntity, TableServiceClient};

/// All rows are in one partition, so that a batch can take any of them.
pub(crate) const PARTITION: &str = "p";

/// The entity of the matrix: with `b` a replace differs from a merge.
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
        let (partition, row) = (PARTITION.to_owned(), row.to_owned());
        Self { partition, row, a, b }
    }
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) a: i64,
    pub(crate) b: Option<i64>,
    /// `None`: written by the operation that is judged, so another one than before.
    pub(crate) etag: Option<ETag>,
}

/// Rows and access policies of the table `Things`, and all tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) rows: BTreeMap<String, Stored>,
    pub(crate) tables: BTreeSet<String>,
    /// The ids of the table's stored access policies.
    pub(crate) policies: Vec<String>,
}

/// What a write demands of the stored row.
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
    /// Reads the rows, by a client without faults.
    pub(crate) async fn read_rows(&mut self, table: &TableClient<Cell>) -> Result<(), Error> {
        let rows = table.query().versioned().all().await?.into_iter().map(|row| {
            let stored = Stored {
                a: row.entity.a,
                b: row.entity.b,
                etag: Some(row.etag),
            };
            (row.entity.row, stored)
        });
        self.rows = rows.collect();
        Ok(())
    }

    /// Reads the names of the tables.
    pub(crate) async fn read_tables(&mut self, service: &TableServiceClient) -> Result<(), Error> {
        self.tables = service.list_tables().await?.into_iter().collect();
        Ok(())
    }

    /// Reads the ids of the access policies.
    pub(crate) async fn read_policies(&mut self, table: &TableClient<Cell>) -> Result<(), Error> {
        let policies = table.access_policies().await?;
        self.policies = policies.into_iter().map(|policy| policy.id).collect();
        Ok(())
    }

    fn met(&self, row: &str, demand: &Demand) -> Result<&Stored, ErrorKind> {
        let stored = self.rows.get(row).ok_or(ErrorKind::NotFound)?;
        match demand {
            Demand::Version(etag) if stored.etag.as_ref() != Some(etag) => Err(ErrorKind::ConditionNotMet),
            _ => Ok(stored),
        }
    }

    fn put(&mut self, row: &str, a: i64, b: Option<i64>) {
        self.rows.insert(row.to_owned(), Stored { a, b, etag: None });
    }

    /// The state after a write, or what is wrong with it.
    pub(crate) fn write(&mut self, write: &Write) -> Result<(), ErrorKind> {
        match write {
            Write::Insert(cell) if self.rows.contains_key(&cell.row) => return Err(ErrorKind::AlreadyExists),
            Write::Insert(cell) | Write::InsertOrReplace(cell) => self.put(&cell.row, cell.a, cell.b),
            Write::Replace(cell, demand) => {
                self.met(&cell.row, demand)?;
                self.put(&cell.row, cell.a, cell.b);
            }
            Write::Merge(cell, demand) => {
                let b = cell.b.or(self.met(&cell.row, demand)?.b);
                self.put(&cell.row, cell.a, b);
            }
            Write::InsertOrMerge(cell) => {
                let b = cell.b.or(self.rows.get(&cell.row).and_then(|stored| stored.b));
                self.put(&cell.row, cell.a, b);
            }
            Write::Delete(row, demand) => {
                self.met(row, demand)?;
                self.rows.remove(row);
            }
            Write::Patch(row, a, demand) => {
                let b = self.met(row, demand)?.b;
                self.put(row, *a, b);
            }
        }
        Ok(())
    }

    /// Whether `found` is this state, which came of `before`: a row that was written has another version than before.
    pub(crate) fn is(&self, found: &Self, before: &Self) -> bool {
        (&self.tables, &self.policies) == (&found.tables, &found.policies)
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

impl Write {
    pub(crate) fn row(&self) -> &str {
        match self {
            Self::Insert(cell) | Self::InsertOrReplace(cell) | Self::InsertOrMerge(cell) => &cell.row,
            Self::Replace(cell, _) | Self::Merge(cell, _) => &cell.row,
            Self::Delete(row, _) | Self::Patch(row, ..) => row,
        }
    }

    /// Whether applying it twice in a row leaves what applying it once leaves, and succeeds both times.
    pub(crate) fn is_repeatable(&self) -> bool {
        match self {
            Self::InsertOrReplace(_) | Self::InsertOrMerge(_) => true,
            Self::Replace(_, demand) | Self::Merge(_, demand) | Self::Patch(_, _, demand) => *demand == Demand::Exists,
            Self::Insert(_) | Self::Delete(..) => false,
        }
    }
}
