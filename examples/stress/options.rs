//! The command line. Its text is `help.txt`.

use std::path::PathBuf;

use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::entity::{Columns, Template};
use crate::figures::{IDS, Study, template};
use crate::service::{Place, Preset};
use crate::workload::{MANY, ONE, Operation, ROW_KEY, VmSize, Workload};

pub(crate) const HELP: &str = include_str!("help.txt");

/// The first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Figures,
    Load,
    List,
}

/// All options, with their defaults in place.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) command: Command,
    pub(crate) figures: Vec<String>,
    pub(crate) place: Place,
    /// Of `load`, and what figures have in common.
    pub(crate) workload: Workload,
    pub(crate) has_own_entity: bool,
    pub(crate) max_vms: usize,
    /// The only points of figures, or all if it is empty.
    pub(crate) points: Vec<f64>,
    /// The only VM size of figures that compare two.
    pub(crate) vm_size: Option<VmSize>,
    pub(crate) is_agreed: bool,
    pub(crate) max_requests: u64,
    pub(crate) max_cost: f64,
    pub(crate) price: f64,
    pub(crate) pictures: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
}

/// Options as they were given.
#[derive(Default)]
struct Given {
    seconds: Option<f64>,
    warm_up: Option<f64>,
    columns: Option<Columns>,
    reads: Option<u64>,
    is_mixed: bool,
    max_vms: Option<usize>,
    /// The first option that `load` alone takes.
    of_load: Option<String>,
}

