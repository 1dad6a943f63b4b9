//! The history of an orchestration: a header and its events, in one partition.

use azure_table::{
    DateTime, Error, ErrorKind, Guid, Result, TableBatch, TableClient, TableEntity, TableOperation, TableProperty,
    Versioned,
};

/// The RowKey of the header.
const HEADER: &str = "$instance";
/// The batches of a purge in flight.
const PURGE_CONCURRENCY: usize = 10;

/// The status of an instance.
#[derive(TableProperty, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was started, and no worker has run it.
    Pending,
    /// It has run, and is not completed.
    Running,
    /// It returned a result.
    Completed,
    /// It returned an error.
    Failed,
    /// Its rows are being deleted. Every checkpoint fails.
    Purging,
}

/// The header of a history. Its ETag guards all of its partition.
#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "$instance", rename_all = "PascalCase")]
pub struct Instance {
    /// The ID, which is the PartitionKey of the history.
    #[table(partition_key)]
    pub id: String,
    /// The life of the instance, from its start to its purge.
    pub execution: Guid,
    /// The number of restarts.
    pub generation: i64,
    /// The status after the last checkpoint.
    pub status: Status,
    /// The number of events. Rows beyond them are not part of the history.
    pub events: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

/// An event of a history.
#[derive(TableEntity, Clone, Debug)]
#[table(rename_all = "PascalCase")]
pub struct Event {
    #[table(partition_key)]
    instance: String,
    /// The position in the history, from 0.
    #[table(row_key)]
    pub number: u64,
    execution: Guid,
    generation: i64,
    /// The kind of the event, such as `TaskScheduled`.
    pub kind: String,
    /// The input or the result, of up to about 500,000 characters.
    #[table(chunked)]
    pub payload: String,
}

/// A row of a history, by the form of its keys.
#[derive(TableEntity, Clone, Debug)]
enum Row {
    Instance(Instance),
    Event(Event),
}

/// An event that is not written yet.
#[derive(Clone, Debug)]
pub struct Step {
    kind: String,
    payload: String,
}

impl Step {
    /// Creates an event of this kind.
    pub fn new(kind: &str, payload: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            payload: payload.to_owned(),
        }
    }
}

/// The histories in a table.
#[derive(Clone, Debug)]
pub struct Histories {
    rows: TableClient<Row>,
    events: TableClient<Event>,
}

/// A history at the moment of a header. It can be extended as long as nobody else has done so.
///
/// Each write consumes it, and returns it only if it was applied: after an error, open the history again.
#[derive(Debug)]
pub struct History {
    of: Histories,
    header: Versioned<Instance>,
}

impl Histories {
    /// Creates a handle to the histories in a table.
    pub fn new<E: TableEntity>(table: &TableClient<E>) -> Self {
        Self {
            rows: table.typed(),
            events: table.typed(),
        }
    }

    /// Starts an instance. Returns `None` if the ID is in use.
    pub async fn start(&self, id: &str) -> Result<Option<History>> {
        let instance = Instance {
            id: id.to_owned(),
            execution: Guid::random(),
            generation: 0,
            status: Status::Pending,
            events: 0,
            write: None,
        };
        let row = Row::Instance(instance.clone());
        let etag = self.rows.insert_if_not_exists(&row).await?;
        Ok(etag.map(|etag| {
            self.history(Versioned {
                entity: instance,
                etag,
                timestamp: DateTime::MIN,
            })
        }))
    }

    /// Reads a history. Returns `None` if no instance has this ID.
    ///
    /// The header comes first, and the events that it counts are never changed within its generation. So the rows of
    /// several pages fit together, unless a restart or a purge came between.
    pub async fn open(&self, id: &str) -> Result<Option<(History, Vec<Event>)>> {
        let mut before = None;
        loop {
            let rows = self.rows.query().partition(id).versioned();
            let (header, events): (Option<Versioned<Instance>>, Vec<Versioned<Event>>) = rows.gather().await?;
            let Some(header) = header else {
                return Ok(None);
            };
            let events: Vec<Event> = events
                .into_iter()
                .map(|event| event.entity)
                .filter(|event| header.has(event))
                .collect();
            if events.len() as i64 == header.events || header.status == Status::Purging {
                return Ok(Some((self.history(header), events)));
            }
            if before.as_ref() == Some(&header.etag) {
                return Err(Error::other(format!(
                    "the history of {id:?} has {} of {} events",
                    events.len(),
                    header.events
                )));
            }
            before = Some(header.etag.clone());
        }
    }

    fn history(&self, header: Versioned<Instance>) -> History {
        History {
            of: self.clone(),
            header,
        }
    }
}

impl Instance {
    /// Returns `true` if the event is part of the history.
    fn has(&self, event: &Event) -> bool {
        let is_current = (event.execution, event.generation) == (self.execution, self.generation);
        is_current && event.number < self.events.unsigned_abs()
    }

    /// Returns the row of the event with this number.
    fn event(&self, number: u64, step: &Step) -> Event {
        Event {
            instance: self.id.clone(),
            number,
            execution: self.execution,
            generation: self.generation,
            kind: step.kind.clone(),
            payload: step.payload.clone(),
        }
    }
}

