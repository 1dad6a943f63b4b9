//! A run on an endpoint: a check, the facts, the conformance suite, the cleanup, and the report.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::transport::Transport;
use azure_table::{DateTime, Guid};

use crate::fact::{Exchange, Fact, On};
use crate::parity::expectation::{Mismatch, mismatches};
use crate::parity::options::Options;
use crate::parity::pattern::Bound;
use crate::parity::results::{Exchanged, Measured, Results};
use crate::parity::shown::shown;
use crate::parity::{json, page};
use crate::service::account::Account;
use crate::service::check::{self, Unusable};
use crate::service::cleanup::{finish, remove_file};
use crate::service::guard::Guard;
use crate::service::mask::encoded;
use crate::service::output::{Exit, Output, Streams, confirmed};
use crate::service::product::{backend_name, network, product};
use crate::service::seen::Seen;
use crate::service::side::Side;
use crate::service::stop::Stop;
use crate::service::tables::Tables;
use crate::{facts, suite};

/// The beginning of every table of a run, which adds letters of its own.
const PREFIX: &str = "parity";

/// The end of a run with its results, or the reason why it did not start.
pub(crate) type Ran = Result<(Exit, Results), String>;

/// Runs the program. `transport` replaces the network, and `stop` ends a run early.
pub(crate) async fn run(
    options: &Options,
    transport: Option<Arc<dyn Transport>>,
    stop: &Stop,
    streams: Streams<'_>,
) -> Ran {
    let account = Account::new(&options.account, options.cosmos)?;
    if named_facts(&account, options).next().is_none() && named_tests(&account, options).next().is_none() {
        return Err(format!(
            "--only {}: no fact and no test has this in its name",
            options.only
        ));
    }
    let mut output = Output::new(streams.out, account.mask());
    let transport = match transport {
        Some(transport) => transport,
        None => network(options.certificate.as_deref())?,
    };
    if account.is_live && !options.yes {
        output.line("the facts create and delete tables of their own, and restore the service properties");
        confirmed(&mut output, stop).await?;
    }
    let id = Guid::random().to_string().replace('-', "");
    let prefix = format!("{PREFIX}{}", &id[..8]);
    let path = options.tables.clone();
    let path = path.unwrap_or_else(|| PathBuf::from(format!("{prefix}.tables")));
    let tables = Tables::create(&path, &account.base, &prefix).map_err(|e| format!("{}: {e}", path.display()))?;
    stop.set_file(&path);
    let guard = Guard::new(transport.clone(), &prefix, u64::MAX, Some(tables));
    let Some(tables) = guard.tables() else {
        return Err("no file of tables".to_owned());
    };
    let results = Mutex::new(Results {
        date: format!("{:.10}", DateTime::now().to_string()),
        service: match account.is_cosmos {
            true => "Cosmos DB for Table",
            false => "Azure Table storage",
        },
        ..Results::default()
    });
    let work = async {
        check::check(&account, &guard, &prefix).await?;
        let product = match &options.name {
            Some(name) => Some(name.clone()),
            None => product(&account, &guard).await,
        };
        change(&results, |results| results.product = product);
        let name = backend_name(&account, &guard).await;
        let side = Side::new(account.clone(), guard.clone(), name, &prefix)?;
        measure(&side, options, &results).await?;
        Ok(())
    };
    let worked = tokio::select! {
        biased;
        () = stop.stopped() => {
            change(&results, |results| results.problems.push("stopped by a signal".to_owned()));
            Ok(())
        }
        worked = work => worked,
    };
    if let Err(Unusable {
        has_response: false,
        why,
    }) = worked
    {
        remove_file(tables, &mut output);
        return Err(account.mask().hide(&why));
    }
    guard.settle().await;
    let cleaned = finish(&account, &transport, tables, &mut output).await;
    if let Err(Unusable { why, .. }) = worked {
        return Err(account.mask().hide(&why));
    }
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    print(&results, &mut output);
    write(options, &results)?;
    let exit = match cleaned {
        Exit::NoDifference => results.exit(),
        other => other,
    };
    Ok((exit, results))
}

fn change(results: &Mutex<Results>, change: impl FnOnce(&mut Results)) {
    change(&mut results.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Returns the facts of the account's service that the options name, each with its number.
fn named_facts<'a>(account: &Account, options: &'a Options) -> impl Iterator<Item = (usize, &'static Fact)> + 'a {
    let elsewhere = if account.is_cosmos { On::Storage } else { On::Cosmos };
    let facts = facts::all().enumerate();
    facts.filter(move |(_, fact)| fact.on != elsewhere && fact.name.to_lowercase().contains(&options.only))
}

/// Returns the tests of the suite that the options name, none on Cosmos DB: some do not hold there.
fn named_tests<'a>(account: &Account, options: &'a Options) -> impl Iterator<Item = suite::Test> + 'a {
    let is_left_out = options.no_suite || account.is_cosmos;
    let tests = suite::all().into_iter();
    tests.filter(move |test| !is_left_out && test.name.to_lowercase().contains(&options.only))
}

/// Sends the requests of the facts, and runs the suite.
async fn measure(side: &Side, options: &Options, results: &Mutex<Results>) -> Result<(), String> {
    side.create_table().await?;
    for (index, fact) in named_facts(&side.account, options) {
        let properties = match fact.changes_properties {
            true => Some(side.keep_properties().await?),
            false => None,
        };
        let measured = measured(side, index, fact).await;
        if let Some(properties) = properties {
            side.restore_properties(properties).await?;
        }
        change(results, |results| results.facts.push(measured));
    }
    for test in named_tests(&side.account, options) {
        if test.obstacle(&side.account, !side.account.is_live).is_some() {
            continue;
        }
        let outcome = test.run(&side.backend).await;
        let outcome = outcome.map_err(|why| side.mask.hide(&why));
        change(results, |results| results.suite.push((test.name, outcome)));
    }
    Ok(())
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

async fn exchanged(side: &Side, exchange: &Exchange, names: &mut crate::step::Names) -> Result<Exchanged, String> {
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
