//! A run: the emulator first, which also counts the requests, then the service, then the report and the cleanup.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table::Guid;
use azure_table::transport::Transport;

use crate::comparison::observation::{self, Observed};
use crate::comparison::options::Options;
use crate::comparison::probe::{Needs, Probe};
use crate::comparison::probes;
use crate::comparison::progress::Progress;
use crate::comparison::report::{End, Report};
use crate::service::account::Account;
use crate::service::check::{self, Unusable};
use crate::service::cleanup::{finish, remove_file};
use crate::service::guard::Guard;
use crate::service::output::{Exit, Output, Streams, confirmed};
use crate::service::product::{backend_name, network};
use crate::service::record;
use crate::service::side::Side;
use crate::service::stop::Stop;
use crate::service::tables::Tables;
use crate::suite::{self, Test};

/// The beginning of every table of the program. A run adds letters of its own.
const PREFIX: &str = "verify";

/// The functions and probes of a run, with the reason for those that cannot run.
pub(crate) struct Plan {
    pub(crate) tests: Vec<(Test, Option<&'static str>)>,
    pub(crate) probes: Vec<(usize, &'static Probe, Option<&'static str>)>,
}

impl Plan {
    /// Returns the number of functions and probes that run.
    fn number(&self, skipped: &[usize]) -> usize {
        let tests = self.tests.iter().filter(|(_, obstacle)| obstacle.is_none()).count();
        let probes = self.probes.iter().filter(|(.., obstacle)| obstacle.is_none()).count();
        tests + probes - skipped.len()
    }

