//! Mixed load through faults, over HTTP to the emulator on a port, for a given time. Nothing is lost, a tail of changes
//! observes every last version, and memory, sockets and tasks do not grow.
//!
//! `cargo program soak -- 600` runs for ten minutes, the default, and prints its counts every ten
//! seconds. Client and service are one process, so the figures include both. Contains the figures and their bounds;
//! `worker.rs` and `tail.rs` are the clients.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that says what failed by panicking"
)]

mod tail;
mod worker;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::HttpTransport;
use azure_table::{Emulator, EmulatorServer, TableServiceClient};
use tokio::runtime::Handle;

use self::tail::{SKEW, Tail, TailCounts};
use self::worker::{Cell, Handles, Worker, WorkerCounts};

const WORKERS: usize = 32;
/// Each call of a worker has at most one connection, and both ends of a connection are in this process. A call without
/// an idle connection opens one, and may use another that becomes idle first. So there may be twice as many, which stay
/// open. The rest is the listener, the runtime's own, and connections that were cut and are not closed yet.
const MAX_SOCKETS: usize = 4 * WORKERS + 16;
/// One task for each worker and each end of a connection, and as many that are about to end.
const MAX_TASKS: usize = 5 * WORKERS + 32;
/// The maximum growth of sockets and tasks from the first window to the last.
const MAX_MORE: usize = WORKERS / 2;
/// The maximum growth of memory from the first window to the last: the allocator's noise.
const MAX_GROWTH: (f64, f64) = (1.15, 8.0);

/// The resources of the process.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    memory_mib: f64,
    sockets: usize,
    tasks: usize,
}

