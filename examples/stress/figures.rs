//! The figures: what each of them runs. What the text of 2010 says of them is `post.rs`.

use crate::entity::{Columns, Template};
use crate::service::{Place, Preset};
use crate::workload::{MANY, ONE, Operation, VmSize, Workload};

/// One figure: curves of points.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The x axis, with its unit.
    pub(crate) x: &'static str,
    pub(crate) shows: Shows,
    pub(crate) series: Vec<Series>,
}

/// The quantity that a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// A histogram of latencies for each curve.
    Latencies,
    MeanLatency,
    LatencyPerEntity,
    Throughput,
    ThroughputAndRejections,
}

#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, Workload)>,
}

/// The workloads of all figures come from it.
pub(crate) struct Study {
    pub(crate) place: Place,
    /// Seconds, keys, entities and pauses.
    pub(crate) base: Workload,
    pub(crate) max_vms: usize,
    /// The only points, or all if it is empty.
    pub(crate) points: Vec<f64>,
    /// The only VM size of a figure that compares two. It may be one that the study does not have.
    pub(crate) vm_size: Option<VmSize>,
    /// The size of entities where it varies.
    pub(crate) has_own_entity: bool,
}

use VmSize::{ExtraLarge, Small};

const INSERT: Operation = Operation::Insert;
const GET: Operation = Operation::Get;
const BATCH_SIZES: [u64; 10] = [1, 2, 5, 10, 20, 30, 40, 50, 75, 100];

/// The names that the command line takes.
pub(crate) const IDS: [&str; 16] = [
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
    "sizes",
    "partitions",
    "mixed",
];

impl Study {
    /// Returns a figure by its name.
    pub(crate) fn figure(&self, id: &str) -> Option<Figure> {
        let id = IDS.into_iter().find(|known| *known == id)?;
        let (title, x, shows) = match id {
            "3" => (
                "Latency of single requests, one worker on an XL VM",
                "workers",
                Shows::Latencies,
            ),
            "4" => (
                "Latency of batches of 100 inserts, one worker on a small VM",
                "workers",
                Shows::Latencies,
            ),
            "5" => (
                "Latency of batches into one partition, one worker",
                "entities per batch",
                Shows::MeanLatency,
            ),
            "6" => (
                "Latency per entity of batches into one partition, one worker",
                "entities per batch",
                Shows::LatencyPerEntity,
            ),
            "7" => (
                "Batches into many partitions, 30 workers on one VM",
                "entities per batch",
                Shows::Throughput,
            ),
            "8" => (
                "Single inserts, 15 workers per XL VM",
                "VMs",
                Shows::ThroughputAndRejections,
            ),
            "9" => (
                "Single reads, 15 workers per XL VM",
                "VMs",
                Shows::ThroughputAndRejections,
            ),
            "10" => (
                "Batches of 100 into many partitions, one VM",
                "workers",
                Shows::Throughput,
            ),
            "11" => (
                "Single reads over many partitions, one VM",
                "workers",
                Shows::Throughput,
            ),
            "12" => (
                "Batches of 100 into many partitions, 15 workers per VM",
                "VMs",
                Shows::Throughput,
            ),
            "13" => (
                "Batches of 100 into many partitions, 30 workers per VM",
                "VMs",
                Shows::Throughput,
            ),
            "14" => (
                "Single reads over many partitions, 30 workers per VM",
                "VMs",
                Shows::Throughput,
            ),
            "15" => (
                "Batches of 100 into one partition, 10 workers per VM",
                "workers",
                Shows::ThroughputAndRejections,
            ),
            "sizes" => (
                "Latency by the size of an entity, one worker",
                "KiB per entity",
                Shows::MeanLatency,
            ),
            "partitions" => (
                "Single inserts of 60 workers, by partitions",
                "partitions",
                Shows::ThroughputAndRejections,
            ),
            _ => (
                "Reads and inserts mixed, 30 workers, one partition",
                "% of reads",
                Shows::ThroughputAndRejections,
            ),
        };
        let mut series = self.series(id);
        for series in &mut series {
            let is_wanted = |x: f64| self.points.is_empty() || self.points.contains(&x);
            series.points.retain(|(x, _)| is_wanted(*x));
        }
        series.retain(|series| !series.points.is_empty());
        Some(Figure {
            id,
            title,
            x,
            shows,
            series,
        })
    }

