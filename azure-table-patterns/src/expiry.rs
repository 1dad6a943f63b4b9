//! Rows that expire: one by one, or a table at a time.
//!
//! Defines [`Expiring`] and [`TablePerPeriod`].

use std::fmt;
use std::marker::PhantomData;

use azure_table::bulk::DeleteWhere;
use azure_table::filter::NamedColumn;
use azure_table::key::IntoKey;
use azure_table::{
    Column, DateTime, EdmType, Property, ReadEntity, Result, TableClient, TableEntity, TableQuery, TableServiceClient,
};

/// The rows of a table, each with a deadline.
///
/// **Promise.** No read returns a row at or after its deadline, swept or not. A sweep deletes no row whose deadline was
/// extended before the delete.
///
/// The deadline is a property of your entity. You pass the current time to every method: [`DateTime::now`], or the same
/// time to several calls. A machine whose clock is a minute off reads and sweeps a minute too early or too late. Rows
/// without the property are neither found by [`query`](Self::query) nor swept.
///
/// **Cost.** [`get`](Self::get): one read. [`query`](Self::query): the cost of the query; the service filters out rows
/// past their deadline. [`sweep`](Self::sweep): one request per 1,000 expired rows to find them, more if the service
/// examines many others, and one batch for up to 100 rows of a partition.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `get` | Get | 1 |
/// | `query`, all expired | Query | 0 |
/// | `sweep`, 2 rows of a partition | Query, Batch | 4 |
///
/// **Crash.** The next sweep completes one that was interrupted, without finding the deleted rows again.
///
/// ```
/// use std::time::Duration;
/// use azure_table_patterns::Expiring;
/// use azure_table::{DateTime, Emulator, TableEntity, TableServiceClient};
///
/// #[derive(TableEntity)]
/// struct Session {
///     #[table(partition_key)]
///     user: String,
///     #[table(row_key)]
///     id: String,
///     expires: DateTime,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).table::<Session>("Sessions")?;
/// table.create_table().await?;
/// let sessions = Expiring::new(&table, Session::EXPIRES);
///
/// let now = DateTime::now();
/// let hour = Duration::from_secs(3_600);
/// table.insert(&Session { user: "ada".into(), id: "1".into(), expires: now + hour }).await?;
/// assert!(sessions.get(("ada", "1"), now).await?.is_some());
/// assert!(sessions.get(("ada", "1"), now + hour).await?.is_none());
///
/// let minutes = Duration::from_secs(300);
/// let report = sessions.sweep(now + hour).max_rate(500).total_timeout(minutes).await?;
/// assert_eq!(report.applied(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Expiring<E> {
    table: TableClient<E>,
    deadline: NamedColumn<E>,
}

impl<E: TableEntity> Expiring<E> {
    /// Creates the handle. `deadline` is the property with the deadline: a [`DateTime`], or a type that is stored as
    /// one. A type that is stored otherwise does not compile.
    pub fn new<T: Property>(table: &TableClient<E>, deadline: Column<E, T>) -> Self {
        const {
            let is_date = matches!(T::EDM_TYPE, EdmType::DateTime);
            assert!(is_date, "a deadline is stored as Edm.DateTime");
        }
        Self {
            table: table.clone(),
            deadline: NamedColumn::new(deadline.name(), EdmType::DateTime),
        }
    }

    /// Returns a query for the rows whose deadline is after `now`.
    pub fn query(&self, now: DateTime) -> TableQuery<E>
    where
        E: ReadEntity,
    {
        self.table.query().filter(self.deadline.gt(now))
    }

    /// Reads the entity with this key. Returns `None` if no entity has the key, or its deadline is not after `now`.
    ///
    /// Requests: 1. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`get`](TableClient::get).
    pub async fn get(&self, key: impl IntoKey<E>, now: DateTime) -> Result<Option<E>>
    where
        E: ReadEntity,
    {
        let Some(entity) = self.table.get(key).await? else {
            return Ok(None);
        };
        let is_alive = self.deadline.gt(now).matches(&entity)?;
        Ok(is_alive.then_some(entity))
    }

    /// Deletes the rows whose deadline is not after `now`, each under the condition of its ETag.
    ///
    /// It reads the whole table, so it needs a client that does not deny table scans. On an entity with declared indexes
    /// it would count index rows, or leave some without their entity: use an index of the deadline instead, as the
    /// guide's "A purge" does.
    ///
    /// Limit its rate with [`max_rate`](DeleteWhere::max_rate) and its time with
    /// [`total_timeout`](DeleteWhere::total_timeout), and follow its progress with
    /// [`on_progress`](DeleteWhere::on_progress). It can be resumed at a position after the rows that were read. A new
    /// sweep starts at the beginning.
    ///
    /// # Errors
    /// - The errors of [`delete_where`](TableClient::delete_where). The report counts a row that was written meanwhile
    ///   as [`changed`](azure_table::bulk::Report::changed).
    pub fn sweep(&self, now: DateTime) -> DeleteWhere<'static, E> {
        self.table.delete_where(self.deadline.le(now))
    }
}