    fn new(account: &Account, options: &Options) -> Self {
        let is_named = |name: &str| name.to_lowercase().contains(&options.only);
        let tests = suite::all().into_iter().filter(|test| is_named(test.name));
        let probes = probes::all().enumerate().filter(|(_, probe)| is_named(probe.line.0));
        let change = options.change_properties;
        Self {
            tests: tests
                .map(|test| {
                    let obstacle = test.obstacle(account, change);
                    (test, obstacle)
                })
                .collect(),
            probes: probes
                .map(|(index, probe)| (index, probe, observation::obstacle(probe, account, change)))
                .collect(),
        }
    }
}

/// The results of one side, in the order of the plan. Later ones are missing if the run was canceled.
#[derive(Clone, Default)]
pub(crate) struct Results {
    pub(crate) tests: Vec<Option<Result<(), String>>>,
    pub(crate) probes: Vec<Option<Observed>>,
    pub(crate) problems: Vec<String>,
}

type Shared = Arc<Mutex<Results>>;

fn lock(results: &Shared) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a plan on one side. `skipped` names the functions that the emulator of this service fails. Calls `progress`
/// after each function and probe, with the number of requests so far.
async fn exercise(
    side: &Side,
    plan: &Plan,
    skipped: &[usize],
    record: Option<&Path>,
    results: &Shared,
    mut progress: impl FnMut(u64),
) {
    for (index, (test, obstacle)) in plan.tests.iter().enumerate() {
        let outcome = if obstacle.is_some() || skipped.contains(&index) {
            None
        } else {
            let changes = test.changes_properties();
            // Such a function reads and restores the properties of the account.
            let record = record.filter(|_| !changes);
            let name = test.name.replace("::", "_");
            let task = recorded(side, record, &name, results, test.run(&side.backend));
            let outcome = with_properties(side, changes, task, results).await;
            progress(side.guard.sent());
            outcome
        };
        lock(results).tests.push(outcome);
    }
    if plan.probes.iter().all(|(.., obstacle)| obstacle.is_some()) {
        lock(results).probes.resize(plan.probes.len(), None);
        return;
    }
    if let Err(why) = side.create_table().await {
        lock(results).problems.push(side.mask.hide(&why));
        return;
    }
    for (index, probe, obstacle) in &plan.probes {
        let observed = if obstacle.is_some() {
            None
        } else {
            let changes = probe.needs == Needs::Properties;
            let name = format!("probe_{index:03}");
            let task = recorded(side, record, &name, results, side.observe(*index, probe));
            let observed = with_properties(side, changes, task, results).await;
            progress(side.guard.sent());
            observed
        };
        lock(results).probes.push(observed);
    }
}

/// Restores the properties after a task that changes them. Returns `None` if they cannot be kept before it.
async fn with_properties<T>(side: &Side, changes: bool, task: impl Future<Output = T>, results: &Shared) -> Option<T> {
    if !changes {
        return Some(task.await);
    }
    let properties = match side.keep_properties().await {
        Ok(properties) => properties,
        Err(why) => {
            lock(results).problems.push(side.mask.hide(&why));
            return None;
        }
    };
    let outcome = task.await;
    if let Err(why) = side.restore_properties(properties).await {
        lock(results).problems.push(side.mask.hide(&why));
    }
    Some(outcome)
}

/// Writes the exchanges of a task.
async fn recorded<T>(
    side: &Side,
    record: Option<&Path>,
    name: &str,
    results: &Shared,
    task: impl Future<Output = T>,
) -> T {
    side.guard.start_session();
    let outcome = task.await;
    let session = side.guard.end_session();
    if let Some(folder) = record
        && let Err(e) = record::write(folder, name, &session, &side.mask)
    {
        lock(results).problems.push(format!("the recording of {name}: {e}"));
    }
    outcome
}

/// The end of a run with a report, or the reason why it did not start.
pub(crate) type Ran = Result<(Exit, Option<Report>), String>;

/// Runs the program. `transport` replaces the network, and `stop` ends a run early.
pub(crate) async fn run(
    options: &Options,
    transport: Option<Arc<dyn Transport>>,
    stop: &Stop,
    streams: Streams<'_>,
) -> Ran {
    let account = Account::new(&options.account, options.cosmos)?;
    let mut output = Output::new(streams.out, account.mask());
    let transport = match transport {
        Some(transport) => transport,
        None => network(options.certificate.as_deref())?,
    };
    if let Some(file) = &options.cleanup {
        let tables = Tables::open(file, &account.base).map_err(|e| format!("{}: {e}", file.display()))?;
        return Ok((finish(&account, &transport, &tables, &mut output).await, None));
    }
    let id = Guid::random().to_string().replace('-', "");
    let prefix = format!("{PREFIX}{}", &id[..8]);
    let plan = Plan::new(&account, options);
    if plan.tests.is_empty() && plan.probes.is_empty() {
        return Err(format!(
            "--only {}: no test and no probe has this in its name",
            options.only
        ));
    }

    let (twin, emulator) = account.twin()?;
    let emulator: Arc<dyn Transport> = Arc::new(emulator);
    let unlimited = || Guard::new(emulator.clone(), &prefix, u64::MAX, None);
    // With a guard of its own: its requests are no part of the estimate.
    let checked = check::check(&twin, &unlimited(), &prefix).await;
    checked.map_err(|e| {
        account
            .mask()
            .hide(&format!("the emulator beside the account: {}", e.why))
    })?;
    let guard = unlimited();
    let twin = Side::new(twin, guard, "emulator", &prefix)?;
    let expected = Shared::default();
    tokio::select! {
        biased;
        () = stop.stopped() => return Ok((Exit::NotFinished, None)),
        () = exercise(&twin, &plan, &[], None, &expected, |_| {}) => {}
    }
    let expected = lock(&expected).clone();
    // A function of the suite for Azure Table storage may not hold on Cosmos DB: its emulator decides.
    let skipped: Vec<usize> = (0..expected.tests.len())
        .filter(|index| matches!(expected.tests[*index], Some(Err(_))))
        .collect();

    if plan.number(&skipped) == 0 {
        let mut reasons = plan.tests.iter().map(|(_, reason)| *reason);
        let mut of_probes = plan.probes.iter().map(|(.., reason)| *reason);
        let reason = reasons.find_map(|it| it).or(of_probes.find_map(|it| it));
        let reason = reason.unwrap_or("the emulator of this service fails it too");
        return Err(format!("no test and no probe can run: {reason}"));
    }

    // Concurrent requests and retries are not the same in every run.
    let estimate = twin.guard.sent() + twin.guard.sent() / 10 + 10;
    let cap = options.max_requests.unwrap_or(estimate + estimate / 2);
    output.line(&format!("account    {}", account.kind()));
    // And the table of the check.
    let creations = twin.guard.created() + 1;
    output.line(&format!(
        "estimate   {estimate} requests, of which {creations} create a table; after {cap} the run stops, and cleans up"
    ));
    output.line("           the price depends on the account");
    if !options.yes {
        confirmed(&mut output, stop).await?;
    }
    let path = options
        .tables
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{prefix}.tables")));
    let tables = Tables::create(&path, &account.base, &prefix).map_err(|e| format!("{}: {e}", path.display()))?;
    stop.set_file(&path);
    output.line(&format!("tables     {prefix}…, noted in {}", path.display()));
    output.line("           Ctrl-C stops the run, and deletes them");
    let guard = Guard::new(transport.clone(), &prefix, cap, Some(tables));
    let folder = options.record.as_ref().map(|folder| {
        let service = if account.is_cosmos { "cosmos" } else { "storage" };
        folder.join(service)
    });
    let found = Shared::default();
    let mut progress = Progress::new(streams.log, plan.number(&skipped), estimate);
    let work = async {
        check::check(&account, &guard, &prefix).await?;
        let name = backend_name(&account, &guard).await;
        let side = Side::new(account.clone(), guard.clone(), name, &prefix)?;
        exercise(&side, &plan, &skipped, folder.as_deref(), &found, |sent| {
            progress.step(sent)
        })
        .await;
        Ok(())
    };
    let end = tokio::select! {
        biased;
        () = stop.stopped() => Ok(End::Signal),
        () = guard.capped() => Ok(End::Capped(cap)),
        worked = work => worked.map(|()| End::Complete),
    };
    let Some(tables) = guard.tables() else {
        return Err("no file of tables".to_owned());
    };
    let end = match end {
        Ok(end) => end,
        Err(Unusable { why, has_response }) => {
            if has_response {
                guard.settle().await;
            }
            if has_response && !tables.is_clean() {
                finish(&account, &transport, tables, &mut output).await;
            } else {
                remove_file(tables, &mut output);
            }
            return Err(account.mask().hide(&why));
        }
    };
    guard.settle().await;
    let found = lock(&found).clone();
    let report = Report::new(&account, &plan, &expected, &found, &skipped, end, guard.sent());
    // Before the cleanup, which may fail.
    report.print(&mut output);
    let cleaned = finish(&account, &transport, tables, &mut output).await;
    let exit = match cleaned {
        Exit::NoDifference => report.exit(),
        other => other,
    };
    Ok((exit, Some(report)))
}
