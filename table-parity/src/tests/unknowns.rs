//! Each line of `unknowns.md` has a probe, or a reason why no request decides it.

use std::collections::BTreeSet;

use crate::comparison::probe::Line;
use crate::comparison::probes;

/// The text of the emulator's documentation.
const TEXT: &str = include_str!("../../../azure-table-emulator/src/unknowns.md");

/// Returns the two cells of each row of the table, and each item of the list below it.
fn lines() -> BTreeSet<Line> {
    let rows = TEXT
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| request |"));
    let rows = rows.map(|line| {
        let cells = line.trim_start_matches("| ").trim_end_matches(" |").split_once(" | ");
        cells.map_or(Line(line, ""), |(request, response)| Line(request, response))
    });
    let items = TEXT.lines().filter_map(|line| line.strip_prefix("- "));
    rows.chain(items.map(|item| Line(item, ""))).collect()
}

#[test]
fn each_line_has_a_probe_or_a_reason() {
    let probed: BTreeSet<Line> = probes::all().map(|probe| probe.line).collect();
    let unprobed: BTreeSet<Line> = probes::unprobed().iter().map(|(line, _)| *line).collect();
    let lines = lines();
    assert!(lines.len() > 80, "{}", lines.len());
    let known: BTreeSet<Line> = probed.union(&unprobed).copied().collect();
    let missing: Vec<_> = lines.difference(&known).collect();
    assert!(missing.is_empty(), "no probe and no reason: {missing:#?}");
    let gone: Vec<_> = known.difference(&lines).collect();
    assert!(gone.is_empty(), "not in unknowns.md, or reworded there: {gone:#?}");
    let both: Vec<_> = probed.intersection(&unprobed).collect();
    assert!(both.is_empty(), "a probe and a reason: {both:#?}");
}

#[test]
fn each_probe_has_a_request_that_decides() {
    for probe in probes::all() {
        assert!(probe.steps.iter().any(|step| !step.is_setup), "{:?}", probe.line);
    }
}
