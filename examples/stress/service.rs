//! The service that a point runs on: a modelled one in virtual time, an emulator on a port, or an account.

use std::error::Error;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::emulator::ServiceModel;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, NoRetry, TableClient, TableServiceClient};
use azure_table_examples::{CONNECTION_STRING, variable_of};
use cpu_time::ProcessTime;
use indicatif::ProgressBar;
use tokio::task::JoinSet;

use crate::cpu::ModelledCpu;
use crate::measured::Measured;
use crate::processes::{Processes, cores};
use crate::vm::{Stop, VmTask, prepared_rows, run};
use crate::workload::Workload;

/// The table of all points.
pub(crate) const TABLE: &str = "Stress";

pub(crate) type Done<T> = Result<T, Box<dyn Error>>;

/// The presets of the emulator's service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    In2010,
    Today,
}

impl Preset {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::In2010 => "2010",
            Self::Today => "today",
        }
    }

    fn model(self) -> ServiceModel {
        match self {
            Self::In2010 => ServiceModel::azure_storage_2010(),
            Self::Today => ServiceModel::azure_storage(),
        }
    }
}

/// A place where points run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process, in virtual time.
    Model(Preset),
    /// An emulator on a port.
    Http(Option<Preset>),
    Account,
}

impl Place {
    pub(crate) fn is_virtual(self) -> bool {
        matches!(self, Self::Model(_))
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Model(preset) => format!("model of {}", preset.name()),
            Self::Http(None) => "emulator over HTTP".to_owned(),
            Self::Http(Some(preset)) => format!("emulator over HTTP, model of {}", preset.name()),
            Self::Account => "account".to_owned(),
        }
    }

    /// Returns the targets of a partition and of the account, in entities per second.
    pub(crate) fn targets(self) -> Option<(f64, f64)> {
        match self {
            Self::Model(Preset::In2010) | Self::Http(Some(Preset::In2010)) => Some((500.0, 5_000.0)),
            Self::Http(None) => None,
            _ => Some((2_000.0, 20_000.0)),
        }
    }
}

/// A place that is ready, for one point after the other.
pub(crate) struct Service {
    place: Place,
    /// The run, in keys and in the name of the table.
    run: String,
    /// The points so far.
    points: u64,
    account: Option<TableServiceClient>,
    stop: Stop,
}

impl Service {
    /// Connects. On an account it creates the table.
    pub(crate) async fn open(place: Place, run: String, stop: Stop) -> Done<Self> {
        let mut service = Self {
            place,
            run,
            points: 0,
            account: None,
            stop,
        };
        if place == Place::Account {
            let text = variable_of(CONNECTION_STRING).ok_or_else(|| format!("{CONNECTION_STRING} is not set"))?;
            let account = TableServiceClient::from_connection_string(&text)?;
            account.dynamic_table(service.table())?.create_table().await?;
            service.account = Some(account);
        }
        Ok(service)
    }

    /// Deletes the table of an account.
    pub(crate) async fn close(self) -> Done<()> {
        if let Some(account) = &self.account {
            account.dynamic_table(self.table())?.delete_table().await?;
            println!("deleted    the table {}", self.table());
        }
        Ok(())
    }

    fn table(&self) -> String {
        match self.place {
            Place::Account => format!("{TABLE}{}", self.run),
            _ => TABLE.to_owned(),
        }
    }

    /// Runs a workload with at most so many requests. Ticks the bar once a second of its time.
    pub(crate) async fn measure(&mut self, workload: &Workload, most: u64, bar: &ProgressBar) -> Done<Measured> {
        self.points += 1;
        let job = match self.place {
            Place::Account => format!("{}-{}", self.run, self.points),
            _ => "job".to_owned(),
        };
        let task = VmTask {
            workload: workload.clone(),
            vm: 0,
            job,
            table: self.table(),
            max_requests: most,
        };
        let ticks = tick(bar.clone());
        let measured = match self.place {
            Place::Model(preset) => self.in_virtual_time(task, preset).await,
            Place::Http(preset) => self.on_port(task, preset).await,
            Place::Account => self.on_account(task).await,
        };
        ticks.abort();
        measured
    }

