//! A run on an account, the same for both ways: the emulator first, which also counts the requests, then the service,
//! then the report and the cleanup.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use azure_table::Guid;
use azure_table::transport::Transport;
use clap::Args;

use crate::service::account::{Account, Given};
use crate::service::check::{self, Unusable};
use crate::service::cleanup::{finish, remove_file};
use crate::service::guard::Guard;
use crate::service::output::{Exit, Output, Streams, confirmed};
use crate::service::product::{backend_name, network};
use crate::service::progress::Progress;
use crate::service::side::Side;
use crate::service::stop::Stop;
use crate::service::tables::Tables;

/// The options of both ways.
#[derive(Args, Debug, Default)]
pub(crate) struct Common {
    /// Accept this certificate too, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// The service is Cosmos DB for Table: for its emulator, or a domain of your own
    #[arg(long)]
    pub(crate) cosmos: bool,
    /// Do not ask before the run; needed without a terminal
    #[arg(long)]
    pub(crate) yes: bool,
    /// Stop after this many requests (default: 1.5 times the estimate)
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_requests: Option<u64>,
    /// Run only tests, facts and probes whose name contains the text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) only: String,
    /// Note the tables here (default: their prefix and .tables, in the current folder); removed at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) tables: Option<PathBuf>,
    /// Only delete the tables noted in the file, of the same account
    #[arg(long, value_name = "FILE")]
    pub(crate) cleanup: Option<PathBuf>,
}

impl Common {
    /// Returns `true` if `--only` names this test, fact or probe.
    pub(crate) fn names(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.only.to_lowercase())
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Capped(u64),
    Signal,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Capped(cap) => write!(f, "stopped: the next one would exceed the maximum of {cap}"),
            Self::Signal => f.write_str("stopped by a signal"),
        }
    }
}

/// A run before it starts.
pub(crate) struct Run<'a, 'w> {
    pub(crate) account: Account,
    output: Output<'w>,
    common: &'a Common,
    transport: Arc<dyn Transport>,
    stop: &'a Stop,
    log: &'w mut (dyn Write + Send),
    /// The beginning of every table of the run.
    prefix: String,
    /// The requests that the run needs, and those of them that create a table.
    estimate: u64,
    creations: u64,
}

impl<'a, 'w> Run<'a, 'w> {
    /// Prepares a run whose tables begin with `prefix` and letters of their own. `transport` replaces the network, and
    /// `stop` ends the run early.
    pub(crate) fn new(
        given: &Given,
        common: &'a Common,
        prefix: &str,
        transport: Option<Arc<dyn Transport>>,
        stop: &'a Stop,
        streams: Streams<'w>,
    ) -> Result<Self, String> {
        let account = Account::new(given, common.cosmos)?;
        let transport = match transport {
            Some(transport) => transport,
            None => network(common.certificate.as_deref())?,
        };
        let id = Guid::random().to_string().replace('-', "");
        Ok(Self {
            output: Output::new(streams.out, account.mask()),
            account,
            common,
            transport,
            stop,
            log: streams.log,
            prefix: format!("{prefix}{}", &id[..8]),
            estimate: 0,
            creations: 0,
        })
    }

    /// Deletes the tables of `--cleanup`. Returns `None` without this option.
    pub(crate) async fn clean_up(&mut self) -> Result<Option<Exit>, String> {
        let Some(file) = &self.common.cleanup else {
            return Ok(None);
        };
        let tables = Tables::open(file, &self.account.base).map_err(|e| format!("{}: {e}", file.display()))?;
        let exit = finish(&self.account, &self.transport, &tables, &mut self.output).await;
        Ok(Some(exit))
    }

    /// Does the work, which has this number of parts, on the emulator of the service, and counts its requests.
    pub(crate) async fn rehearse(&mut self, parts: usize, work: impl AsyncFnOnce(&Side)) -> Result<(), String> {
        if parts == 0 {
            let only = &self.common.only;
            return Err(format!("--only {only}: no test, fact or probe has this in its name"));
        }
        let (twin, emulator) = self.account.twin()?;
        let emulator: Arc<dyn Transport> = Arc::new(emulator);
        let unlimited = || Guard::new(emulator.clone(), &self.prefix, u64::MAX, None);
        // With a guard of its own: its requests are no part of the estimate.
        let checked = check::check(&twin, &unlimited(), &self.prefix).await;
        let mask = self.account.mask();
        checked.map_err(|e| mask.hide(&format!("the emulator beside the account: {}", e.why)))?;
        let twin = Side::new(twin, unlimited(), "emulator", &self.prefix)?;
        tokio::select! {
            biased;
            () = self.stop.stopped() => return Err("not started: stopped by a signal".to_owned()),
            () = work(&twin) => {}
        }
        // Concurrent requests and retries are not the same in every run.
        self.estimate = twin.guard.sent() + twin.guard.sent() / 10 + 10;
        // And the table of the check.
        self.creations = twin.guard.created() + 1;
        Ok(())
    }

    /// Does the work on the service, whose progress has `parts` steps. The report is printed before the cleanup, which
    /// may fail, and receives the number of requests.
    pub(crate) async fn perform(
        mut self,
        parts: usize,
        asks: bool,
        work: impl AsyncFnOnce(&Side, &mut Progress<'_>),
        report: impl FnOnce(End, u64, &mut Output<'_>) -> Exit,
    ) -> Result<Exit, String> {
        let (account, transport, output) = (&self.account, &self.transport, &mut self.output);
        let (prefix, estimate, creations) = (&self.prefix, self.estimate, self.creations);
        let cap = self.common.max_requests.unwrap_or(estimate + estimate / 2);
        output.line(&format!("account    {}", account.kind()));
        output.line(&format!(
            "estimate   {estimate} requests, of which {creations} create a table; after {cap} the run stops, and cleans up"
        ));
        output.line("           the price depends on the account");
        if asks && !self.common.yes {
            confirmed(output, self.stop).await?;
        }
        let path = self.common.tables.clone();
        let path = path.unwrap_or_else(|| PathBuf::from(format!("{prefix}.tables")));
        let tables = Tables::create(&path, &account.base, prefix).map_err(|e| format!("{}: {e}", path.display()))?;
        self.stop.set_file(&path);
        output.line(&format!("tables     {prefix}…, noted in {}", path.display()));
        output.line("           Ctrl-C stops the run, and deletes them");
        let guard = Guard::new(transport.clone(), prefix, cap, Some(tables));
        let mut progress = Progress::new(self.log, parts, estimate);
        let work = async {
            check::check(account, &guard, prefix).await?;
            let name = backend_name(account, &guard).await;
            let side = Side::new(account.clone(), guard.clone(), name, prefix)?;
            work(&side, &mut progress).await;
            Ok(())
        };
        let end = tokio::select! {
            biased;
            () = self.stop.stopped() => Ok(End::Signal),
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
                    finish(account, transport, tables, output).await;
                } else {
                    remove_file(tables, output);
                }
                return Err(account.mask().hide(&why));
            }
        };
        guard.settle().await;
        let reported = report(end, guard.sent(), output);
        let is_clean = finish(account, transport, tables, output).await == Exit::NoDifference;
        Ok(if is_clean { reported } else { Exit::NotFinished })
    }
}
