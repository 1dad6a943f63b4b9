//! Every history of a write whose response may be lost, up to a bound: the call never says "not applied" of a write
//! that is stored, and no write has two effects.
//!
//! A history is a sequence of choices (`choices.rs`): the fate of each attempt, the writes of other clients, the reads,
//! the waits and one wrong clock (`world.rs`). `service.rs` is the service, `writes.rs` has the kinds of writes, and
//! `trial.rs` runs a history on the real client. `evidence.rs` has the histories that were found first, on the
//! emulator. `view.rs` groups those that look the same to the client: where all of a group have one outcome, the client
//! should say it, or the report names the reason.

mod choices;
mod emulator;
mod evidence;
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

use azure_table_tests::promises::replace_wall_clock;
use azure_table_tests::scenario::of_all;
use tokio::runtime::Runtime;

use choices::Choices;
use fates::{Bounds, Clock};
use trial::{CLAIMS, Ended, paused};
use view::Classes;
use writes::Write;

/// The numbers of histories of one kind of write: all, then by what the caller was told, then by the claim they break.
type Counts = [u64; 7];

/// The results of an enumeration.
#[derive(Debug, Default)]
struct Results {
    /// By the number of the write.
    counts: BTreeMap<usize, Counts>,
    classes: Classes,
    /// The simplest history by claim, write and kind of clock.
    examples: BTreeMap<(usize, usize, &'static str), (Clock, Vec<u8>)>,
}

impl Results {
    fn add(&mut self, (number, clock): (usize, Clock), ended: &Ended) {
        let counts = self.counts.entry(number).or_default();
        counts[0] += 1;
        counts[1 + ended.answer.number()] += 1;
        for (claim, _) in &ended.broken {
            counts[4 + claim] += 1;
            let taken = ended.choices.taken();
            let cost = |taken: &[u8]| taken.iter().map(|choice| u32::from(*choice)).sum::<u32>();
            let key = (*claim, number, clock.family());
            if self
                .examples
                .get(&key)
                .is_none_or(|(_, known)| cost(&taken) < cost(known))
            {
                self.examples.insert(key, (clock, taken));
            }
        }
    }

    fn extend(&mut self, other: Self) {
        for (number, counts) in other.counts {
            let sum = self.counts.entry(number).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.classes.extend(other.classes);
        for (key, example) in other.examples {
            self.examples.entry(key).or_insert(example);
        }
    }

    fn broken(&self) -> u64 {
        self.counts.values().flat_map(|counts| &counts[4..]).sum()
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |values: [&dyn fmt::Display; 7], write: &dyn fmt::Display| {
            values.iter().try_for_each(|value| write!(f, "{value:>9} "))?;
            writeln!(f, " {write}")
        };
        line([&"histories", &"Ok", &"error", &"in doubt", &"C1", &"C2", &"C3"], &"")?;
        let (writes, mut sum) = (Write::all(), Counts::default());
        for (number, counts) in &self.counts {
            line(counts.each_ref().map(|count| count as _), &writes[*number])?;
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        line(sum.each_ref().map(|count| count as _), &"all")
    }
}

/// Runs one history.
fn run(runtime: &Runtime, of: (Write, Clock), bounds: Bounds, choices: Choices, is_logged: bool) -> Ended {
    runtime.block_on(trial::run(of, bounds, choices, is_logged))
}

/// Returns the simplest history of each broken claim.
fn examples(results: &Results, bounds: Bounds) -> String {
    let mut text = String::new();
    let (runtime, _clock) = (paused(), replace_wall_clock(world::wall_clock));
    for ((claim, number, _), (clock, taken)) in &results.examples {
        let of = (Write::all()[*number], *clock);
        let breaks = |taken: &[u8]| {
            let ended = run(&runtime, of, bounds, Choices::of(taken), false);
            ended.broken.iter().any(|(broken, _)| broken == claim)
        };
        let taken = choices::simplest(taken.clone(), breaks);
        let ended = run(&runtime, of, bounds, Choices::of(&taken), true);
        let broken = ended.broken.iter().filter(|(broken, _)| broken == claim);
        let places = broken.map(|(_, place)| &**place).collect::<Vec<_>>().join(", ");
        text += &format!("\n{} ({places}): {}, {:?}\n", CLAIMS[*claim], of.0, of.1);
        text += &ended.log.join("\n");
        text += "\n";
    }
    text
}

/// Runs all histories of these writes on two threads.
fn enumerate(bounds: Bounds, of: impl Fn(&Write) -> bool) -> Results {
    let writes = Write::all();
    let all = writes
        .iter()
        .enumerate()
        .flat_map(|(number, write)| Clock::ALL.map(|clock| (number, *write, clock)));
    let all: Vec<_> = all
        .filter(|(_, write, clock)| {
            of(write)
                && matches!(
                    clock,
                    Clock::Right
                        | Clock::NoDate
                        | Clock::Cosmos
                        | Clock::Date(40 | -840)
                        | Clock::Own(40 | -840)
                        | Clock::Stepped(40, 0)
                        | Clock::Stepped(0, -40)
                )
        })
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut runtime, _clock) = (paused(), replace_wall_clock(world::wall_clock));
        let mut results = Results::default();
        while let Some((number, write, clock)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut choices = Some(Choices::default());
            while let Some(taken) = choices {
                let ended = run(&runtime, (*write, *clock), bounds, taken, false);
                results.add((*number, *clock), &ended);
                let Ended {
                    view,
                    answer,
                    is_applied,
                    ..
                } = ended;
                results.classes.add((*number, *clock), view, is_applied, &answer);
                choices = ended.choices.following();
                // tokio's timers become slow after two years, and a history takes some minutes of its clock.
                if results.counts[number][0].is_multiple_of(1_000) {
                    runtime = paused();
                }
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
#[ignore = "an hour: `cargo xtask long lost-writes`"]
fn every_short_one_ends_with_the_truth() {
    let bounds = Bounds {
        attempts: 2,
        changes: 1,
        has_all_fates: false,
    };
    let started = Instant::now();
    let named = std::env::var("AZURE_TABLE_LOST_WRITE").unwrap_or_default();
    let results = enumerate(bounds, |write| {
        write.steps.len() == 1 && write.to_string().contains(&named)
    });
    println!("{}", examples(&results, bounds));
    println!("{results}");
    let needless = results.classes.report(&Write::all());
    println!("{needless}");
    let all: u64 = results.counts.values().map(|counts| counts[0]).sum();
    println!("{all} histories of lost writes in {:.0?}", started.elapsed());
    assert_eq!((results.broken(), needless.unnamed.len()), (0, 0));
}

/// Histories of up to three attempts with up to two writes of other clients.
#[test]
fn random_one_ends_with_the_truth() {
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
        results.add((number, clock), &ended);
    }
    println!("{}", examples(&results, bounds));
    println!("{results}");
    assert_eq!(results.broken(), 0);
}
