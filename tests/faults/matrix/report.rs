//! The report of the matrix: the cases of each operation under each fault, and the failures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use azure_table::LocationMode;

use super::case_runner::LOCATIONS;
use super::check::Broken;
use azure_table_tests::scenario::{MODES, Mode};

#[derive(Default)]
pub(crate) struct Report {
    /// Of each operation and fault.
    cases: BTreeMap<(&'static str, &'static str), u64>,
    /// Of each operation, mode and location mode.
    modes: BTreeMap<(&'static str, usize, usize), u64>,
    pub(crate) faults: u64,
    pub(crate) broken: Vec<(&'static str, Broken, String)>,
}

impl Report {
    pub(crate) fn tell(
        &mut self,
        operation: &'static str,
        fault: &'static str,
        (mode, location, seed): (Mode, LocationMode, u64),
        hits: usize,
        verdict: Result<(), (Broken, String)>,
    ) {
        *self.cases.entry((operation, fault)).or_default() += 1;
        let mode_at = MODES.iter().position(|known| *known == mode).unwrap();
        let location_at = LOCATIONS.iter().position(|known| *known == location).unwrap();
        *self.modes.entry((operation, mode_at, location_at)).or_default() += 1;
        self.faults += hits as u64;
        if let Err((broken, case)) = verdict {
            let text = format!("{operation}, {fault}, {mode:?}, {location:?}, seed {seed}: {broken:?}: {case}");
            self.broken.push((operation, broken, text));
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (of, cases) in other.cases {
            *self.cases.entry(of).or_default() += cases;
        }
        for (of, cases) in other.modes {
            *self.modes.entry(of).or_default() += cases;
        }
        self.faults += other.faults;
        self.broken.extend(other.broken);
    }

    pub(crate) fn cases(&self) -> u64 {
        self.cases.values().sum()
    }

    /// The first failed cases of each kind.
    pub(crate) fn failures(&self) -> String {
        let mut counts = BTreeMap::<_, (usize, &str)>::new();
        for (operation, broken, text) in &self.broken {
            let (count, _) = counts.entry((operation, broken)).or_insert((0, text));
            *count += 1;
        }
        let lines = counts.iter().map(|((operation, broken), (count, text))| {
            let first = text.lines().next().unwrap_or_default();
            format!("{operation}: {broken:?}: {count} cases, such as {first}")
        });
        let shown = self.broken.iter().take(2).map(|(.., text)| text.clone());
        lines.chain(shown).collect::<Vec<_>>().join("\n")
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let faults: BTreeSet<_> = self.cases.keys().map(|(_, fault)| *fault).collect();
        let operations: BTreeSet<_> = self.cases.keys().map(|(operation, _)| *operation).collect();
        for (number, fault) in (1..).zip(&faults) {
            writeln!(f, "fault {number}: {fault}")?;
        }
        write!(f, "{:<31}", "operation")?;
        for mode in MODES {
            write!(f, " {:>17}", format!("{mode:?}"))?;
        }
        for number in 1..=faults.len() {
            write!(f, " {number:>4}")?;
        }
        writeln!(f, " wrong")?;
        for operation in operations {
            write!(f, "{operation:<31}")?;
            for mode in 0..MODES.len() {
                for location in 0..LOCATIONS.len() {
                    let cases = self.modes.get(&(operation, mode, location)).unwrap_or(&0);
                    write!(f, " {cases:>5}")?;
                }
            }
            for fault in &faults {
                write!(f, " {:>4}", self.cases.get(&(operation, *fault)).unwrap_or(&0))?;
            }
            let wrong = self.broken.iter().filter(|(found, ..)| *found == operation);
            writeln!(f, " {:>5}", wrong.count())?;
        }
        write!(f, "modes: cases at {LOCATIONS:?}; faults: cases of each")
    }
}
