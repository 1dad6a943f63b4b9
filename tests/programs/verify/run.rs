//! A run: the emulator first, which also counts the requests, then the service, then the cleanup.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table::Guid;
use azure_table::transport::{HttpTransport, Transport};

use crate::account::Account;
use crate::conformance::{self, Test};
use crate::guard::Guard;
use crate::mask::Mask;
use crate::options::Options;
use crate::probe::{Needs, Probe};
use crate::report::{End, Report};
use crate::side::{self, Observed, Side};
use crate::stop::Stop;
use crate::tables::Tables;
use crate::{probes, record};

/// The beginning of every table of the program. A run adds letters of its own.
const PREFIX: &str = "verify";

/// The end of the program, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    NoDifference = 0,
    Difference = 1,
    Usage = 2,
    NotFinished = 3,
}

impl Exit {
    /// Returns the end of a run, or of one that could not start.
    pub(crate) fn of(ran: &Result<(Self, Option<Report>), String>) -> Self {
        ran.as_ref().map_or(Self::Usage, |(exit, _)| *exit)
    }
}

/// The output. The mask applies to every line.
pub(crate) struct Output<'w> {
    write: &'w mut dyn Write,
    mask: Mask,
}

impl<'w> Output<'w> {
    pub(crate) fn new(write: &'w mut dyn Write, mask: Mask) -> Self {
        Self { write, mask }
    }

    pub(crate) fn line(&mut self, text: &str) {
        // A closed pipe must not stop the cleanup.
        let _ = writeln!(self.write, "{}", self.mask.hide(text));
        let _ = self.write.flush();
    }
}

