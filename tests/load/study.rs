//! The closed loops of the study of 2010, against its figures.
//!
//! Set-up as there: one partition, synchronous workers, no retry, 3 s pause after a refusal, counted when all is steady. Rows
//! have keys alone, since the model counts entities and not bytes.

use super::*;

/// `value` is no further from `golden` than by this factor.
fn assert_within(factor: f64, value: f64, golden: f64, what: &str) {
    assert!(
        value <= golden * factor && value >= golden / factor,
        "{what}: {value}, in the study {golden}"
    );
}

fn closed_loop(workers: usize, seconds: u64) -> ClosedLoop {
    ClosedLoop {
        workers,
        pause: Duration::from_secs(3),
        warm_up: Duration::from_secs(5),
        time: Duration::from_secs(seconds),
    }
}

fn row(worker: usize, n: usize) -> DynamicEntity {
    DynamicEntity::new("p", format!("{worker:03}_{n:06}"))
}

/// A figure as it came out, printed as a whole when it is complete.
struct Figure(String);

impl Figure {
    fn new(title: &str) -> Self {
        Self(format!("{title}\nworkers accepted/s refused %\n"))
    }

    /// Adds a line, and gives accepted entities per second and the refused share in per cent.
    fn line(&mut self, workers: usize, seconds: u64, load: &ServiceLoad) -> (f64, f64) {
        let accepted = load.accepted_entities as f64 / seconds as f64;
        let refused = load.refused_share() * 100.0;
        self.0 += &format!("{workers:>7} {accepted:>10.0} {refused:>9.4}\n");
        (accepted, refused)
    }
}

impl Drop for Figure {
    fn drop(&mut self) {
        eprint!("{}", self.0);
    }
}

/// The study gives 2,300 entities/s and almost no refusal at 20 workers, about 11 % refused at the next steps up to 30, and about
/// 2,500/s with 22 % refused at 50. A server that does one thing after the other does as much with 20 workers waiting as with
/// 30, so both rates can be met only by one between them: 7 % is a little more than half of their distance. Of some 700 requests
/// the refused share is known to three points; the unit tests of the emulator's `load` look at more of them, more closely.
#[tokio::test(start_paused = true)]
async fn batches_of_100_into_one_partition_fare_as_in_figure_15() {
    let mut figure = Figure::new("Figure 15: batches of 100");
    for (workers, seconds, golden_accepted, golden_refused) in
        [(20, 6, 2_300.0, 0.0), (30, 18, 2_400.0, 11.0), (50, 24, 2_500.0, 22.0)]
    {
        let (emulator, table) = table(ServiceModel::in_2010()).await;
        let load = closed_loop(workers, seconds)
            .run(&emulator, move |worker, n| {
                let mut batch = table.batch();
                for index in n * 100..(n + 1) * 100 {
                    batch.insert(&row(worker, index)).unwrap();
                }
                async move { batch.commit().await.map(drop) }
            })
            .await;
        let (accepted, refused) = figure.line(workers, seconds, &load);
        assert_within(1.07, accepted, golden_accepted, "accepted");
        if golden_refused == 0.0 {
            assert!(refused < 0.5, "almost none, and not {refused} %");
        } else {
            assert!((refused - golden_refused).abs() < 3.5, "{refused} % refused");
        }
    }
}

/// What is refused are a few requests in ten thousand: here only their order of magnitude can be seen. The unit tests of the
/// emulator's `load` count them for longer.
#[tokio::test(start_paused = true)]
async fn inserts_into_one_partition_fare_as_in_figure_8() {
    const SECONDS: u64 = 10;
    let mut figure = Figure::new("Figure 8: inserts");
    for (workers, golden_accepted, golden_refused) in [
        (30, 600.0, 0.0..0.01),
        (75, 1_000.0, 0.0..0.01),
        (150, 1_000.0, 0.0..0.1),
        (240, 1_000.0, 0.1..0.4),
    ] {
        let (emulator, table) = table(ServiceModel::in_2010()).await;
        let load = closed_loop(workers, SECONDS)
            .run(&emulator, move |worker, n| {
                let insert = table.insert(&row(worker, n));
                async move { insert.await.map(drop) }
            })
            .await;
        let (accepted, refused) = figure.line(workers, SECONDS, &load);
        assert_within(1.2, accepted, golden_accepted, "accepted");
        assert!(golden_refused.contains(&refused), "{refused} % refused");
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_faster_than_inserts_as_in_figure_9() {
    const SECONDS: u64 = 10;
    let (emulator, table) = table(ServiceModel::in_2010()).await;
    let load = closed_loop(75, SECONDS)
        .run(&emulator, move |_, _| {
            let get = table.get(("p", "missing"));
            async move { get.await.map(drop) }
        })
        .await;
    let (read, _) = Figure::new("Figure 9: reads").line(75, SECONDS, &load);
    assert!(read > 1_400.0, "{read} reads/s");
}

/// Figures 3 and 4, of one worker alone: inserts below 50 ms and reads below 40 ms, most of them; batches of 100 below 1.2 s.
#[tokio::test(start_paused = true)]
async fn most_single_calls_take_as_long_as_in_figures_3_and_4() {
    let (_, table) = table(ServiceModel::in_2010()).await;
    let (mut slow_inserts, mut slow_reads) = (0, 0);
    for n in 0..200 {
        let begun = Instant::now();
        table.insert(&row(0, n)).await.unwrap();
        slow_inserts += usize::from(begun.elapsed().as_millis() >= 50);
        let begun = Instant::now();
        table.get(&row(0, n)).await.unwrap();
        slow_reads += usize::from(begun.elapsed().as_millis() >= 40);
    }
    assert!(slow_inserts < 50 && slow_reads < 50, "{slow_inserts}, {slow_reads}");
    let mut batch = table.batch();
    for n in 0..100 {
        batch.insert(&row(1, n)).unwrap();
    }
    let begun = Instant::now();
    batch.commit().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(1_200));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_fate() {
    let mut seen = Vec::new();
    for seed in [1, 1, 2] {
        let (emulator, table) = table(ServiceModel::in_2010().crowd(100).seed(seed)).await;
        let load = closed_loop(75, 4)
            .run(&emulator, move |worker, n| {
                let insert = table.insert(&row(worker, n));
                async move { insert.await.map(drop) }
            })
            .await;
        assert!(load.refused_requests > 0);
        seen.push(load);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}
