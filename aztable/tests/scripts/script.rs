//! A script: places with rows, and one to four commands, each held against the model.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::PathBuf;

use fastrand::Rng;

use crate::backups::{self, Saved, SavedFolder};
use crate::claims::{Claim, Failures};
use crate::exports::export;
use crate::faults::Fault;
use crate::imports::import;
use crate::judge;
use crate::pairs::{copy, diff, sync};
use crate::paths::ram_disk;
use crate::program::{Ran, Run};
use crate::python::Python;
use crate::rows;
use crate::secrets::{SECRET, misplaced};
use crate::selected::selected;
use crate::singles::put;
use crate::task::{Leeway, Task};
use crate::usage::Usage;
use crate::world::{Moment, Place, PlaceKind, Tables, World, place_kind};

/// The output of a run that is printed.
const PRINTED: usize = 1_500;

/// The result of a script.
pub(crate) struct Report {
    pub(crate) seed: u64,
    lines: Vec<String>,
    pub(crate) failures: Vec<(Claim, String)>,
    pub(crate) commands: usize,
    pub(crate) faults: usize,
}

impl Report {
    /// The report of a script in which the test itself has panicked.
    pub(crate) fn of_panic(seed: u64) -> Self {
        let failures = vec![(Claim::Panic, "the test itself has panicked: see above".to_owned())];
        Self {
            seed,
            lines: Vec::new(),
            failures,
            commands: 0,
            faults: 0,
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "AZTABLE_SCRIPTS_SEED={} cargo test -p aztable --test scripts\n",
            self.seed
        );
        for line in &self.lines {
            let _ = writeln!(text, "  {line}");
        }
        for (claim, why) in &self.failures {
            let _ = writeln!(text, "  FAILED {claim}: {why}");
        }
        text
    }
}

pub(crate) struct Script<'a> {
    pub(crate) seed: u64,
    pub(crate) random: Rng,
    pub(crate) world: World,
    pub(crate) python: &'a Python,
    pub(crate) folders: Vec<SavedFolder>,
    usage: &'a Usage,
    /// The claims that are not reported.
    pub(crate) skipped: &'a [&'a str],
    names: Cell<usize>,
    /// The place of the environment.
    default: Option<usize>,
    pub(crate) lines: Vec<String>,
    pub(crate) failures: Failures,
    commands: usize,
    faults: usize,
    pub(crate) is_over: bool,
}

