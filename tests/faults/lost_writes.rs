//! Every history of a write whose response may be lost, up to a bound: the call never says "not applied" of a write
//! that is stored, and no write has two effects.
//!
//! A history is a sequence of choices (`choices.rs`): the fate of each attempt, the writes of other clients, the reads,
//! the waits and one wrong clock (`world.rs`). `service.rs` is the service, `writes.rs` has the kinds of writes, and
//! `trial.rs` runs a history on the real client. `view.rs` groups the histories that look the same to the client: where
//! all of a group have one outcome, the client should say it.

mod choices;
mod emulator;
mod fates;
mod service;
mod trial;
mod view;
mod world;
mod writes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use azure_table_tests::scenario::of_all;
use azure_table_wire::value::clock::replace_wall_clock;
use tokio::runtime::Runtime;

use choices::Choices;
use fates::{Bounds, Clock};
use trial::{CLAIMS, Ended, paused};
use view::Classes;
use writes::{Answer, Write};

/// The counts of one kind of write.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    histories: u64,
    applied: u64,
    not_applied: u64,
    in_doubt: u64,
    broken: [u64; 3],
}

/// The results of an enumeration.
#[derive(Debug, Default)]
struct Results {
    counts: BTreeMap<usize, Counts>,
    classes: Classes,
    /// The shortest history of each kind, clock and claim.
    examples: BTreeMap<(usize, usize, &'static str), (Clock, Vec<u8>, String)>,
}

impl Results {
    fn add(&mut self, (number, clock): (usize, Clock), ended: &Ended, has_classes: bool) {
        let counts = self.counts.entry(number).or_default();
        counts.histories += 1;
        *match ended.answer {
            Answer::Applied => &mut counts.applied,
            Answer::NotApplied(_) => &mut counts.not_applied,
            Answer::InDoubt(_) => &mut counts.in_doubt,
        } += 1;
        let taken = || ended.choices.taken();
        for (claim, place) in &ended.broken {
            counts.broken[*claim] += 1;
            let key = (*claim, number, clock.family());
            let known = self
                .examples
                .get(&key)
                .map(|(_, known, _)| known.iter().map(|c| u32::from(*c)).sum::<u32>());
            let sum = taken().iter().map(|choice| u32::from(*choice)).sum::<u32>();
            if known.is_none_or(|known| sum < known) {
                self.examples.insert(key, (clock, taken(), place.clone()));
            }
        }
        if has_classes {
            self.classes
                .add((number, clock), ended.view.clone(), ended.is_applied, &ended.answer);
        }
    }

    fn extend(&mut self, other: Self) {
        for (number, counts) in other.counts {
            let sum = self.counts.entry(number).or_default();
            sum.histories += counts.histories;
            sum.applied += counts.applied;
            sum.not_applied += counts.not_applied;
            sum.in_doubt += counts.in_doubt;
            (0..3).for_each(|claim| sum.broken[claim] += counts.broken[claim]);
        }
        self.classes.extend(other.classes);
        for (key, example) in other.examples {
            self.examples.entry(key).or_insert(example);
        }
    }

    fn broken(&self) -> u64 {
        self.counts.values().flat_map(|counts| counts.broken).sum()
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = Write::all();
        writeln!(
            f,
            "{:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7}",
            "histories", "Ok", "error", "in doubt", "C1", "C2", "C3"
        )?;
        for (number, counts) in &self.counts {
            let Counts {
                histories,
                applied,
                not_applied,
                in_doubt,
                broken: [c1, c2, c3],
            } = counts;
            let write = writes[*number];
            writeln!(
                f,
                "{histories:9} {applied:9} {not_applied:9} {in_doubt:9} {c1:7} {c2:7} {c3:7}  {write}"
            )?;
        }
        Ok(())
    }
}

/// Runs one history.
fn run(runtime: &Runtime, of: (Write, Clock), bounds: Bounds, choices: Choices, is_logged: bool) -> Ended {
    runtime.block_on(trial::run(of, bounds, choices, is_logged))
}

/// Prints the simplest history of each broken claim.
fn print_examples(results: &Results, bounds: Bounds) {
    let (runtime, _clock) = (paused(), replace_wall_clock(world::wall_clock));
    for ((claim, number, _), (clock, taken, _)) in &results.examples {
        let of = (Write::all()[*number], *clock);
        let breaks = |taken: &[u8]| {
            let ended = run(&runtime, of, bounds, Choices::of(taken), false);
            ended.broken.iter().any(|(broken, _)| broken == claim)
        };
        let taken = choices::simplest(taken.clone(), breaks);
        let ended = run(&runtime, of, bounds, Choices::of(&taken), true);
        let places: Vec<_> = ended
            .broken
            .iter()
            .filter(|(broken, _)| broken == claim)
            .map(|(_, place)| &**place)
            .collect();
        println!("\n{} ({}): {}, {:?}", CLAIMS[*claim], places.join(", "), of.0, of.1);
        ended.log.iter().for_each(|line| println!("  {line}"));
    }
}

/// Runs all histories of these writes on two threads.
fn enumerate(bounds: Bounds, of: impl Fn(&Write, Clock) -> bool + Sync) -> Results {
    let writes = Write::all();
    let all = writes
        .iter()
        .enumerate()
        .flat_map(|(number, write)| Clock::ALL.map(|clock| (number, *write, clock)));
    let all: Vec<_> = all.filter(|(_, write, clock)| of(write, *clock)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (runtime, _clock) = (paused(), replace_wall_clock(world::wall_clock));
        let mut results = Results::default();
        while let Some((number, write, clock)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut choices = Some(Choices::default());
            while let Some(taken) = choices {
                let ended = run(&runtime, (*write, *clock), bounds, taken, false);
                results.add((*number, *clock), &ended, true);
                choices = ended.choices.following();
            }
        }
        results
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut results = work();
        results.extend(other.join().unwrap());
        results
    })
}

/// Histories of one or two attempts with at most one write of another client, of one row.
#[test]
#[ignore = "10 min: some million histories"]
fn every_short_history_ends_with_the_truth() {
    let bounds = Bounds {
        attempts: 2,
        changes: 1,
        has_all_fates: false,
    };
    let started = Instant::now();
    let results = enumerate(bounds, |write, _| write.steps.len() == 1);
    print_examples(&results, bounds);
    println!("{results}");
    println!("{}", results.classes.report(&Write::all()));
    println!("{:.0?}", started.elapsed());
    assert_eq!(results.broken(), 0);
}

/// Histories of up to three attempts with up to two writes of other clients.
#[test]
fn random_history_ends_with_the_truth() {
    let bounds = Bounds {
        attempts: 3,
        changes: 2,
        has_all_fates: true,
    };
    let (runtime, _clock) = (paused(), replace_wall_clock(world::wall_clock));
    let writes = Write::all();
    let mut results = Results::default();
    for seed in 0..u64::from(of_all(20_000)) {
        let mut random = fastrand::Rng::with_seed(seed);
        let number = random.usize(..writes.len());
        let clock = Clock::ALL[random.usize(..Clock::ALL.len())];
        let ended = run(&runtime, (writes[number], clock), bounds, Choices::random(seed), false);
        results.add((number, clock), &ended, false);
    }
    print_examples(&results, bounds);
    println!("{results}");
    assert_eq!(results.broken(), 0);
}
