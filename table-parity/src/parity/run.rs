//! The facts on an endpoint: their requests, the conformance suite, and the report.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table::DateTime;
use azure_table::transport::Transport;

use crate::fact::{Exchange, Fact, On};
use crate::facts;
use crate::parity::expectation::{Mismatch, mismatches};
use crate::parity::options::Options;
use crate::parity::pattern::Bound;
use crate::parity::results::{Exchanged, Measured, Results};
use crate::parity::shown::shown;
use crate::parity::{json, page};
use crate::run::{End, Run};
use crate::service::account::Account;
use crate::service::mask::encoded;
use crate::service::output::{Exit, Output, Streams};
use crate::service::product::product;
use crate::service::progress::Progress;
use crate::service::seen::Seen;
use crate::service::side::Side;
use crate::service::stop::Stop;
use crate::step::Names;
use crate::suite::{self, Test};

/// The end of a run with its results, or the reason why it did not start.
pub(crate) type Ran = Result<(Exit, Results), String>;

/// Runs the program. `transport` replaces the network, and `stop` ends a run early.
pub(crate) async fn run(
    options: &Options,
    transport: Option<Arc<dyn Transport>>,
    stop: &Stop,
    streams: Streams<'_>,
) -> Ran {
    let mut run = Run::new(&options.account, &options.common, "parity", transport, stop, streams)?;
    if let Some(exit) = run.clean_up().await? {
        return Ok((exit, Results::default()));
    }
    let plan = Plan::new(&run.account, options);
    let parts = plan.facts.len() + plan.tests.len();
    let rehearsal = async |twin: &Side| measure(twin, &plan, &Mutex::default(), |_| {}).await;
    run.rehearse(parts, rehearsal).await?;
    let results = Mutex::new(Results {
        date: format!("{:.10}", DateTime::now().to_string()),
        service: match run.account.is_cosmos {
            true => "Cosmos DB for Table".to_owned(),
            false => "Azure Table storage".to_owned(),
        },
        product: options.name.clone(),
        ..Results::default()
    });
    let work = async |side: &Side, progress: &mut Progress<'_>| {
        if options.name.is_none() {
            let product = product(&side.account, &side.guard).await;
            lock(&results).product = product;
        }
        measure(side, &plan, &results, |sent| progress.step(sent)).await;
    };
    let asks = run.account.is_live;
    let exit = run.perform(parts, asks, work, |end, _, output| {
        let results = &mut *lock(&results);
        if end != End::Complete {
            results.problems.push(end.to_string());
        }
        results.problems.extend(write(options, results).err());
        print(results, output);
        results.exit()
    });
    let exit = exit.await?;
    Ok((exit, results.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn lock(results: &Mutex<Results>) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The facts and functions of a run.
struct Plan {
    /// Each with its number.
    facts: Vec<(usize, &'static Fact)>,
    tests: Vec<Test>,
}

impl Plan {
    /// Returns what the options name. The suite is left out on Cosmos DB, where some functions do not hold.
    fn new(account: &Account, options: &Options) -> Self {
        let elsewhere = if account.is_cosmos { On::Storage } else { On::Cosmos };
        let is_left_out = options.no_suite || account.is_cosmos;
        let facts = facts::all().enumerate();
        let tests = suite::all().into_iter();
        Self {
            facts: facts
                .filter(|(_, fact)| fact.on != elsewhere && options.common.names(fact.name))
                .collect(),
            tests: tests
                .filter(|test| !is_left_out && options.common.names(test.name))
                .filter(|test| test.obstacle(account, !account.is_live).is_none())
                .collect(),
        }
    }
}

/// Sends the requests of the facts, and runs the suite. Calls `progress` after each fact and function, with the number
/// of requests so far.
async fn measure(side: &Side, plan: &Plan, results: &Mutex<Results>, mut progress: impl FnMut(u64)) {
    let problem = |why: String| lock(results).problems.push(side.mask.hide(&why));
    let keeps_properties = async |changes| side.keep_properties(changes).await.map_err(problem).is_ok();
    if let Err(why) = side.create_table().await {
        return problem(why);
    }
    for (index, fact) in &plan.facts {
        if keeps_properties(fact.changes_properties).await {
            let measured = measured(side, *index, fact).await;
            lock(results).facts.push(measured);
        }
        progress(side.guard.sent());
    }
    for test in &plan.tests {
        if keeps_properties(test.changes_properties()).await {
            let outcome = test.run(&side.backend).await;
            let outcome = outcome.map_err(|why| side.mask.hide(&why));
            lock(results).suite.push((test.name.to_owned(), outcome));
        }
        progress(side.guard.sent());
    }
}

/// Sends the requests of a fact.
async fn measured(side: &Side, index: usize, fact: &'static Fact) -> Measured {
    let mut measured = Measured {
        fact,
        exchanges: Vec::new(),
        failed: None,
    };
    let mut names = side.names(index);
    for exchange in fact.exchanges {
        match exchanged(side, exchange, &mut names).await {
            Ok(exchanged) => measured.exchanges.push(exchanged),
            Err(why) => {
                measured.failed = Some(shown(&why, &names, &side.mask));
                break;
            }
        }
    }
    measured
}

async fn exchanged(side: &Side, exchange: &Exchange, names: &mut Names) -> Result<Exchanged, String> {
    let step = &exchange.step;
    if step.waits {
        side.wait_for_change().await;
    }
    let (response, mask) = side.send(step, names).await?;
    let seen = Seen::of(&response, &mask);
    let mut exchanged = Exchanged {
        request: step.to_string(),
        came: shown(&seen.outcome(), names, &mask),
        ..Exchanged::default()
    };
    match &exchange.expected {
        None if seen.status >= 400 => {
            return Err(format!("{step}, which prepares the fact, fails: {}", seen.outcome()));
        }
        None => {}
        Some(expected) => {
            exchanged.expected = expected.to_string();
            let found = mismatches(expected, &response, names, &mut Bound::default()).into_iter();
            let masked = found.map(|mismatch| Mismatch {
                came: shown(&mismatch.came, names, &mask),
                ..mismatch
            });
            exchanged.mismatches = masked.collect();
        }
    }
    names.next = continuation(&response);
    if let Some(etag) = response.headers().get("etag").and_then(|value| value.to_str().ok()) {
        etag.clone_into(&mut names.etag);
    }
    Ok(exchanged)
}

/// Returns the parameters with the continuation of a response, or nothing.
fn continuation(response: &http::Response<bytes::Bytes>) -> String {
    let parameters = ["NextPartitionKey", "NextRowKey", "NextTableName"]
        .into_iter()
        .filter_map(|name| {
            let value = response.headers().get(format!("x-ms-continuation-{name}"))?;
            Some(format!("{name}={}", encoded(value.to_str().ok()?)))
        });
    parameters.collect::<Vec<_>>().join("&")
}

fn print(results: &Results, output: &mut Output<'_>) {
    let product = results
        .product
        .as_deref()
        .unwrap_or("an endpoint that names no product");
    let all = results.all();
    output.line(&format!("{product}, measured as {}", results.service));
    output.line(&format!("{:>4} of {:>4} facts as live", all.alike, all.of));
    output.line(&format!(
        "{:>4} more differ only in headers or the text of an error",
        all.close
    ));
    for (area, figure) in results.areas() {
        output.line(&format!("{:>4} of {:>4} {area:?}", figure.alike, figure.of));
    }
    let suite = results.of_suite();
    if suite.of > 0 {
        output.line(&format!(
            "{:>4} of {:>4} functions of the conformance suite",
            suite.alike, suite.of
        ));
    }
    for problem in &results.problems {
        output.line(&format!("problem: {problem}"));
    }
}

fn write(options: &Options, results: &Results) -> Result<(), String> {
    let pretty = |value: &serde_json::Value| format!("{value:#}\n");
    let files = [
        (&options.report, page::page(results)),
        (&options.json, pretty(&json::results(results))),
        (&options.badge, pretty(&json::badge(results))),
    ];
    let write = |path: &Path, text: &str| std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
    let mut named = files.iter().filter_map(|(path, text)| Some((path.as_deref()?, text)));
    named.try_for_each(|(path, text)| write(path, text))
}
