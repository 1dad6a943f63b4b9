//! Every operation of the client: chosen for a state, run, and what the model says of it.

use std::time::Duration;

use azure_table::testing::RequestKind;
use azure_table::{
    CallOptions, Creation, Deletion, ETag, Error, ErrorKind, OperationContext, StoredAccessPolicy, TableClient,
    TableOperation, TableServiceClient, Versioned,
};

use super::judge::MOST_ATTEMPTS;
use super::model::{Cell, Demand, PARTITION, State, Write};

/// The rows and tables that are written; a state has some of them.
pub(crate) const ROWS: [&str; 6] = ["0", "1", "2", "3", "4", "5"];
pub(crate) const TABLES: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];
/// The kinds of writes of one row.
const WRITES: [Kind; 7] = [
    Kind::Insert,
    Kind::Replace,
    Kind::Merge,
    Kind::InsertOrReplace,
    Kind::InsertOrMerge,
    Kind::Delete,
    Kind::Patch,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Replace,
    Merge,
    InsertOrReplace,
    InsertOrMerge,
    Delete,
    Patch,
    InsertIfAbsent,
    DeleteIfExists,
    Exists,
    Get,
    Query,
    Batch,
    Modify,
    /// Any write or a get, through a batch of its own.
    WriteViaBatch,
    GetViaBatch,
    InsertEcho,
    CreateTable,
    CreateTableIfNotExists,
    DeleteTable,
    DeleteTableIfExists,
    ListTables,
    SetAccessPolicies,
    AccessPolicies,
}

impl Kind {
    pub(crate) const ALL: [Self; 24] = [
        Self::Insert,
        Self::Replace,
        Self::Merge,
        Self::InsertOrReplace,
        Self::InsertOrMerge,
        Self::Delete,
        Self::Patch,
        Self::InsertIfAbsent,
        Self::DeleteIfExists,
        Self::Exists,
        Self::Get,
        Self::Query,
        Self::Batch,
        Self::Modify,
        Self::WriteViaBatch,
        Self::GetViaBatch,
        Self::InsertEcho,
        Self::CreateTable,
        Self::CreateTableIfNotExists,
        Self::DeleteTable,
        Self::DeleteTableIfExists,
        Self::ListTables,
        Self::SetAccessPolicies,
        Self::AccessPolicies,
    ];

    /// What its requests are.
    pub(crate) fn request(self) -> RequestKind {
        match self {
            Self::Insert | Self::InsertIfAbsent | Self::InsertEcho => RequestKind::Insert,
            Self::Replace | Self::Modify => RequestKind::Replace,
            Self::Merge | Self::Patch => RequestKind::Merge,
            Self::InsertOrReplace => RequestKind::InsertOrReplace,
            Self::InsertOrMerge => RequestKind::InsertOrMerge,
            Self::Delete | Self::DeleteIfExists => RequestKind::Delete,
            Self::Get | Self::Exists => RequestKind::Get,
            Self::Query => RequestKind::Query,
            Self::Batch | Self::WriteViaBatch | Self::GetViaBatch => RequestKind::Batch,
            Self::CreateTable | Self::CreateTableIfNotExists => RequestKind::CreateTable,
            Self::DeleteTable | Self::DeleteTableIfExists => RequestKind::DeleteTable,
            Self::ListTables => RequestKind::ListTables,
            Self::SetAccessPolicies | Self::AccessPolicies => RequestKind::Other,
        }
    }

    /// The most calls that it is: pages of two, and one that may be empty; two reads and two writes; a write, and a read that
    /// looks the same after each of its attempts.
    pub(crate) fn pages(self) -> u32 {
        match self {
            Self::Query | Self::Modify => 4,
            Self::ListTables => 3 + 1,
            Self::WriteViaBatch => 1 + MOST_ATTEMPTS,
            _ => 1,
        }
    }

    /// How often it has the time of a call: each page has.
    pub(crate) fn times(self) -> u32 {
        match self {
            Self::Modify | Self::WriteViaBatch => 1,
            _ => self.pages(),
        }
    }

    pub(crate) fn is_of_tables(self) -> bool {
        use Kind::{CreateTable, CreateTableIfNotExists, DeleteTable, DeleteTableIfExists, ListTables};
        matches!(
            self,
            CreateTable | CreateTableIfNotExists | DeleteTable | DeleteTableIfExists | ListTables
        )
    }