    fn series(&self, id: &str) -> Vec<Series> {
        let small_and_xl = |points: &dyn Fn(VmSize) -> Vec<(f64, Workload)>| match self.place.is_virtual() {
            true => self
                .vm_size
                .map_or_else(|| vec![Small, ExtraLarge], |wanted| vec![wanted])
                .into_iter()
                .map(|size| series(size.curve(), points(size)))
                .collect(),
            // A process has the cores of this machine.
            false => vec![series("this machine", points(ExtraLarge))],
        };
        let one_and_many = |points: &dyn Fn(&str) -> Vec<(f64, Workload)>| {
            vec![
                series("one partition", points(ONE)),
                series("many partitions", points(MANY)),
            ]
        };
        match id {
            "3" => vec![
                series("gets", vec![(1.0, self.load(GET, 1, 1, 1, ExtraLarge, ONE))]),
                series("inserts", vec![(1.0, self.load(INSERT, 1, 1, 1, ExtraLarge, ONE))]),
            ],
            "4" => vec![series(
                "batches of 100",
                vec![(1.0, self.load(INSERT, 100, 1, 1, Small, ONE))],
            )],
            "5" | "6" => small_and_xl(&|size| self.by_batch(1, size, ONE)),
            "7" => small_and_xl(&|size| self.by_batch(30, size, MANY)),
            "8" => one_and_many(&|key| {
                let time = if key == ONE { 10.0 } else { 1.0 };
                self.by_vms(&[1, 2, 5, 10, 16], INSERT, 1, 15, ExtraLarge, key, time)
            }),
            "9" => one_and_many(&|key| self.by_vms(&[1, 2, 5, 10, 16], GET, 1, 15, ExtraLarge, key, 1.0)),
            "10" => small_and_xl(&|size| self.by_threads(&[1, 2, 5, 10, 15, 20, 30], INSERT, 100, size)),
            "11" => small_and_xl(&|size| self.by_threads(&[1, 2, 4, 6, 8, 10, 15, 20, 30], GET, 1, size)),
            "12" => small_and_xl(&|size| self.by_vms(&[1, 2, 4, 8], INSERT, 100, 15, size, MANY, 0.2)),
            "13" => small_and_xl(&|size| self.by_vms(&[1, 2, 4, 8], INSERT, 100, 30, size, MANY, 0.2)),
            "14" => small_and_xl(&|size| self.by_vms(&[1, 2, 4, 8], GET, 1, 30, size, MANY, 1.0)),
            "15" => {
                let points = self.by_vms(&[1, 2, 3, 4, 5], INSERT, 100, 10, ExtraLarge, ONE, 10.0);
                let by_workers = points.into_iter().map(|(vms, load)| (vms * 10.0, load));
                vec![series("one partition", by_workers.collect())]
            }
            "sizes" => vec![
                series("inserts", self.by_size(INSERT)),
                series("gets", self.by_size(GET)),
            ],
            "partitions" => vec![series("inserts", self.by_partitions())],
            _ => vec![series("reads and inserts", self.by_reads())],
        }
    }

    fn load(&self, operation: Operation, batch: u64, vms: usize, threads: usize, size: VmSize, key: &str) -> Workload {
        Workload {
            operation,
            batch,
            vms,
            threads,
            vm_size: size,
            partition_key: template(key),
            ..self.base.clone()
        }
    }

    fn by_batch(&self, threads: usize, size: VmSize, key: &str) -> Vec<(f64, Workload)> {
        let point = |batch| (batch as f64, self.load(INSERT, batch, 1, threads, size, key));
        BATCH_SIZES.into_iter().map(point).collect()
    }

    fn by_threads(&self, threads: &[usize], operation: Operation, batch: u64, size: VmSize) -> Vec<(f64, Workload)> {
        let point = |threads: &usize| (*threads as f64, self.load(operation, batch, 1, *threads, size, MANY));
        threads.iter().map(point).collect()
    }

