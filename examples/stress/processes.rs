//! VMs as processes: this program starts itself once for each VM.
//!
//! A worker process reads its task from standard input as a line of JSON, connects, and writes `ready`. After an empty
//! line it runs and writes the result as JSON. The connection string is in its environment, never in its arguments.

use std::error::Error;
use std::process::Stdio;

use azure_table::TableServiceClient;
use azure_table::telemetry::CostMeter;
use azure_table_examples::CONNECTION_STRING;
use cpu_time::ProcessTime;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::measured::Measured;
use crate::service::{Done, client};
use crate::vm::{Stop, VmTask, run};

/// The argument that makes this program a worker process.
pub(crate) const WORKER: &str = "worker-process";

/// The worker processes of a point.
pub(crate) struct Processes {
    vms: Vec<Process>,
    seconds: f64,
}

struct Process {
    // Ends the process when it is dropped.
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Processes {
    /// Starts a process for each VM, and waits until all of them are ready.
    pub(crate) async fn start(task: &VmTask, connection_string: &str) -> Done<Self> {
        let vms = task.workload.vms;
        let share = task.max_requests / vms as u64;
        let mut processes = Self {
            vms: Vec::new(),
            seconds: task.workload.seconds,
        };
        for vm in 0..vms {
            let task = VmTask {
                vm,
                max_requests: share,
                ..task.clone()
            };
            processes.vms.push(Process::start(&task, connection_string).await?);
        }
        for process in &mut processes.vms {
            process.line().await?;
        }
        Ok(processes)
    }

    /// Runs all of them. A `stop` reaches them as the same Ctrl-C.
    pub(crate) async fn run(&mut self, stop: &Stop) -> Done<Measured> {
        for process in &mut self.vms {
            process.input.write_all(b"\n").await?;
        }
        let mut sum = Measured::new(self.seconds);
        let mut cpu = 0.0;
        for process in &mut self.vms {
            let measured: Measured = serde_json::from_str(&process.line().await?)?;
            cpu += measured.cpu;
            sum.add(measured);
        }
        sum.cpu = cpu;
        sum.is_cut |= stop.is_set();
        Ok(sum)
    }
}

impl Process {
    async fn start(task: &VmTask, connection_string: &str) -> Done<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(WORKER)
            .env(CONNECTION_STRING, connection_string)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a worker process has no pipes".into());
        };
        input
            .write_all(format!("{}\n", serde_json::to_string(task)?).as_bytes())
            .await?;
        let output = BufReader::new(output).lines();
        Ok(Self { child, input, output })
    }

    async fn line(&mut self) -> Done<String> {
        match self.output.next_line().await? {
            Some(line) => Ok(line),
            None => Err(format!("a worker process ended early: {}", self.child.wait().await?).into()),
        }
    }
}

/// Returns the number of cores of this machine.
pub(crate) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

/// The whole of a worker process.
pub(crate) async fn work() -> Result<(), Box<dyn Error>> {
    // Nothing else runs in this process yet, so it may block.
    let mut input = std::io::stdin().lines();
    let task: VmTask = serde_json::from_str(&input.next().ok_or("no task")??)?;
    let meter = CostMeter::new();
    let service = TableServiceClient::from_connection_string(&std::env::var(CONNECTION_STRING)?)?;
    let table = client(service.observer(meter.clone()), &task)?;
    println!("ready");
    input.next().transpose()?;

    let stop = Stop::default();
    let interrupted = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.set();
        }
    });
    let (used, duration) = (ProcessTime::now(), task.workload.duration());
    let mut measured = run(task, table, None, stop).await;
    measured.cpu = used.elapsed().as_secs_f64() / (duration * cores());
    measured.sent_bytes = meter.total().bytes_sent;
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}
