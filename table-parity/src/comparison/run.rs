//! The comparison: the plan of a run, its results on the emulator and on the service, and the report.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table::transport::Transport;

use crate::comparison::observation::{self, Observed};
use crate::comparison::options::Options;
use crate::comparison::probe::{Needs, Probe};
use crate::comparison::probes;
use crate::comparison::report::Report;
use crate::run::Run;
use crate::service::account::Account;
use crate::service::output::{Exit, Streams};
use crate::service::progress::Progress;
use crate::service::record;
use crate::service::side::Side;
use crate::service::stop::Stop;
use crate::suite::{self, Test};

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
        let common = &options.common;
        let tests = suite::all().into_iter().filter(|test| common.names(test.name));
        let probes = probes::all()
            .enumerate()
            .filter(|(_, probe)| common.names(probe.line.0));
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

type Shared = Mutex<Results>;

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
    let problem = |why: String| lock(results).problems.push(side.mask.hide(&why));
    let keeps_properties = async |changes| side.keep_properties(changes).await.map_err(problem).is_ok();
    for (index, (test, obstacle)) in plan.tests.iter().enumerate() {
        let changes = test.changes_properties();
        let is_skipped = obstacle.is_some() || skipped.contains(&index);
        let outcome = if is_skipped || !keeps_properties(changes).await {
            None
        } else {
            // Such a function reads the properties of the account.
            let record = record.filter(|_| !changes);
            let name = test.name.replace("::", "_");
            let outcome = recorded(side, record, &name, results, test.run(&side.backend)).await;
            progress(side.guard.sent());
            Some(outcome)
        };
        lock(results).tests.push(outcome);
    }
    if plan.probes.iter().all(|(.., obstacle)| obstacle.is_some()) {
        lock(results).probes.resize(plan.probes.len(), None);
        return;
    }
    if let Err(why) = side.create_table().await {
        return problem(why);
    }
    for (index, probe, obstacle) in &plan.probes {
        let changes = probe.needs == Needs::Properties;
        let observed = if obstacle.is_some() || !keeps_properties(changes).await {
            None
        } else {
            let name = format!("probe_{index:03}");
            let observed = recorded(side, record, &name, results, side.observe(*index, probe)).await;
            progress(side.guard.sent());
            Some(observed)
        };
        lock(results).probes.push(observed);
    }
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
    let mut run = Run::new(&options.account, &options.common, "verify", transport, stop, streams)?;
    if let Some(exit) = run.clean_up().await? {
        return Ok((exit, None));
    }
    let account = run.account.clone();
    let plan = Plan::new(&account, options);
    let expected = Shared::default();
    let rehearsal = async |twin: &Side| exercise(twin, &plan, &[], None, &expected, |_| {}).await;
    let parts = plan.tests.len() + plan.probes.len();
    run.rehearse(parts, rehearsal).await?;
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
    let folder = options.record.as_ref().map(|folder| {
        let service = if account.is_cosmos { "cosmos" } else { "storage" };
        folder.join(service)
    });
    let found = Shared::default();
    let mut report = None;
    let work = async |side: &Side, progress: &mut Progress<'_>| {
        let progress = |sent| progress.step(sent);
        exercise(side, &plan, &skipped, folder.as_deref(), &found, progress).await;
    };
    let exit = run.perform(plan.number(&skipped), true, work, |end, sent, output| {
        let report = report.insert(Report::new(
            &account,
            &plan,
            &expected,
            &lock(&found),
            &skipped,
            end,
            sent,
        ));
        report.print(output);
        report.exit()
    });
    Ok((exit.await?, report))
}