    pub(crate) fn is_of_policies(self) -> bool {
        matches!(self, Self::SetAccessPolicies | Self::AccessPolicies)
    }

    /// Whether it mostly needs what is not there yet.
    pub(crate) fn makes(self) -> bool {
        matches!(
            self,
            Self::Insert | Self::InsertIfAbsent | Self::InsertEcho | Self::CreateTable | Self::CreateTableIfNotExists
        )
    }
}

/// How an operation on one row is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Direct,
    ViaBatch,
    /// An insert that gives the row back.
    Echo,
}

/// One operation with all its values.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Write(Write, Way),
    Batch(Vec<Write>),
    /// Gives `a` this value, in a row that is made if there is none.
    Modify(String, i64),
    InsertIfAbsent(Cell),
    DeleteIfExists(String),
    Exists(String),
    Get(String, Way),
    Query,
    CreateTable(String),
    CreateTableIfNotExists(String),
    DeleteTable(String),
    DeleteTableIfExists(String),
    ListTables,
    SetAccessPolicies(Vec<String>),
    AccessPolicies,
}

/// What the client said.
#[derive(Debug)]
pub(crate) enum Outcome {
    Written(Vec<Option<ETag>>),
    Policies(Vec<String>),
    IsThere(bool),
    Row(Option<(Cell, ETag)>),
    Rows(Vec<(Cell, ETag)>),
    Done,
    Created(Creation),
    Deleted(Deletion),
    Tables(Vec<String>),
    Failed(Error),
}

/// One of `all`, mostly one that is there or is not, as the operation wants it.
fn pick(all: &[&str], is_there: impl Fn(&str) -> bool, wanted: bool) -> String {
    let any = *fastrand::choice(all).unwrap();
    let fitting = all.iter().filter(|name| is_there(name) == wanted);
    let fitting = fitting.collect::<Vec<_>>();
    match fastrand::choice(&fitting) {
        Some(fitting) if fastrand::u8(..) < 200 => (**fitting).to_owned(),
        _ => any.to_owned(),
    }
}

fn demand(state: &State, row: &str) -> Demand {
    const STALE: &str = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"";
    let stored = state.rows.get(row).and_then(|stored| stored.etag.clone());
    match (fastrand::u8(..8), stored) {
        (0..3, Some(etag)) => Demand::Version(etag),
        (3, _) => Demand::Version(ETag::new(STALE)),
        _ => Demand::Exists,
    }
}

fn write(kind: Kind, state: &State, row: String, value: i64) -> Write {
    let b = fastrand::bool().then_some(value);
    let cell = Cell::new(&row, value, b);
    match kind {
        Kind::Insert => Write::Insert(cell),
        Kind::Replace => Write::Replace(cell, demand(state, &row)),
        Kind::Merge => Write::Merge(cell, demand(state, &row)),
        Kind::InsertOrReplace => Write::InsertOrReplace(cell),
        Kind::InsertOrMerge => Write::InsertOrMerge(cell),
        Kind::Delete => Write::Delete(row.clone(), demand(state, &row)),
        _ => Write::Patch(row.clone(), value, demand(state, &row)),
    }
}

/// Two to four writes of different rows, at least one that may not be repeated.
fn batch(state: &State, value: i64) -> Vec<Write> {
    let mut rows = ROWS.map(str::to_owned);
    fastrand::shuffle(&mut rows);
    let writes = rows.into_iter().take(fastrand::usize(2..=4)).enumerate();
    let writes = writes.map(|(index, row)| {
        let kind = match state.rows.contains_key(&row) {
            false if index > 0 && fastrand::bool() => Kind::InsertOrMerge,
            false => Kind::Insert,
            true if index == 0 => Kind::Delete,
            true => *fastrand::choice(&[Kind::Replace, Kind::Merge, Kind::Patch, Kind::InsertOrReplace]).unwrap(),
        };
        write(kind, state, row, value)
    });
    writes.collect()
}