impl Figures {
    fn now() -> Self {
        const PAGE: f64 = 4_096.0;
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        let resident: f64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        Self {
            memory_mib: resident * PAGE / f64::from(1 << 20),
            sockets: targets
                .filter(|target| target.to_string_lossy().starts_with("socket:"))
                .count(),
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    /// The median of each figure.
    fn median(samples: &[Self]) -> Self {
        let middle = samples.len() / 2;
        let mut memory: Vec<f64> = samples.iter().map(|sample| sample.memory_mib).collect();
        memory.sort_by(f64::total_cmp);
        let mut sockets: Vec<usize> = samples.iter().map(|sample| sample.sockets).collect();
        sockets.sort_unstable();
        let mut tasks: Vec<usize> = samples.iter().map(|sample| sample.tasks).collect();
        tasks.sort_unstable();
        Self {
            memory_mib: memory[middle],
            sockets: sockets[middle],
            tasks: tasks[middle],
        }
    }
}

fn add_rules(faults: &Faults) {
    let millis = Duration::from_millis;
    let internal = ResponseTemplate::internal_error;
    for (fault, chance) in [
        (Fault::NoConnection, 0.01),
        (Fault::LoseRequest, 0.01),
        (Fault::Reset, 0.01),
        (Fault::LoseResponse, 0.01),
        (Fault::CutResponse { at: 20 }, 0.01),
        (Fault::DelayRequest(millis(50)), 0.02),
        (Fault::DelayResponse(millis(50)), 0.02),
        (Fault::HangResponse, 0.000_5),
        (ResponseTemplate::server_busy(millis(100)).into(), 0.01),
        (internal().into(), 0.01),
        (Fault::RespondAfterApplying(internal()), 0.01),
        (Fault::FailBatchPart(ResponseTemplate::too_many_requests()), 0.01),
    ] {
        faults.add(FaultRule::new(fault).probability(chance));
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let seconds = std::env::args().nth(1).map_or(600, |seconds| seconds.parse().unwrap());
    let emulator = Emulator::new().timestamp_skew(SKEW, 1);
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
    let truth = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    truth.dynamic_table("Soak").unwrap().create_table().await.unwrap();
    let faults = Faults::with_seed(HttpTransport::builder().build().unwrap(), 1);
    add_rules(&faults);
    let service = truth.transport(faults.clone()).timeout(Duration::from_secs(20));

    let handles = Handles {
        writes: service.table("Soak").unwrap(),
        reads: service.table("Soak").unwrap(),
    };
    let counts = Counts::default();
    let [is_over, are_writes_over] = [false; 2].map(|is_over| Arc::new(AtomicBool::new(is_over)));
    let workers = (0..WORKERS).map(|number| {
        let worker = Worker::new(handles.clone(), Arc::clone(&counts.workers), number);
        tokio::spawn(worker.work(Arc::clone(&is_over)))
    });
    let workers: Vec<_> = workers.collect();
    let tail = Tail::new(service.table("Soak").unwrap(), Arc::clone(&counts.tail));
    let tail = tokio::spawn(tail.follow(Arc::clone(&are_writes_over)));
    let samples = sample(Duration::from_secs(seconds), || counts.print(&faults)).await;
    is_over.store(true, Ordering::Relaxed);
    let rows = truth.table::<Cell>("Soak").unwrap();
    for worker in workers {
        worker.await.unwrap().compare(&rows).await;
    }
    are_writes_over.store(true, Ordering::Relaxed);
    tail.await.unwrap().compare(&rows).await;
    counts.print(&faults);
    println!("nothing lost");
    report(&samples);

    drop((rows, handles, service, faults, truth, server));
    let started = Instant::now();
    while Figures::now().tasks > 0 && started.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let left = Figures::now();
    println!("after the end: {} sockets, {} tasks", left.sockets, left.tasks);
    assert_eq!(left.tasks, 0, "tasks are left behind");
}

/// Returns the counts so far.
#[derive(Default)]
struct Counts {
    workers: Arc<WorkerCounts>,
    tail: Arc<Mutex<TailCounts>>,
}

impl Counts {
    fn print(&self, faults: &Faults) {
        let [calls, failures, doubts] = [&self.workers.calls, &self.workers.failures, &self.workers.doubts]
            .map(|counter| counter.load(Ordering::Relaxed));
        println!(
            "{calls} calls, {} requests, {failures} failed calls, {doubts} of them in doubt",
            faults.requests()
        );
        let TailCounts { progress, errors } = *self.tail.lock().unwrap();
        println!(
            "  tail: {} polls, {} pages, {} changes, {} duplicates, {} remembered, {errors} errors",
            progress.polls, progress.pages, progress.changes, progress.duplicates, progress.remembered
        );
    }
}

/// Samples while the workers run, without the first quarter: until then pools and arenas fill.
async fn sample(duration: Duration, print: impl Fn()) -> Vec<Figures> {
    let started = Instant::now();
    let (mut samples, mut printed) = (Vec::new(), started);
    while started.elapsed() < duration {
        tokio::time::sleep((duration / 120).min(Duration::from_secs(1))).await;
        if printed.elapsed() >= Duration::from_secs(10) {
            printed = Instant::now();
            print();
        }
        if started.elapsed() > duration / 4 {
            samples.push(Figures::now());
        }
    }
    samples
}

/// Prints the medians of three windows, and asserts that the last is like the first.
fn report(samples: &[Figures]) {
    let third = samples.len() / 3;
    assert!(third > 0, "too short to measure");
    let windows = [0, third, 2 * third].map(|from| Figures::median(&samples[from..from + third]));
    for (name, figures) in ["start", "middle", "end"].into_iter().zip(&windows) {
        println!(
            "{name:>6}: {:6.1} MiB, {:3} sockets, {:3} tasks",
            figures.memory_mib, figures.sockets, figures.tasks
        );
    }
    let most = |figure: fn(&Figures) -> usize| samples.iter().map(figure).max().unwrap_or_default();
    let (sockets, tasks) = (most(|figures| figures.sockets), most(|figures| figures.tasks));
    println!("  most: {sockets} sockets of {MAX_SOCKETS}, {tasks} tasks of {MAX_TASKS}");
    let [start, _, end] = windows;
    let most_memory = start.memory_mib * MAX_GROWTH.0 + MAX_GROWTH.1;
    assert!(
        end.memory_mib <= most_memory,
        "memory grows: more than {most_memory:.1} MiB"
    );
    assert!(sockets <= MAX_SOCKETS && tasks <= MAX_TASKS, "more than the load needs");
    assert!(
        end.sockets <= start.sockets + MAX_MORE && end.tasks <= start.tasks + MAX_MORE,
        "sockets or tasks grow"
    );
}