/// One table per month or day, dropped as a whole.
///
/// **Promise.** All rows of one period are in one table. [`drop_before`](Self::drop_before) deletes no table whose
/// period ends after the given time.
///
/// The name of a table is the prefix and the period in UTC: `Events202601` or `Events20260131`. Other tables with this
/// prefix and the same number of digits would be dropped too. A table is created by the first write that needs it.
///
/// **Cost.** [`at`](Self::at): no request; the first write of a period takes two more.
/// [`drop_before`](Self::drop_before): one request per 1,000 tables, and one for each table that it deletes, regardless
/// of its rows.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `at` | none | 0 |
/// | `insert`, first of a period | Insert, CreateTable, Insert | 2 |
/// | `drop_before`, one table | ListTables, DeleteTable | 0 |
///
/// **Crash.** The next `drop_before` deletes the remaining tables. A late write to a dropped period creates its table
/// again. While the deletion lasts, 40 s or more, it fails with [`Conflict`](azure_table::ErrorKind::Conflict), or
/// vanishes with the table.
///
/// ```
/// use azure_table_patterns::TablePerPeriod;
/// use azure_table::{DateTime, DynamicEntity, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let events = TablePerPeriod::<DynamicEntity>::monthly(&service, "Events");
/// let time = |text: &str| text.parse::<DateTime>().unwrap();
///
/// let january = events.at(time("2026-01-31T23:59:59Z"))?;
/// january.insert(&DynamicEntity::new("p", "1")).await?;
/// events.at(time("2026-02-01T00:00:00Z"))?.insert(&DynamicEntity::new("p", "2")).await?;
///
/// assert_eq!(events.drop_before(time("2026-02-14T00:00:00Z")).await?, ["Events202601"]);
/// assert!(!january.table_exists().await?);
/// # Ok(())
/// # }
/// ```
pub struct TablePerPeriod<E> {
    service: TableServiceClient,
    prefix: String,
    period: Period,
    entity: PhantomData<fn() -> E>,
}

/// The period of one table.
#[derive(Clone, Copy, Debug)]
enum Period {
    Month,
    Day,
}

impl<E: TableEntity> TablePerPeriod<E> {
    /// Creates a handle to tables with this prefix, one per month.
    pub fn monthly(service: &TableServiceClient, prefix: impl Into<String>) -> Self {
        Self::new(service, prefix.into(), Period::Month)
    }

    /// Creates a handle to tables with this prefix, one per day.
    pub fn daily(service: &TableServiceClient, prefix: impl Into<String>) -> Self {
        Self::new(service, prefix.into(), Period::Day)
    }

    fn new(service: &TableServiceClient, prefix: String, period: Period) -> Self {
        Self {
            service: service.clone(),
            prefix,
            period,
            entity: PhantomData,
        }
    }

    /// Returns the table of the period that contains `time`. Its first write creates it; a read before that fails with
    /// [`TableNotFound`](azure_table::ErrorKind::TableNotFound). `list_tables` finds the periods that exist.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the name is not a table name, because the prefix does
    ///   not begin with a letter, has characters other than letters and digits, or is too long.
    pub fn at(&self, time: DateTime) -> Result<TableClient<E>> {
        let table = self.service.table(self.name(time))?;
        Ok(table.create_missing_table())
    }

    /// Deletes the tables of the periods that end at `time` or earlier. Returns their names.
    ///
    /// # Errors
    /// - The errors of [`list_tables`](TableServiceClient::list_tables) and
    ///   [`delete_table`](TableClient::delete_table). If a delete fails, the tables before it are deleted. The next call
    ///   deletes the others.
    pub async fn drop_before(&self, time: DateTime) -> Result<Vec<String>> {
        let current = self.name(time);
        // The digits alone: Storage lists names without regard to case, so a prefix may be spelled in another way.
        let digits = |name: &str| name.get(self.prefix.len()..).unwrap_or_default().to_owned();
        let is_older = |name: &String| {
            let period = digits(name);
            name.len() == current.len() && period.bytes().all(|byte| byte.is_ascii_digit()) && period < digits(&current)
        };
        let mut names = self.service.list_tables().starting_with(&self.prefix).stream();
        let mut old = Vec::new();
        while let Some(name) = names.try_next().await? {
            old.extend(Some(name).filter(is_older));
        }
        for name in &old {
            self.service.dynamic_table(name)?.delete_table_if_exists().await?;
        }
        Ok(old)
    }

    /// Returns the name of the table for a time.
    fn name(&self, time: DateTime) -> String {
        // 2026-01-31T…
        let length = match self.period {
            Period::Month => 7,
            Period::Day => 10,
        };
        let date = time.to_string();
        let digits = date.chars().take(length).filter(char::is_ascii_digit);
        format!("{}{}", self.prefix, digits.collect::<String>())
    }
}

impl<E> Clone for TablePerPeriod<E> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            prefix: self.prefix.clone(),
            period: self.period,
            entity: PhantomData,
        }
    }
}

impl<E> fmt::Debug for TablePerPeriod<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TablePerPeriod")
            .field("prefix", &self.prefix)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}