impl History {
    /// Returns the header as it was last read or written.
    pub fn instance(&self) -> &Instance {
        &self.header
    }

    /// Appends events and sets the status. Returns `None` if another worker has written first: abandon the work.
    ///
    /// More events than fit a transaction take several. The last one makes all of them part of the history.
    ///
    /// # Errors
    /// - [`InDoubt`](ErrorKind::InDoubt): the events may be part of the history.
    pub async fn checkpoint(self, status: Status, steps: &[Step]) -> Result<Option<Self>> {
        let first = self.header.events;
        let next = Instance {
            status,
            events: first + steps.len() as i64,
            ..self.header.entity.clone()
        };
        let numbers = first.unsigned_abs()..;
        let events: Vec<Event> = numbers
            .zip(steps)
            .map(|(number, step)| next.event(number, step))
            .collect();
        self.write(next, &events).await
    }

    /// Begins the next generation, whose first events replace the history. They must fit one transaction.
    ///
    /// Returns `None` if another worker has written first.
    pub async fn restart(self, steps: &[Step]) -> Result<Option<Self>> {
        let next = Instance {
            generation: self.header.generation + 1,
            status: Status::Running,
            events: steps.len() as i64,
            ..self.header.entity.clone()
        };
        let events: Vec<Event> = (0..)
            .zip(steps)
            .map(|(number, step)| next.event(number, step))
            .collect();
        // A batch before the last would overwrite events that are still part of the history.
        match self.batch(&next, &events)? {
            (batch, written) if written == events.len() => self.submit(next, batch).await,
            (_, written) => Err(Error::invalid_input(format!(
                "{} events of a restart, {written} fit one transaction",
                events.len()
            ))),
        }
    }

    /// Deletes the instance and its events. Returns the number of events that it deleted, or `None` if another worker
    /// has written first.
    ///
    /// An interrupted purge is completed by another one. A checkpoint of a worker that has not noticed the purge
    /// fails, and the events of a later instance with the same ID stay.
    ///
    /// # Errors
    /// The error of a request. Events may be deleted already: call it again.
    pub async fn purge(self) -> Result<Option<u64>> {
        let Some(Self { of, header }) = self.marked().await? else {
            return Ok(None);
        };
        let rows = of.events.query().partition(&header.id).without_row_keys(HEADER);
        let deleted = of
            .events
            .delete_where(rows.filter(Event::EXECUTION.eq(header.execution)))
            .concurrency(PURGE_CONCURRENCY)
            .partition_concurrency(PURGE_CONCURRENCY)
            .await?;
        deleted.ensure_no_leftovers()?;
        match of.rows.delete(&header.map(Row::Instance)).await {
            Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConditionNotMet) => Err(e),
            _ => Ok(Some(deleted.applied())),
        }
    }

    /// Writes the status `Purging`, after which nobody writes events.
    async fn marked(self) -> Result<Option<Self>> {
        if self.header.status == Status::Purging {
            return Ok(Some(self));
        }
        let next = Instance {
            status: Status::Purging,
            ..self.header.entity.clone()
        };
        self.write(next, &[]).await
    }

    /// Writes the events and the header, in as many transactions as they need.
    async fn write(mut self, next: Instance, mut events: &[Event]) -> Result<Option<Self>> {
        loop {
            let (batch, written) = self.batch(&next, events)?;
            if written == events.len() {
                return self.submit(next, batch).await;
            }
            let unchanged = self.header.entity.clone();
            let (batch, written) = self.batch(&unchanged, events)?;
            events = &events[written..];
            match self.submit(unchanged, batch).await? {
                Some(history) => self = history,
                None => return Ok(None),
            }
        }
    }

    /// Returns a transaction of the header and the first events, and the number of events that it has.
    fn batch(&self, header: &Instance, events: &[Event]) -> Result<(TableBatch<Row>, usize)> {
        let mut batch = self.of.rows.batch();
        batch.replace(&self.header.clone().map(|_| Row::Instance(header.clone())))?;
        for event in events {
            // An event of an earlier checkpoint that was not completed may be there.
            if let Err(rejected) = batch.push(TableOperation::insert_or_replace(event)) {
                match batch.len() {
                    1 => return Err(rejected.into()),
                    _ => break,
                }
            }
        }
        let written = batch.len() - 1;
        Ok((batch, written))
    }

    /// Submits a transaction, whose first operation is the header.
    async fn submit(mut self, header: Instance, batch: TableBatch<Row>) -> Result<Option<Self>> {
        // Its events may be deleted already.
        if self.header.status == Status::Purging {
            return Ok(None);
        }
        match batch.submit().await {
            Ok(results) => {
                self.header.entity = header;
                if let Some(etag) = results.first().and_then(|result| result.etag()) {
                    self.header.etag = etag.clone();
                }
                Ok(Some(self))
            }
            // Without its table nobody else has written first.
            Err(e) if e.code() == Some("TableNotFound") => Err(e),
            Err(e) if matches!(e.kind(), ErrorKind::ConditionNotMet | ErrorKind::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }
}