impl<'a> Script<'a> {
    pub(crate) fn new(seed: u64, python: &'a Python, usage: &'a Usage, skipped: &'a [&'a str]) -> Self {
        let mut random = Rng::with_seed(seed);
        let root = tempfile::tempdir().unwrap();
        let ram = ram_disk().map(|ram| tempfile::tempdir_in(ram).unwrap());
        let kinds = [(); 3].map(|()| place_kind(&mut random));
        let is_server = |kind: PlaceKind| kind != PlaceKind::Folder;
        let rows = rows::table(&mut random, is_server(kinds[0]));
        let variant = rows::variant(&mut random, &rows, is_server(kinds[1]));
        let few = |random: &mut Rng, kind| {
            let table = rows::table(random, is_server(kind));
            table.into_iter().take(20).collect()
        };
        let other = [few(&mut random, kinds[0]), few(&mut random, kinds[1])];
        let [one, two] = other;
        let tables = [
            Tables::from([("Rows".to_owned(), rows), ("Other".to_owned(), one)]),
            Tables::from([("Rows".to_owned(), variant), ("Other".to_owned(), two)]),
            Tables::new(),
        ];
        let mut lines = Vec::new();
        let mut places = Vec::new();
        for (index, (kind, tables)) in kinds.into_iter().zip(&tables).enumerate() {
            let page = *random.choice(&[3, 10, 100, 1_000]).unwrap();
            let name = format!("place{index}");
            let place = match (kind, index) {
                (PlaceKind::Folder, 2) => Place::absent(&name),
                _ => Place::create(root.path(), &name, kind, page, tables),
            };
            let counts = tables.iter().map(|(name, rows)| format!("{name} {} rows", rows.len()));
            let counts = counts.collect::<Vec<_>>().join(", ");
            lines.push(format!("# {}: {kind:?}, pages of {page}: {counts}", place.argument()));
            usage.count(
                "place",
                match kind {
                    PlaceKind::Folder => "folder",
                    PlaceKind::Port => "port",
                    PlaceKind::Cosmos => "cosmos",
                },
            );
            places.push(place);
        }
        let servers: Vec<usize> = (0..2).filter(|place| is_server(kinds[*place])).collect();
        let default = random.choice(servers).filter(|_| random.bool());
        Self {
            seed,
            random,
            world: World { root, ram, places },
            python,
            folders: Vec::new(),
            usage,
            skipped,
            names: Cell::new(0),
            default,
            lines,
            failures: Failures::default(),
            commands: 0,
            faults: 0,
            is_over: false,
        }
    }

    /// Counts the use of a kind.
    pub(crate) fn count(&self, group: &str, kind: &str) {
        self.usage.count(group, kind);
    }

    /// Returns a number that is new in this script.
    pub(crate) fn number(&self) -> usize {
        self.names.set(self.names.get() + 1);
        self.names.get()
    }

    /// Returns the path of a file that does not exist.
    pub(crate) fn fresh(&self, name: &str) -> PathBuf {
        self.world.path().join(format!("{}-{name}", self.number()))
    }

    /// A table that exists.
    pub(crate) fn source(&mut self, before: &Moment) -> (usize, String) {
        let place = self.random.usize(..2);
        let names: Vec<&String> = before.tables[place].keys().collect();
        let table = match self.random.u8(..4) {
            0 => (*self.random.choice(&names).unwrap()).clone(),
            _ => "Rows".to_owned(),
        };
        (place, table)
    }

    /// A table that may not exist yet.
    pub(crate) fn target(&mut self, before: &Moment) -> (usize, String) {
        match self.random.u8(..3) {
            0 => (self.random.usize(..2), "New".to_owned()),
            _ => self.source(before),
        }
    }

    fn other(
        &mut self,
        before: &Moment,
        than: (usize, &str),
        choose: fn(&mut Self, &Moment) -> (usize, String),
    ) -> (usize, String) {
        loop {
            let (place, table) = choose(self, before);
            if (place, &*table) != than {
                return (place, table);
            }
        }
    }

    /// Another table that exists.
    pub(crate) fn other_source(&mut self, before: &Moment, place: usize, table: &str) -> (usize, String) {
        self.other(before, (place, table), Self::source)
    }

    /// Another table that may not exist yet.
    pub(crate) fn other_target(&mut self, before: &Moment, place: usize, table: &str) -> (usize, String) {
        self.other(before, (place, table), Self::target)
    }

    /// Names a table on the command line.
    pub(crate) fn add_table(&mut self, task: &mut Task, place: usize, table: &str) {
        if let PlaceKind::Folder = self.world.places[place].kind
            && self.random.bool()
        {
            let folder = self.world.places[place].name.clone();
            return task.words([table, "--local", &folder]);
        }
        self.add_tables(task, [(place, table)]);
    }

    /// Names tables on the command line.
    pub(crate) fn add_tables<const N: usize>(&mut self, task: &mut Task, tables: [(usize, &str); N]) {
        for (place, table) in tables {
            match self.default == Some(place) && self.random.bool() {
                true => task.words([table]),
                false => task.words([format!("{}/{table}", self.world.places[place].argument())]),
            }
        }
    }

    pub(crate) fn run(mut self) -> Report {
        for _ in 0..self.random.usize(1..=4) {
            let before = self.world.moment();
            match self.random.u8(..40) {
                0..=8 => self.execute(before, |script, before| Some((import(script, before), None))),
                9..=15 => self.execute(before, |script, before| Some((export(script, before), None))),
                16..=19 => self.execute(before, |script, before| Some((copy(script, before), None))),
                20..=24 => self.execute(before, |script, before| Some((sync(script, before), None))),
                25 | 26 => self.execute(before, |script, before| Some((diff(script, before), None))),
                27 | 28 => self.execute(before, |script, before| Some((selected(script, before, false), None))),
                29 | 30 => self.execute(before, |script, before| Some((selected(script, before, true), None))),
                31 => self.execute(before, |script, before| Some((put(script, before), None))),
                32 | 33 => self.execute(before, |script, before| Some((misplaced(script, before), None))),
                _ => {
                    self.back_up();
                }
            }
            if self.is_over || !self.failures.0.is_empty() {
                break;
            }
        }
        Report {
            seed: self.seed,
            lines: self.lines,
            failures: self.failures.0,
            commands: self.commands,
            faults: self.faults,
        }
    }

    /// A backup or two with changes between them, and then what is done with backups.
    fn back_up(&mut self) {
        for _ in 0..self.random.usize(1..=2) {
            let before = self.world.moment();
            self.execute(before, |script, before| {
                let (task, saved) = backups::backup(script, before);
                Some((task, Some(saved)))
            });
            let before = self.world.moment();
            match self.random.u8(..6) {
                0 => self.execute(before, |script, before| Some((selected(script, before, true), None))),
                1 => self.execute(before, |script, before| Some((import(script, before), None))),
                _ => {}
            }
            if self.is_over {
                return;
            }
        }
        let before = self.world.moment();
        self.execute(before, |script, before| Some((backups::restore(script, before)?, None)));
        let before = self.world.moment();
        let verifies = self.random.bool();
        self.execute(before, |script, before| {
            Some((backups::inspect(script, before, verifies)?, None))
        });
    }

    /// Runs a command, and forgets the failures of claims that are not reported.
    fn execute(&mut self, before: Moment, task: impl FnOnce(&mut Self, &Moment) -> Option<(Task, Option<Saved>)>) {
        self.judge(before, task);
        let skipped = self.skipped;
        self.failures.0.retain(|(claim, _)| !skipped.contains(&claim.name()));
    }

    /// Runs a command, with a fault in some cases, and holds it against the model.
    fn judge(&mut self, before: Moment, task: impl FnOnce(&mut Self, &Moment) -> Option<(Task, Option<Saved>)>) {
        if self.is_over || !self.failures.0.is_empty() {
            return;
        }
        let Some((mut task, saved)) = task(self, &before) else {
            return;
        };
        // The command has files that the moment before lacks.
        let before = Moment {
            files: self.world.files(),
            ..before
        };
        self.count("command", task.kind);
        self.commands += 1;
        if task.run.variables.is_empty() {
            let string = match self.default {
                Some(place) => self.world.places[place].connection_string().unwrap().to_owned(),
                None => format!("DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey={SECRET}=="),
            };
            task.run.variables = vec![("AZURE_STORAGE_CONNECTION_STRING".into(), string)];
        }
        let can_fail = task.can_fail && self.faults < 2 && !task.expected.is_refused();
        let fault = if can_fail && self.random.u8(..8) < Fault::chance(&task) {
            Fault::random(self, &mut task)
        } else {
            None
        };
        let mut run = task.run.clone();
        if let Some(fault) = fault {
            fault.apply(&mut run);
        }
        let (ran, has_struck) = self.run_once(&run, fault);
        let after = self.world.moment();
        let stop = fault.filter(|fault| fault.has_stopped(&ran, has_struck));
        if let Some(fault) = fault.filter(|_| has_struck || stop.is_some()) {
            self.count("fault", fault.name());
            self.faults += 1;
        }
        let Some(stop) = stop else {
            let is_full = fault == Some(Fault::FullDevice);
            let leeway = if has_struck { Leeway::Unchanged } else { Leeway::Exact };
            if !is_full {
                self.end([&before, &after], &ran, "", &task, Some(leeway));
                self.save(saved, &ran, &task);
            }
            return;
        };
        let failures = judge::stopped(&before, &after, &ran, &task);
        self.failures.0.extend(failures.0);
        let code = match stop {
            _ if stop.is_kill() => Ran::KILLED,
            Fault::Signal("-INT", _) if ran.code == Ran::INTERRUPTED_EARLY => ran.code,
            _ if stop.is_interrupt() => 130,
            _ => 1,
        };
        self.failures.check(ran.code == code, Claim::ExitCode, || {
            format!("{}: exit code {}", stop.name(), ran.code)
        });
        let resumed = self.resume(&before, after, &ran, &task, stop);
        if let Some(ran) = resumed {
            self.save(saved, &ran, &task);
        }
    }

    pub(crate) fn run_once(&mut self, run: &Run, fault: Option<Fault>) -> (Ran, bool) {
        for (index, place) in self.world.places.iter().enumerate() {
            place.control.arm(match fault {
                Some(Fault::Service { place, strike, at }) if place == index => Some((strike, at)),
                _ => None,
            });
        }
        let controls: Vec<_> = self.world.places.iter().map(|place| place.control.clone()).collect();
        let ran = run.run(self.world.path(), &controls);
        let struck: Vec<_> = controls.iter().map(crate::front::Control::disarm).collect();
        let has_struck = struck.contains(&true);
        let fault = fault.map_or(String::new(), |fault| {
            format!("  # {fault:?}{}", if has_struck { ", struck" } else { "" })
        });
        self.lines.push(format!("$ {}{fault}", run.line()));
        for (name, text) in [("1", String::from_utf8_lossy(&ran.output).as_ref()), ("2", &ran.error)] {
            let short: String = text.chars().take(PRINTED).collect();
            self.lines.extend(short.lines().map(|line| format!("{name}> {line}")));
        }
        self.lines.push(format!("=> {}", ran.code));
        (ran, has_struck)
    }

    /// Checks the end of a command.
    pub(crate) fn end(&mut self, moments: [&Moment; 2], ran: &Ran, earlier: &str, task: &Task, leeway: Option<Leeway>) {
        let failures = judge::ended(&self.world, moments, ran, earlier, task, leeway);
        self.failures.0.extend(failures.0);
        if let Some(exported) = &task.expected.exported
            && !task.expected.is_refused()
        {
            exported.check(ran, self.python, &mut self.failures);
        }
    }

    /// Remembers a backup.
    fn save(&mut self, saved: Option<Saved>, ran: &Ran, task: &Task) {
        if let (Some(saved), Some(path), true) = (saved, &task.backups, task.expected.codes.contains(&ran.code)) {
            let folder = self
                .folders
                .iter_mut()
                .find(|folder| path.ends_with(&folder.name))
                .unwrap();
            folder.backups.push(saved.named(ran));
        }
    }
}