/// The functions and probes of a run, with the reason for those that cannot run.
pub(crate) struct Plan {
    pub(crate) tests: Vec<(Test, Option<&'static str>)>,
    pub(crate) probes: Vec<(usize, &'static Probe, Option<&'static str>)>,
}

impl Plan {
    fn new(account: &Account, options: &Options) -> Self {
        let is_named = |name: &str| name.to_lowercase().contains(&options.only);
        let tests = conformance::all().into_iter().filter(|test| is_named(test.name));
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
                .map(|(index, probe)| (index, probe, side::obstacle(probe, account, change)))
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

/// Runs a plan on one side. `skipped` names the functions that the emulator of this service fails.
async fn exercise(side: &Side, plan: &Plan, skipped: &[usize], record: Option<&Path>, results: &Shared) {
    for (index, (test, obstacle)) in plan.tests.iter().enumerate() {
        let outcome = match obstacle.is_some() || skipped.contains(&index) {
            true => None,
            false => {
                side.guard.start_session();
                let outcome = with_properties(side, test.changes_properties(), test.run(&side.backend), results).await;
                keep(side, record, &test.name.replace("::", "_"), results);
                outcome
            }
        };
        lock(results).tests.push(outcome);
    }
    if plan.probes.iter().all(|(.., obstacle)| obstacle.is_some()) {
        lock(results).probes.resize(plan.probes.len(), None);
        return;
    }
    if let Err(why) = side.start_probes().await {
        lock(results).problems.push(side.mask.hide(&why));
        return;
    }
    for (index, probe, obstacle) in &plan.probes {
        let observed = match obstacle.is_some() {
            true => None,
            false => {
                side.guard.start_session();
                let changes = probe.needs == Needs::Properties;
                let observed = with_properties(side, changes, side.observe(*index, probe), results).await;
                keep(side, record, &format!("probe_{index:03}"), results);
                observed
            }
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

fn keep(side: &Side, record: Option<&Path>, name: &str, results: &Shared) {
    let session = side.guard.end_session();
    if let Some(folder) = record
        && let Err(e) = record::write(folder, name, &session, &side.mask)
    {
        lock(results).problems.push(format!("the recording of {name}: {e}"));
    }
}

/// Runs the program. `transport` replaces the network, and `stop` ends a run early.
pub(crate) async fn run(
    options: &Options,
    transport: Option<Arc<dyn Transport>>,
    stop: &Stop,
    write: &mut dyn Write,
) -> Result<(Exit, Option<Report>), String> {
    let account = Account::new(&options.account)?;
    let mut output = Output::new(write, account.mask());
    let transport = match transport {
        Some(transport) => transport,
        None => network(options)?,
    };
    if let Some(file) = &options.cleanup {
        let tables = Tables::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
        return Ok((finish(&account, &transport, &tables, &mut output).await?, None));
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
    let guard = Guard::new(Arc::new(emulator), &prefix, u64::MAX, None);
    let twin = Side::new(twin, guard, "emulator", &prefix)?;
    let expected = Shared::default();
    tokio::select! {
        biased;
        () = stop.stopped() => return Ok((Exit::NotFinished, None)),
        () = exercise(&twin, &plan, &[], None, &expected) => {}
    }
    let expected = lock(&expected).clone();
    // A function of the suite for Azure Table storage may not hold on Cosmos DB: its emulator decides.
    let skipped: Vec<usize> = (0..expected.tests.len())
        .filter(|index| matches!(expected.tests[*index], Some(Err(_))))
        .collect();

    // Concurrent requests and retries are not the same in every run.
    let estimate = twin.guard.sent() + twin.guard.sent() / 10 + 10;
    let cap = options.max_requests.unwrap_or(estimate + estimate / 2);
    output.line(&format!("account    {}", account.kind()));
    let creations = twin.guard.created();
    output.line(&format!(
        "estimate   {estimate} requests, of which {creations} create a table; at most {cap}, and the cleanup"
    ));
    output.line("           the price depends on the account");
    if !options.yes && !confirmed(&mut output, stop).await {
        output.line("not started");
        return Ok((Exit::NotFinished, None));
    }
    let path = options
        .tables
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{prefix}.tables")));
    let tables = Tables::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    stop.set_file(&path);
    output.line(&format!("tables     {prefix}…, noted in {}", path.display()));
    output.line("           a signal stops the run, and deletes them");
    let guard = Guard::new(transport.clone(), &prefix, cap, Some(tables));
    let name = if is_azurite(&transport, &account).await {
        "Azurite"
    } else {
        "account"
    };
    let side = Side::new(account.clone(), guard.clone(), name, &prefix)?;
    let folder = options.record.as_ref().map(|folder| {
        let service = if account.is_cosmos { "cosmos" } else { "storage" };
        folder.join(service)
    });
    let found = Shared::default();
    let end = tokio::select! {
        biased;
        () = stop.stopped() => End::Signal,
        () = guard.capped() => End::Capped(cap),
        () = exercise(&side, &plan, &skipped, folder.as_deref(), &found) => End::Complete,
    };
    guard.settle().await;
    let found = lock(&found).clone();
    let report = Report::new(&account, &plan, &expected, &found, &skipped, end, guard.sent());
    if let Some(tables) = guard.tables() {
        let cleaned = finish(&account, &transport, tables, &mut output).await?;
        report.print(&mut output);
        let exit = if cleaned == Exit::NoDifference {
            report.exit()
        } else {
            Exit::NotFinished
        };
        return Ok((exit, Some(report)));
    }
    Ok((report.exit(), Some(report)))
}

/// Deletes the noted tables, and removes their file.
async fn finish(
    account: &Account,
    transport: &Arc<dyn Transport>,
    tables: &Tables,
    output: &mut Output<'_>,
) -> Result<Exit, String> {
    let number = tables.names().len();
    let problems = side::clean_up(account, transport, tables).await;
    for problem in &problems {
        output.line(&format!("cleanup    {problem}"));
    }
    let path = tables.path().display().to_string();
    match tables.finish() {
        Ok(true) => {
            output.line(&format!("cleanup    tables deleted at the end: {number}; none is left"));
            Ok(Exit::NoDifference)
        }
        Ok(false) => {
            output.line(&format!("cleanup    not complete; again with --cleanup {path}"));
            Ok(Exit::NotFinished)
        }
        Err(e) => Err(format!("{path}: {e}")),
    }
}

fn network(options: &Options) -> Result<Arc<dyn Transport>, String> {
    let mut builder = HttpTransport::builder();
    if let Some(file) = &options.certificate {
        let pem = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        builder = builder.root_certificates(pem);
    }
    Ok(Arc::new(builder.build().map_err(|e| e.to_string())?))
}

/// Asks on the terminal.
async fn confirmed(output: &mut Output<'_>, stop: &Stop) -> bool {
    output.line("start? [y/N]");
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        () = stop.stopped() => false,
        line = line => matches!(line, Ok(Ok(line)) if matches!(line.trim(), "y" | "Y" | "yes")),
    }
}

/// Asks a service that is not live for its name: the suite knows some differences of Azurite.
async fn is_azurite(transport: &Arc<dyn Transport>, account: &Account) -> bool {
    if account.is_live {
        return false;
    }
    let request = http::Request::get(format!("{}/Tables", account.base)).body(bytes::Bytes::new());
    let Ok(request) = request else { return false };
    let response = transport.send(request).await;
    response.is_ok_and(|response| {
        let server = response.headers().get("server").and_then(|value| value.to_str().ok());
        server.is_some_and(|server| server.starts_with("Azurite"))
    })
}
