//! The events of one write, divided into transactions before the first request.

use azure_table::operation::OperationKind;
use azure_table::{Error, PropertyGroup, Result, TableOperation};

use super::partition::Partition;
use super::rows::{EventRow, IdRow};

/// The operations of a transaction besides the header.
const LIMIT: usize = 99;

/// A new event: its properties, an id if it has one, and the operations that are applied with it.
#[derive(Debug)]
pub struct Event<E> {
    data: E,
    id: Option<String>,
    includes: Vec<TableOperation>,
}

impl<E> Event<E> {
    /// Creates an event without an id.
    pub fn new(data: E) -> Self {
        Self {
            data,
            id: None,
            includes: Vec::new(),
        }
    }

    /// Sets an id that no other event of the stream has.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Includes an operation on another row of the partition in the transaction of the event.
    ///
    /// Operations of one transaction on the same row become one, see [`TableOperation::then`].
    #[must_use]
    pub fn include(mut self, operation: TableOperation) -> Self {
        self.includes.push(operation);
        self
    }

    /// Returns the number of operations, before those on the same row become one.
    fn operations(&self) -> usize {
        1 + usize::from(self.id.is_some()) + self.includes.len()
    }
}

/// The row of an operation, for the error of a conflict.
#[derive(Debug)]
pub(super) enum Row {
    Event(u32),
    Id(String),
    Included(String),
}

/// A transaction without the header.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) events: u32,
    /// Events and their ids come first: a duplicate is reported before the conflict of an included row.
    pub(super) operations: Vec<(Row, TableOperation)>,
    /// The operation on each included row, or `None` if its operations cancelled out.
    included: Vec<(String, Option<TableOperation>)>,
}

/// Divides the events into transactions. `version` is the number of events before them.
pub(super) fn transactions<E: PropertyGroup>(
    partition: &Partition,
    version: u32,
    events: impl IntoIterator<Item = Event<E>>,
) -> Result<Vec<Transaction>> {
    let mut all: Vec<Transaction> = Vec::new();
    let mut size = LIMIT;
    for (number, event) in (version + 1..).zip(events) {
        let operations = event.operations();
        if operations > LIMIT {
            return Err(Error::invalid_input(format!(
                "event {number} has {operations} operations, the limit is {LIMIT}: include fewer"
            )));
        }
        size += operations;
        if size > LIMIT {
            all.push(Transaction::default());
            size = operations;
        }
        if let Some(last) = all.last_mut() {
            last.add(partition, number, event)?;
        }
    }
    for transaction in &mut all {
        let included = transaction.included.drain(..);
        let remaining = included.filter_map(|(row_key, operation)| Some((Row::Included(row_key), operation?)));
        transaction.operations.extend(remaining);
    }
    Ok(all)
}

impl Transaction {
    fn add<E: PropertyGroup>(&mut self, at: &Partition, number: u32, event: Event<E>) -> Result<()> {
        let version = number.cast_signed();
        let row = EventRow {
            partition: at.partition_key.clone(),
            prefix: at.prefix.clone(),
            number,
            version,
            data: event.data,
        };
        self.events += 1;
        self.operations
            .push((Row::Event(number), at.check(TableOperation::insert(&row))?));
        if let Some(id) = event.id {
            let row = IdRow {
                partition: at.partition_key.clone(),
                prefix: at.prefix.clone(),
                id: id.clone(),
                version,
            };
            self.operations
                .push((Row::Id(id), at.check(TableOperation::insert(&row))?));
        }
        for operation in event.includes {
            self.include(at.check(operation)?)?;
        }
        Ok(())
    }

    /// Adds an included operation, or combines it with the earlier ones on its row.
    fn include(&mut self, next: TableOperation) -> Result<()> {
        let row_key = next.keys().map_or("", |(_, row_key)| row_key).to_owned();
        let Some((_, earlier)) = self.included.iter_mut().find(|(row, _)| *row == row_key) else {
            self.included.push((row_key, Some(next)));
            return Ok(());
        };
        *earlier = match earlier.take() {
            Some(first) => first.then(next)?,
            None if matches!(next.kind(), OperationKind::Replace | OperationKind::Delete) => {
                return Err(Error::invalid_input(format!(
                    "{next} follows an insert and a delete, so the row does not exist"
                )));
            }
            None => Some(next),
        };
        Ok(())
    }
}