impl Options {
    /// Reads the arguments, or returns `None` where help is asked for.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let (mut options, mut given) = (Self::default(), Given::default());
        let mut command = None;
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Short('h') | Long("help") => return Ok(None),
                Value(word) => {
                    let word = word.string().map_err(|error| error.to_string())?;
                    match (command, word.as_str()) {
                        (None, "figures") => command = Some(Command::Figures),
                        (None, "load") => command = Some(Command::Load),
                        (None, "list") => command = Some(Command::List),
                        (Some(Command::Figures), id) if IDS.contains(&id) => options.figures.push(word),
                        (Some(Command::Figures), id) => {
                            return Err(format!("{id}: there is no such figure; use {}", IDS.join(", ")));
                        }
                        (_, other) => return Err(format!("{other}: use figures, load or list")),
                    }
                }
                Long(name) => {
                    let name = name.to_owned();
                    options
                        .option(&name, &mut given, &mut parser)
                        .map_err(|why| format!("--{name}: {why}"))?;
                }
                other => return Err(other.unexpected().to_string()),
            }
        }
        options.command = command.ok_or("a command is missing: figures, load or list")?;
        if let (Some(option), Command::Figures | Command::List) = (&given.of_load, options.command) {
            return Err(format!("--{option} is for `load`; a figure has its own"));
        }
        options.settle(given);
        Ok(Some(options))
    }

    fn option(&mut self, name: &str, given: &mut Given, parser: &mut lexopt::Parser) -> Result<(), String> {
        let mut text = || {
            parser
                .value()
                .and_then(ValueExt::string)
                .map_err(|error| error.to_string())
        };
        match name {
            "yes" => self.is_agreed = true,
            "no-pictures" => self.pictures = None,
            "on" => self.place = place(&text()?)?,
            "max-requests" => self.max_requests = number(&text()?, 1.0, 1e12)? as u64,
            "max-cost" => self.max_cost = number(&text()?, 0.0, 1e6)?,
            "price" => self.price = number(&text()?, 0.0, 1e6)?,
            "max-vms" => given.max_vms = Some(number(&text()?, 1.0, 1_000.0)? as usize),
            "points" => {
                let texts = text()?;
                let points = texts.split(',').map(|point| number(point, 0.0, 1_000.0));
                self.points = points.collect::<Result<_, _>>()?;
            }
            "vm-size" => {
                self.vm_size = match text()?.as_str() {
                    "small" => Some(VmSize::Small),
                    "medium" => Some(VmSize::Medium),
                    "large" => Some(VmSize::Large),
                    "xl" => Some(VmSize::ExtraLarge),
                    other => return Err(format!("{other}: use small, medium, large or xl")),
                };
            }
            "seconds" => given.seconds = Some(number(&text()?, 0.1, 86_400.0)?),
            "warm-up" => given.warm_up = Some(number(&text()?, 0.0, 86_400.0)?),
            "entity" => given.columns = Some(Columns::parse(&text()?)?),
            "entity-bytes" => given.columns = Some(Columns::payload(number(&text()?, 0.0, 500_000.0)? as usize)),
            "rows" => self.workload.rows = number(&text()?, 1.0, 1e6)? as u64,
            "pause" => self.workload.pause = number(&text()?, 0.0, 3_600.0)?,
            "out" => self.pictures = Some(text()?.into()),
            "json" => self.json = Some(text()?.into()),
            _ => {
                given.of_load.get_or_insert_with(|| name.to_owned());
                self.option_of_load(name, given, &mut text)?;
            }
        }
        Ok(())
    }

    fn option_of_load(
        &mut self,
        name: &str,
        given: &mut Given,
        text: &mut impl FnMut() -> Result<String, String>,
    ) -> Result<(), String> {
        let workload = &mut self.workload;
        match name {
            "operation" => match text()?.as_str() {
                "insert" => workload.operation = Operation::Insert,
                "get" => workload.operation = Operation::Get,
                "mixed" => given.is_mixed = true,
                other => return Err(format!("{other}: use insert, get or mixed")),
            },
            "reads" => given.reads = Some(number(&text()?, 0.0, 100.0)? as u64),
            "batch" => workload.batch = number(&text()?, 1.0, 100.0)? as u64,
            "vms" => workload.vms = number(&text()?, 1.0, 1_000.0)? as usize,
            "threads" => workload.threads = number(&text()?, 1.0, 10_000.0)? as usize,
            "rate" => workload.rate = Some(number(&text()?, 0.001, 1e9)?),
            "partition-key" => workload.partition_key = Template::try_from(text()?)?,
            "row-key" => workload.row_key = Template::try_from(text()?)?,
            _ => return Err("there is no such option; --help has them all".to_owned()),
        }
        Ok(())
    }

    /// Puts the defaults in that depend on other options.
    fn settle(&mut self, given: Given) {
        let is_virtual = self.place.is_virtual();
        let workload = &mut self.workload;
        workload.vm_size = self.vm_size.unwrap_or(workload.vm_size);
        workload.seconds = given.seconds.unwrap_or(if is_virtual { 30.0 } else { 5.0 });
        workload.warm_up = given.warm_up.unwrap_or((workload.seconds / 6.0).clamp(1.0, 5.0));
        self.has_own_entity = given.columns.is_some();
        workload.columns = given.columns.unwrap_or_else(|| {
            if is_virtual {
                Columns::default()
            } else {
                Columns::payload(1_024)
            }
        });
        if given.is_mixed {
            workload.operation = Operation::Mixed(given.reads.unwrap_or(50));
        }
        self.max_vms = given.max_vms.unwrap_or(if is_virtual { 16 } else { 4 });
        if self.figures.is_empty() {
            self.figures = IDS.map(str::to_owned).into();
            // On a model it is a flat line, which `list` explains.
            let is_flat = is_virtual && self.command == Command::Figures;
            self.figures.retain(|id| !is_flat || id != "sizes");
        }
    }

    pub(crate) fn study(&self) -> Study {
        Study {
            place: self.place,
            base: Workload {
                partition_key: template(ONE),
                ..self.workload.clone()
            },
            max_vms: self.max_vms,
            points: self.points.clone(),
            vm_size: self.vm_size,
            has_own_entity: self.has_own_entity,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            command: Command::Figures,
            figures: Vec::new(),
            place: Place::Model(Preset::In2010),
            workload: Workload {
                operation: Operation::Insert,
                batch: 1,
                vms: 1,
                threads: 15,
                vm_size: VmSize::ExtraLarge,
                partition_key: template(MANY),
                row_key: template(ROW_KEY),
                columns: Columns::default(),
                rate: None,
                rows: 100,
                pause: 3.0,
                warm_up: 0.0,
                seconds: 0.0,
            },
            has_own_entity: false,
            max_vms: 0,
            points: Vec::new(),
            vm_size: None,
            is_agreed: false,
            max_requests: 20_000,
            max_cost: 0.05,
            price: 0.000_36,
            pictures: Some("target/stress".into()),
            json: None,
        }
    }
}

fn place(name: &str) -> Result<Place, String> {
    match name {
        "2010" => Ok(Place::Model(Preset::In2010)),
        "today" => Ok(Place::Model(Preset::Today)),
        "http" => Ok(Place::Http(None)),
        "http-2010" => Ok(Place::Http(Some(Preset::In2010))),
        "http-today" => Ok(Place::Http(Some(Preset::Today))),
        "account" => Ok(Place::Account),
        other => Err(format!(
            "{other}: use 2010, today, http, http-2010, http-today or account"
        )),
    }
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("{text}: it must be a number from {least} to {most}")),
    }
}
