//! A tail of changes with concurrent writers, on a service with skewed Timestamps and lost responses.
//!
//! Defines [`TailStudy`] and its counts. `tests/faults/tail.rs` runs it on a paused clock, which the service's clock
//! follows: a run of a minute takes seconds, and the same seed draws the same delays and faults.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::emulator::{EmulatorClock, PageEnds};
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{DateTime, ETag, Emulator, LinearRetry, TableClient, TableServiceClient};
use azure_table_patterns::{ChangeProgress, Changes};
use tokio::time::{Instant, sleep};

use crate::entities::Numbered;
use crate::promises::Following;

/// The size of a study.
#[derive(Clone, Copy, Debug)]
pub struct TailStudy {
    /// The number of writers. Each writes its own partition.
    pub writers: usize,
    /// The number of writes, all writers together.
    pub writes: usize,
    /// The number of rows of each writer.
    pub rows: u32,
    /// The mean time between two writes of a writer.
    pub pause: Duration,
    /// The bound of the skew of Timestamps.
    pub skew: Duration,
    /// The overlap of the tail.
    pub overlap: Duration,
    /// The number of polls after which the tail stops, and resumes from the text of its position.
    pub polls: u64,
    /// The seed of delays, faults and skew.
    pub seed: u64,
}

/// The counts of a study.
#[derive(Clone, Debug, Default)]
pub struct TailOutcome {
    /// The writes that succeeded.
    pub written: usize,
    /// The writes that failed after their retries.
    pub failed: usize,
    /// The requests with a fault.
    pub faults: u64,
    /// The rows that were stored at the end.
    pub stored: usize,
    /// The rows whose last version the tail did not yield.
    pub missed: usize,
    /// The rows that were yielded again, in the version that was yielded last: after a restart.
    pub again: usize,
    /// The progress of all streams of the tail together; `remembered` is the maximum of all.
    pub progress: ChangeProgress,
    /// The errors after which the tail continued.
    pub errors: usize,
    /// The number of streams: one more than the restarts.
    pub streams: usize,
    /// The time of the run by its own clock.
    pub elapsed: Duration,
}

impl fmt::Display for TailOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            written,
            failed,
            faults,
            stored,
            missed,
            again,
            errors,
            streams,
            ..
        } = self;
        let ChangeProgress {
            polls,
            pages,
            rows,
            duplicates,
            changes,
            remembered,
            ..
        } = self.progress;
        let (seconds, pages) = (self.elapsed.as_secs_f64(), pages as f64 / polls.max(1) as f64);
        write!(
            f,
            "{written} writes and {failed} that failed, {faults} faults, {seconds:.1} s by the paused clock\n\
             {polls} polls, {pages:.2} requests per poll, {streams} streams, {errors} errors\n\
             {rows} rows received: {changes} yielded, {duplicates} dropped as duplicates, {again} yielded again after a \
             restart; at most {remembered} remembered\n\
             {stored} rows stored, {missed} missed"
        )
    }
}

impl TailStudy {
    /// Runs the writers and the tail until the tail has completed a poll after the last write.
    ///
    /// # Panics
    /// The table cannot be created or read without faults.
    pub async fn run(self) -> TailOutcome {
        fastrand::seed(self.seed);
        let started = Instant::now();
        let emulator = Emulator::new()
            .shared_clock(EmulatorClock::fixed(DateTime::now()))
            .page_ends(PageEnds::new().examined(1_000))
            .timestamp_skew(self.skew, self.seed);
        let truth = TableServiceClient::from_transport(emulator.clone());
        let truth = truth.table::<Numbered>("Cells").unwrap();
        truth.create_table().await.unwrap();
        let faults = Faults::with_seed(Following::new(&emulator), self.seed);
        let millis = Duration::from_millis;
        let rules = [
            (Fault::LoseResponse, 0.01),
            (Fault::LoseRequest, 0.005),
            (Fault::DelayRequest(millis(300)), 0.01),
            (Fault::DelayResponse(millis(300)), 0.01),
        ];
        let rules = rules.map(|(fault, chance)| faults.add(FaultRule::new(fault).probability(chance)));
        let service = TableServiceClient::from_transport(faults.clone()).retry(LinearRetry::new(millis(20), 3));
        let cells = service.table::<Numbered>("Cells").unwrap();

        let left = Arc::new(AtomicUsize::new(self.writers));
        let start = |writer| tokio::spawn(self.write(cells.clone(), writer, Arc::clone(&left)));
        let writers: Vec<_> = (0..self.writers).map(start).collect();
        let (mut outcome, seen) = self.tail(&cells, &left).await;
        for writer in writers {
            let (written, failed) = writer.await.unwrap();
            outcome.written += written;
            outcome.failed += failed;
        }
        outcome.elapsed = started.elapsed();
        outcome.faults = rules.iter().map(|rule| rule.hits()).sum();
        let stored = truth.query().versioned().all().await.unwrap();
        outcome.stored = stored.len();
        let mut missed = stored;
        missed.retain(|cell| seen.get(&(cell.group.clone(), cell.number)) != Some(&cell.etag));
        outcome.missed = missed.len();
        outcome
    }

    /// Writes random rows of its partition. Returns the number of writes that succeeded and that failed.
    async fn write(self, cells: TableClient<Numbered>, writer: usize, left: Arc<AtomicUsize>) -> (usize, usize) {
        let mut random = fastrand::Rng::with_seed(self.seed + writer as u64);
        let (mut written, mut failed) = (0, 0);
        for value in 0..self.writes / self.writers {
            let cell = Numbered::new(&writer.to_string(), random.u32(..self.rows), value as i32);
            match cells.insert_or_replace(&cell).await {
                Ok(_) => written += 1,
                Err(_) => failed += 1,
            }
            sleep(self.pause.mul_f64(2.0 * random.f64())).await;
        }
        left.fetch_sub(1, Ordering::Relaxed);
        (written, failed)
    }

    /// Tails until a stream that began after the last write has ended. Returns the last version of each yielded row.
    async fn tail(
        &self,
        cells: &TableClient<Numbered>,
        left: &AtomicUsize,
    ) -> (TailOutcome, BTreeMap<(String, u32), ETag>) {
        let mut outcome = TailOutcome::default();
        let mut seen = BTreeMap::new();
        let mut position: Option<String> = None;
        loop {
            let is_last = left.load(Ordering::Relaxed) == 0;
            let changes = Changes::new(cells.query());
            let changes = changes.overlap(self.overlap).interval(Duration::from_millis(500));
            let changes = changes.max_interval(Duration::from_millis(500)).max_polls(self.polls);
            let mut stream = match &position {
                None => changes.stream().unwrap(),
                Some(text) => changes.resume_from(text.parse().unwrap()).stream().unwrap(),
            };
            loop {
                match stream.try_next().await {
                    Ok(Some(cell)) => {
                        let before = seen.insert((cell.group.clone(), cell.number), cell.etag.clone());
                        outcome.again += usize::from(before == Some(cell.etag));
                    }
                    Ok(None) => break,
                    Err(_) => outcome.errors += 1,
                }
            }
            position = Some(stream.position().to_string());
            let (sum, more) = (&mut outcome.progress, stream.progress());
            sum.polls += more.polls;
            sum.pages += more.pages;
            sum.rows += more.rows;
            sum.changes += more.changes;
            sum.duplicates += more.duplicates;
            sum.remembered = sum.remembered.max(more.remembered);
            outcome.streams += 1;
            if is_last {
                return (outcome, seen);
            }
        }
    }
}