    #[expect(clippy::too_many_arguments, reason = "the axes of the study")]
    fn by_vms(
        &self,
        vms: &[usize],
        operation: Operation,
        batch: u64,
        threads: usize,
        size: VmSize,
        key: &str,
        time: f64,
    ) -> Vec<(f64, Workload)> {
        let vms = vms.iter().filter(|vms| **vms <= self.max_vms);
        let point = |vms: &usize| {
            let mut load = self.load(operation, batch, *vms, threads, size, key);
            // The rejections of the model of today are not rare, and an account costs money.
            if time < 1.0 && self.place.is_virtual() || self.place == Place::Model(Preset::In2010) {
                // A batch takes 0.6 s and more.
                load.seconds = (load.seconds * time).max(load.seconds.min(3.0));
                // All workers begin at one instant, which a long count must not see.
                load.warm_up = load.warm_up.max(if time > 1.0 { 5.0 } else { 0.0 });
            }
            (*vms as f64, load)
        };
        vms.map(point).collect()
    }

    fn by_size(&self, operation: Operation) -> Vec<(f64, Workload)> {
        let sizes = if self.has_own_entity {
            &[][..]
        } else {
            &[1, 4, 16, 64, 256]
        };
        let point = |kib: &usize| {
            let mut load = self.load(operation, 1, 1, 1, ExtraLarge, ONE);
            load.columns = Columns::payload(1_024 * kib);
            // As many as a reader repeats; 100 of the largest are 25 MiB.
            load.rows = load.rows.min(10);
            load.seconds = load.seconds.min(5.0);
            (*kib as f64, load)
        };
        sizes.iter().map(point).collect()
    }

    fn by_partitions(&self) -> Vec<(f64, Workload)> {
        let vms = self.max_vms.min(4);
        let point = |partitions: u64| {
            let load = self.load(INSERT, 1, vms, 60 / vms, ExtraLarge, ONE);
            let partition_key = template(&format!("{{job}}-{{all%{partitions}}}"));
            (partitions as f64, Workload { partition_key, ..load })
        };
        [1, 2, 4, 8, 16, 32, 60].map(point).into()
    }

    fn by_reads(&self) -> Vec<(f64, Workload)> {
        let vms = self.max_vms.min(2);
        let point = |reads: u64| {
            let operation = Operation::Mixed(reads);
            (reads as f64, self.load(operation, 1, vms, 30 / vms, ExtraLarge, ONE))
        };
        [0, 25, 50, 75, 100].map(point).into()
    }
}

fn series(name: &'static str, points: Vec<(f64, Workload)>) -> Series {
    Series { name, points }
}

/// Returns a template of this program, whose placeholders are right.
pub(crate) fn template(text: &str) -> Template {
    match Template::try_from(text.to_owned()) {
        Ok(template) => template,
        Err(why) => unreachable!("{why}"),
    }
}

/// The VMs of these figures have a size.
const SIZED: [&str; 8] = ["5", "6", "7", "10", "11", "12", "13", "14"];
/// These figures have several VMs.
const OF_VMS: [&str; 8] = ["8", "9", "12", "13", "14", "15", "partitions", "mixed"];

/// Returns why a figure, or a part of it, cannot be shown in a place.
pub(crate) fn limits(id: &str, place: Place) -> Vec<&'static str> {
    let mut limits = Vec::new();
    if place.is_virtual() {
        if id == "sizes" {
            limits.push(
                "not shown: the model counts entities, not bytes, so the curve is flat; use --on http or account",
            );
        }
        if SIZED.contains(&id) {
            limits
                .push("the CPU of each VM size is modelled, and fitted to Figures 7, 10 and 11: no text has its times");
        }
        if ["5", "6"].contains(&id) {
            limits.push("the model's VMs differ in their cores alone, so one worker is as fast on both");
        }
        if OF_VMS.contains(&id) {
            limits.push("VMs are clients in this process; the network between them and the service is a latency");
        }
    } else {
        if SIZED.contains(&id) {
            limits.push("one curve: small and XL VMs are two machines, so run it on each");
        }
        if OF_VMS.contains(&id) {
            limits.push("VMs are processes of one machine, which share its cores and its network");
        }
    }
    limits
}