    async fn in_virtual_time(&self, task: VmTask, preset: Preset) -> Done<Measured> {
        let emulator = prepared(&task).await?.service_model(preset.model());
        let table = client(TableServiceClient::from_transport(emulator), &task)?;
        let mut vms = JoinSet::new();
        for vm in 0..task.workload.vms {
            let cpu = ModelledCpu::new(preset, task.workload.vm_size);
            vms.spawn(run(
                VmTask { vm, ..task.clone() },
                table.clone(),
                Some(cpu),
                self.stop.clone(),
            ));
        }
        let mut measured = Measured::new(task.workload.seconds);
        while let Some(vm) = vms.join_next().await {
            measured.add(vm?);
        }
        Ok(measured)
    }

    async fn on_port(&self, task: VmTask, preset: Option<Preset>) -> Done<Measured> {
        let emulator = prepared(&task).await?.service_model(preset.map(Preset::model));
        let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await?.spawn();
        let mut processes = Processes::start(&task, server.connection_string()).await?;
        let used = ProcessTime::now();
        let mut measured = processes.run(&self.stop).await?;
        // The emulator has the same cores.
        measured.cpu += used.elapsed().as_secs_f64() / (task.workload.duration() * cores());
        server.stop().await;
        Ok(measured)
    }

    async fn on_account(&self, mut task: VmTask) -> Done<Measured> {
        let Some(account) = &self.account else {
            return Err("no account is open".into());
        };
        let mut prepared = 0;
        if task.workload.reads() {
            let table = client(account.clone(), &task)?;
            prepared = prepare(&table, &task, &self.stop).await?;
            if self.stop.is_set() {
                let mut measured = Measured::new(task.workload.seconds);
                measured.sent_requests += prepared;
                return Ok(measured);
            }
            task.max_requests = task.max_requests.saturating_sub(prepared);
        }
        let connection_string = std::env::var(CONNECTION_STRING)?;
        let mut processes = Processes::start(&task, &connection_string).await?;
        let mut measured = processes.run(&self.stop).await?;
        measured.sent_requests += prepared;
        Ok(measured)
    }
}

/// Creates an emulator with the table, and with the rows that are read.
async fn prepared(task: &VmTask) -> Done<Emulator> {
    let emulator = Emulator::new();
    let service = TableServiceClient::from_transport(emulator.clone());
    service.dynamic_table(&task.table)?.create_table().await?;
    if task.workload.reads() {
        emulator.seed(&task.table, prepared_rows(&task.workload, &task.job))?;
    }
    Ok(emulator)
}

/// Writes the rows that are read, in batches of neighbors, until a stop. Returns the number of requests, none above the
/// limit.
async fn prepare(table: &TableClient<DynamicEntity>, task: &VmTask, stop: &Stop) -> Done<u64> {
    let mut rows = prepared_rows(&task.workload, &task.job).peekable();
    let mut requests = 0;
    while let Some(first) = rows.next().filter(|_| requests < task.max_requests && !stop.is_set()) {
        let mut batch = table.batch();
        batch.insert(&first)?;
        let mut count = 1;
        while let Some(row) = rows.next_if(|row| count < 100 && row.partition_key == first.partition_key) {
            batch.insert(&row)?;
            count += 1;
        }
        requests += 1;
        batch.submit().await?;
    }
    Ok(requests)
}

/// Returns the table of a task. The study does not retry.
pub(crate) fn client(service: TableServiceClient, task: &VmTask) -> azure_table::Result<TableClient<DynamicEntity>> {
    service.retry(NoRetry).dynamic_table(&task.table)
}

fn tick(bar: ProgressBar) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            bar.inc(1);
        }
    })
}