impl Operation {
    /// An operation of this kind for a table in this state; `value` occurs nowhere else.
    pub(crate) fn choose(kind: Kind, state: &State, value: i64) -> Self {
        let row = || pick(&ROWS, |row| state.rows.contains_key(row), !kind.makes());
        let table = || pick(&TABLES, |table| state.tables.contains(table), !kind.makes());
        match kind {
            Kind::InsertIfAbsent => Self::InsertIfAbsent(Cell::new(&row(), value, Some(value))),
            Kind::DeleteIfExists => Self::DeleteIfExists(row()),
            Kind::Exists => Self::Exists(row()),
            Kind::Get => Self::Get(row(), Way::Direct),
            Kind::GetViaBatch => Self::Get(row(), Way::ViaBatch),
            Kind::InsertEcho => Self::Write(write(Kind::Insert, state, row(), value), Way::Echo),
            Kind::WriteViaBatch => {
                let kind = *fastrand::choice(&WRITES).unwrap();
                let row = pick(&ROWS, |row| state.rows.contains_key(row), !kind.makes());
                Self::Write(write(kind, state, row, value), Way::ViaBatch)
            }
            Kind::Query => Self::Query,
            Kind::Batch => Self::Batch(batch(state, value)),
            Kind::Modify => Self::Modify(row(), value),
            Kind::CreateTable => Self::CreateTable(table()),
            Kind::CreateTableIfNotExists => Self::CreateTableIfNotExists(table()),
            Kind::DeleteTable => Self::DeleteTable(table()),
            Kind::DeleteTableIfExists => Self::DeleteTableIfExists(table()),
            Kind::ListTables => Self::ListTables,
            Kind::AccessPolicies => Self::AccessPolicies,
            Kind::SetAccessPolicies => {
                Self::SetAccessPolicies((0..fastrand::i64(1..=5)).map(|id| format!("{value}-{id}")).collect())
            }
            _ => Self::Write(write(kind, state, row(), value), Way::Direct),
        }
    }

    /// The state after it, or what the service must say against it.
    pub(crate) fn expected(&self, before: &State) -> Result<State, ErrorKind> {
        let mut after = before.clone();
        match self {
            Self::Write(write, _) => after.write(write)?,
            Self::Batch(writes) => writes.iter().try_for_each(|write| after.write(write))?,
            Self::Modify(row, a) => after.write(&Write::InsertOrMerge(Cell::new(row, *a, None)))?,
            Self::InsertIfAbsent(cell) if before.rows.contains_key(&cell.row) => {}
            Self::InsertIfAbsent(cell) => after.write(&Write::Insert(cell.clone()))?,
            Self::DeleteIfExists(row) => {
                after.rows.remove(row);
            }
            Self::CreateTable(table) if before.tables.contains(table) => return Err(ErrorKind::AlreadyExists),
            Self::DeleteTable(table) if !before.tables.contains(table) => return Err(ErrorKind::NotFound),
            Self::CreateTable(table) | Self::CreateTableIfNotExists(table) => {
                after.tables.insert(table.clone());
            }
            Self::DeleteTable(table) | Self::DeleteTableIfExists(table) => {
                after.tables.remove(table);
            }
            Self::SetAccessPolicies(ids) => after.policies.clone_from(ids),
            Self::Exists(_) | Self::Get(..) | Self::Query | Self::ListTables | Self::AccessPolicies => {}
        }
        Ok(after)
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Exists(_) | Self::Get(..) | Self::Query | Self::ListTables | Self::AccessPolicies
        )
    }

    pub(crate) async fn run(
        &self,
        service: &TableServiceClient,
        table: &TableClient<Cell>,
        timeout: Duration,
        context: &OperationContext,
    ) -> Outcome {
        macro_rules! call {
            ($call:expr, $outcome:expr) => {
                match $call.timeout(timeout).context(context).await {
                    Ok(output) => $outcome(output),
                    Err(error) => Outcome::Failed(error),
                }
            };
        }
        let named = |name: &str| service.dynamic_table(name).unwrap();
        let written = |etag| Outcome::Written(vec![Some(etag)]);
        let via_batch = table.with(&CallOptions::new().via_batch());
        let table = match self {
            Self::Write(_, Way::ViaBatch) | Self::Get(_, Way::ViaBatch) => &via_batch,
            _ => table,
        };
        match self {
            Self::Write(Write::Insert(cell), Way::Echo) => {
                call!(table.insert_echo(cell), |stored: Versioned<Cell>| {
                    assert_eq!(stored.entity, *cell);
                    written(stored.etag)
                })
            }
            Self::Write(write, _) => match write {
                Write::Insert(cell) => call!(table.insert(cell), written),
                Write::InsertOrReplace(cell) => call!(table.insert_or_replace(cell), written),
                Write::InsertOrMerge(cell) => call!(table.insert_or_merge(cell), written),
                Write::Replace(cell, Demand::Exists) => call!(table.replace(cell), written),
                Write::Replace(cell, Demand::Version(etag)) => {
                    call!(table.replace(cell).if_match(etag.clone()), written)
                }
                Write::Merge(cell, Demand::Exists) => call!(table.merge(cell), written),
                Write::Merge(cell, Demand::Version(etag)) => {
                    call!(table.merge(cell).if_match(etag.clone()), written)
                }
                Write::Patch(row, a, demand) => {
                    let patch = table.patch((PARTITION, row), [Cell::A.set(*a)]);
                    match demand {
                        Demand::Exists => call!(patch, written),
                        Demand::Version(etag) => call!(patch.if_match(etag.clone()), written),
                    }
                }
                Write::Delete(row, demand) => {
                    let delete = table.delete((PARTITION, row));
                    match demand {
                        Demand::Exists => call!(delete, |()| Outcome::Written(vec![None])),
                        Demand::Version(etag) => {
                            call!(delete.if_match(etag.clone()), |()| Outcome::Written(vec![None]))
                        }
                    }
                }
            },
            Self::Batch(writes) => {
                let mut batch = table.batch();
                for write in writes {
                    batch.add(value(write)).unwrap();
                }
                call!(batch.commit(), |results: Vec<azure_table::TableResult>| {
                    Outcome::Written(results.into_iter().map(|result| result.etag().cloned()).collect())
                })
            }
            Self::Modify(row, a) => {
                let modify = table.modify((PARTITION, row), |cell| cell.a = *a);
                let modify = modify.or_insert(|| Cell::new(row, 0, None));
                call!(modify, |stored: Versioned<Cell>| written(stored.etag))
            }
            Self::InsertIfAbsent(cell) => call!(table.insert_if_absent(cell), |etag: Option<ETag>| match etag {
                Some(etag) => written(etag),
                None => Outcome::Created(Creation::Existed),
            }),
            Self::DeleteIfExists(row) => call!(table.delete_if_exists((PARTITION, row)), Outcome::Deleted),
            Self::Exists(row) => call!(table.exists((PARTITION, row)), Outcome::IsThere),
            Self::Get(row, _) => call!(table.get((PARTITION, row)).versioned(), |read: Option<_>| {
                Outcome::Row(read.map(pair))
            }),
            Self::Query => match table.query().versioned().timeout(timeout).context(context).all().await {
                Ok(rows) => Outcome::Rows(rows.into_iter().map(pair).collect()),
                Err(error) => Outcome::Failed(error),
            },
            Self::CreateTable(name) => call!(named(name).create_table(), |()| Outcome::Done),
            Self::CreateTableIfNotExists(name) => call!(named(name).create_table_if_not_exists(), Outcome::Created),
            Self::DeleteTable(name) => call!(named(name).delete_table(), |()| Outcome::Done),
            Self::DeleteTableIfExists(name) => call!(named(name).delete_table_if_exists(), Outcome::Deleted),
            Self::ListTables => call!(service.list_tables(), Outcome::Tables),
            Self::SetAccessPolicies(ids) => {
                let policies: Vec<_> = ids.iter().map(|id| StoredAccessPolicy::new(id.as_str())).collect();
                call!(table.set_access_policies(policies), |_| Outcome::Done)
            }
            Self::AccessPolicies => call!(table.access_policies(), |policies: Vec<StoredAccessPolicy>| {
                Outcome::Policies(policies.into_iter().map(|policy| policy.id).collect())
            }),
        }
    }
}

fn pair(read: Versioned<Cell>) -> (Cell, ETag) {
    (read.entity, read.etag)
}

/// A write as a value.
fn value(write: &Write) -> TableOperation {
    let (operation, demand) = match write {
        Write::Insert(cell) => return TableOperation::insert(cell),
        Write::InsertOrReplace(cell) => return TableOperation::insert_or_replace(cell),
        Write::InsertOrMerge(cell) => return TableOperation::insert_or_merge(cell),
        Write::Replace(cell, demand) => (TableOperation::replace(cell), demand),
        Write::Merge(cell, demand) => (TableOperation::merge(cell), demand),
        Write::Delete(row, demand) => (TableOperation::delete::<Cell>((PARTITION, row)), demand),
        Write::Patch(row, a, demand) => (
            TableOperation::patch::<Cell>((PARTITION, row), [Cell::A.set(*a)]),
            demand,
        ),
    };
    match demand {
        Demand::Exists => operation,
        Demand::Version(etag) => operation.if_match(etag.clone()),
    }
}
