//! The report: what matched, what differs from the emulator, and what is now known.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::observation::{NEEDS_COSMOS, NEEDS_STORAGE};
use crate::comparison::probe::{Line, Probe};
use crate::comparison::probes;
use crate::comparison::run::{Plan, Results};
use crate::run::End;
use crate::service::account::Account;
use crate::service::output::{Exit, Output};
use crate::service::seen::{Difference, Seen};
use crate::step::Step;

/// The characters of a value in the report.
const MAX_CHARACTERS: usize = 160;
/// The characters of a request or of a line.
const MAX_OF_REQUEST: usize = 240;

/// The state of a line after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Confirmed,
    /// Confirmed but for the text of an error.
    OtherText,
    Refuted,
    /// With the reason.
    Undecided(String),
}

/// Responses to one request of a probe that differ from the emulator's.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) line: Line,
    /// The number of the request in its probe, from 1.
    pub(crate) step: usize,
    request: String,
    emulator: String,
    service: String,
    /// Those that decide the line.
    pub(crate) differences: Vec<Difference>,
}

/// Differences in parts of responses that decide no line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    number: usize,
    /// Of the first response.
    emulator: String,
    service: String,
}

#[derive(Debug)]
pub(crate) struct Report {
    is_live: bool,
    end: End,
    requests: u64,
    pub(crate) passed: Vec<&'static str>,
    pub(crate) failed: Vec<(&'static str, String)>,
    pub(crate) not_run: Vec<(&'static str, String)>,
    pub(crate) found: Vec<Found>,
    /// By header, or by kind of body.
    pub(crate) asides: BTreeMap<String, Aside>,
    pub(crate) verdicts: BTreeMap<Line, Verdict>,
    pub(crate) problems: Vec<String>,
}

impl Report {
    pub(crate) fn new(
        account: &Account,
        plan: &Plan,
        expected: &Results,
        found: &Results,
        skipped: &[usize],
        end: End,
        requests: u64,
    ) -> Self {
        let mut report = Self {
            is_live: account.is_live,
            end,
            requests,
            passed: Vec::new(),
            failed: Vec::new(),
            not_run: Vec::new(),
            found: Vec::new(),
            asides: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            problems: found.problems.clone(),
        };
        report
            .problems
            .extend(expected.problems.iter().map(|problem| format!("emulator: {problem}")));
        for (index, (test, obstacle)) in plan.tests.iter().enumerate() {
            match (found.tests.get(index), obstacle) {
                (Some(Some(Ok(()))), _) => report.passed.push(test.name),
                (Some(Some(Err(why))), _) => report.failed.push((test.name, account.mask().hide(why))),
                (_, Some(reason)) => report.not_run.push((test.name, (*reason).to_owned())),
                _ if skipped.contains(&index) => {
                    let why = "the emulator of this service fails it too".to_owned();
                    report.not_run.push((test.name, why));
                }
                _ => report.not_run.push((test.name, "the run ended before".to_owned())),
            }
        }
        for (position, (_, probe, obstacle)) in plan.probes.iter().enumerate() {
            let observed = [expected, found].map(|results| results.probes.get(position).cloned().flatten());
            let verdict = match (observed, obstacle) {
                (_, Some(reason)) => Verdict::Undecided((*reason).to_owned()),
                ([Some(emulator), Some(service)], None) => {
                    let compared = report.compare(probe, &emulator.steps, &service.steps);
                    match (compared, emulator.failed.or(service.failed)) {
                        (Verdict::Confirmed | Verdict::OtherText, Some(why)) => Verdict::Undecided(why),
                        (compared, _) => compared,
                    }
                }
                _ => Verdict::Undecided("the run ended before".to_owned()),
            };
            report.decide(probe.line, verdict);
        }
        for (line, reason) in probes::unprobed() {
            report.decide(*line, Verdict::Undecided((*reason).to_owned()));
        }
        report
    }

    /// Compares the responses to a probe.
    fn compare(&mut self, probe: &Probe, emulator: &[Seen], service: &[Seen]) -> Verdict {
        let mut verdict = Verdict::Confirmed;
        for (index, (own, live)) in emulator.iter().zip(service).enumerate() {
            let step = &probe.steps[index];
            let mut differences = live.differences(own);
            differences.retain(|difference| {
                let decides = match difference.level.strip_prefix("header ") {
                    Some(header) => Some(header) == probe.header,
                    None => difference.level != "body" || (probe.body && !step.is_setup),
                };
                if !decides {
                    self.set_aside(step, live, difference);
                }
                decides
            });
            if differences.is_empty() {
                continue;
            }
            let is_text = differences.iter().all(|difference| difference.level == "message");
            if !step.is_setup && verdict != Verdict::Refuted {
                verdict = if is_text { Verdict::OtherText } else { Verdict::Refuted };
            }
            self.found.push(Found {
                line: probe.line,
                step: index + 1,
                request: step.to_string(),
                emulator: own.outcome(),
                service: live.outcome(),
                differences,
            });
        }
        verdict
    }

    fn set_aside(&mut self, step: &Step, live: &Seen, difference: &Difference) {
        let resource = match step.path {
            path if path.contains("comp=") => "the service",
            path if path.starts_with("Tables") => "tables",
            "$batch" => "batches",
            _ => "entities",
        };
        let name = match difference.level.as_str() {
            "body" if live.status >= 400 => format!("body of rejections, {resource}"),
            "body" => format!("body of {resource}, {}", step.method),
            level => level.to_owned(),
        };
        let aside = self.asides.entry(name).or_insert_with(|| Aside {
            number: 0,
            emulator: difference.emulator.clone(),
            service: difference.service.clone(),
        });
        aside.number += 1;
    }

    /// Adds the verdict of a probe to its line's: refuted if one is, otherwise undecided if one is.
    fn decide(&mut self, line: Line, verdict: Verdict) {
        // The probe of another service says nothing.
        let is_elsewhere = |verdict: &Verdict| match verdict {
            Verdict::Undecided(why) => [NEEDS_STORAGE, NEEDS_COSMOS].contains(&why.as_str()),
            _ => false,
        };
        let merged = match (self.verdicts.remove(&line), verdict) {
            (None, new) => new,
            (Some(old), new) if is_elsewhere(&new) => old,
            (Some(old), new) if is_elsewhere(&old) => new,
            (Some(Verdict::Refuted), _) | (_, Verdict::Refuted) => Verdict::Refuted,
            (Some(Verdict::Undecided(why)), _) | (_, Verdict::Undecided(why)) => Verdict::Undecided(why),
            (Some(Verdict::OtherText), _) | (_, Verdict::OtherText) => Verdict::OtherText,
            (Some(Verdict::Confirmed), Verdict::Confirmed) => Verdict::Confirmed,
        };
        self.verdicts.insert(line, merged);
    }

    /// Returns one stable text for each failure and difference, for a list of known ones.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the lists of the tests"))]
    pub(crate) fn lines(&self) -> BTreeSet<String> {
        let failed = self.failed.iter().map(|(name, _)| format!("test {name}"));
        let found = self.found.iter().flat_map(|found| {
            let (line, step) = (cut(found.line.0, 70), found.step);
            found
                .differences
                .iter()
                .map(move |difference| match difference.level.as_str() {
                    level @ ("status" | "code") => {
                        let Difference { emulator, service, .. } = difference;
                        format!("{line} / request {step} / {level}: {emulator} -> {service}")
                    }
                    level => format!("{line} / request {step} / {level}"),
                })
        });
        failed.chain(found).chain(self.asides.keys().cloned()).collect()
    }

    pub(crate) fn exit(&self) -> Exit {
        let is_different = !self.failed.is_empty() || !self.found.is_empty() || !self.asides.is_empty();
        match (self.end, is_different) {
            (End::Complete, _) if !self.problems.is_empty() => Exit::NotFinished,
            (End::Complete, false) => Exit::NoDifference,
            (End::Complete, true) => Exit::Difference,
            _ => Exit::NotFinished,
        }
    }

    pub(crate) fn print(&self, output: &mut Output<'_>) {
        let end = match self.end {
            End::Complete => String::new(),
            end => format!("; {end}"),
        };
        output.line(&format!("requests   {}{end}", self.requests));
        self.print_introduction(output);
        for problem in &self.problems {
            output.line(&format!("  problem  {problem}"));
        }
        let [passed, failed, not_run] = [self.passed.len(), self.failed.len(), self.not_run.len()];
        output.line(&format!(
            "\nConformance suite: {passed} passed, {failed} failed, {not_run} not run"
        ));
        for (name, why) in &self.failed {
            output.line(&format!("  failed   {name}"));
            for line in why.lines().take(6) {
                output.line(&format!("           {}", cut(line, MAX_CHARACTERS)));
            }
        }
        let not_run = self
            .not_run
            .iter()
            .map(|(name, why)| (why.as_str(), (*name).to_owned()));
        by_reason(output, "not run: ", not_run);
        self.print_lines(output);
        self.print_differences(output);
        self.print_asides(output);
    }

    fn print_introduction(&self, output: &mut Output<'_>) {
        let date = format!("{:.10}", azure_table::DateTime::now().to_string());
        output.line(&format!(
            "\nReport of table-parity {}, {date}",
            env!("CARGO_PKG_VERSION")
        ));
        for line in [
            "The conformance suite and the probes ran on the project's emulator, and then on the service. A probe sends a",
            "few requests, whose responses decide a line of azure-table-emulator/src/unknowns.md: a behavior of the",
            "emulator that no recording and no documentation confirms. The functions of the suite are in tests/src. The",
            "report contains no secret, and neither the name nor the address of the account.",
        ] {
            output.line(&format!("  {line}"));
        }
        output.line(if self.is_live {
            "  Please send it as an issue of the project, with the lines above."
        } else {
            "  This is not a live account: it decides nothing about Azure."
        });
    }

    fn print_differences(&self, output: &mut Output<'_>) {
        output.line(&format!(
            "\nResponses to probes that differ from the emulator's: {}",
            self.found.len()
        ));
        if !self.found.is_empty() {
            output.line(
                "  <T> is the table of the probes, <N> begins the names of other tables, <K> is a partition, and",
            );
            output.line("  <R:r> its row r; <x*5> is xxxxx, and <wide*3*100> 3 properties of 100 characters each.");
            output.line("  {time 1} is the first time in a response.");
        }
        let mut last = None;
        for found in &self.found {
            if last != Some(found.line) {
                output.line(&format!("\n  {}", shown_line(found.line)));
                last = Some(found.line);
            }
            output.line(&format!("    {}", cut(&found.request, MAX_OF_REQUEST)));
            let is_other =
                |difference: &&Difference| !matches!(difference.level.as_str(), "status" | "code" | "message");
            let others: Vec<_> = found.differences.iter().filter(is_other).collect();
            if others.len() < found.differences.len() {
                pair(output, "", &found.emulator, &found.service);
            } else {
                for difference in others {
                    let (emulator, service) = apart(&difference.level, &difference.emulator, &difference.service);
                    pair(output, &format!("{} ", difference.level), &emulator, &service);
                }
            }
        }
    }

    fn print_asides(&self, output: &mut Output<'_>) {
        if !self.asides.is_empty() {
            output.line(
                "\nOther parts of responses that differ, which decide no line, each with its number and an example:",
            );
        }
        for (name, aside) in &self.asides {
            output.line(&format!("  {name}: {}", aside.number));
            let (emulator, service) = apart(name, &aside.emulator, &aside.service);
            pair(output, "", &emulator, &service);
        }
    }

    fn print_lines(&self, output: &mut Output<'_>) {
        let of = |wanted: fn(&Verdict) -> bool| self.verdicts.iter().filter(move |(_, verdict)| wanted(verdict));
        let confirmed: Vec<_> = of(|verdict| *verdict == Verdict::Confirmed).collect();
        let other_text: Vec<_> = of(|verdict| *verdict == Verdict::OtherText).collect();
        let refuted: Vec<_> = of(|verdict| *verdict == Verdict::Refuted).collect();
        let [yes, almost, no] = if self.is_live {
            ["confirmed", "confirmed but for the text of an error", "refuted"]
        } else {
            ["alike", "alike but for the text of an error", "different"]
        };
        let undecided = self.verdicts.len() - confirmed.len() - other_text.len() - refuted.len();
        output.line(&format!(
            "\nLines of unknowns.md: {} {yes}, {} {almost}, {} {no}, {undecided} not decided",
            confirmed.len(),
            other_text.len(),
            refuted.len()
        ));
        output.line("  A response is alike if its status, its error and the parts that the line is about are alike.");
        for (name, lines) in [(no, refuted), (almost, other_text), (yes, confirmed)] {
            if !lines.is_empty() {
                output.line(&format!("  {name}:"));
            }
            for (line, _) in lines {
                output.line(&format!("    {}", shown_line(*line)));
            }
        }
        let reasons = self.verdicts.iter().filter_map(|(line, verdict)| match verdict {
            Verdict::Undecided(why) => Some((why.as_str(), shown_line(*line))),
            _ => None,
        });
        by_reason(output, "not decided: ", reasons);
    }
}

fn pair(output: &mut Output<'_>, what: &str, emulator: &str, service: &str) {
    output.line(&format!("      {what}emulator  {}", cut(emulator, MAX_CHARACTERS)));
    output.line(&format!("      {what}service   {}", cut(service, MAX_CHARACTERS)));
}

/// Prints names below their common reason.
fn by_reason<'a>(output: &mut Output<'_>, what: &str, names: impl Iterator<Item = (&'a str, String)>) {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (reason, name) in names {
        groups.entry(reason).or_default().push(name);
    }
    for (reason, names) in groups {
        output.line(&format!("  {what}{reason}"));
        for name in names {
            output.line(&format!("    {name}"));
        }
    }
}

/// Returns a line of unknowns.md: the request, and the response of the emulator.
fn shown_line(line: Line) -> String {
    let text = match line {
        Line(item, "") => item.to_owned(),
        Line(request, response) => format!("{request} -> {response}"),
    };
    cut(&text, MAX_OF_REQUEST)
}

/// Returns the parts of two bodies or headers from shortly before their first difference.
fn apart(level: &str, a: &str, b: &str) -> (String, String) {
    let none = if level.starts_with("header ") {
        "(absent)"
    } else {
        "(empty)"
    };
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = if a.len().max(b.len()) <= MAX_CHARACTERS {
        0
    } else {
        same.saturating_sub(30)
    };
    let part = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        let begin = if from > 0 { "…" } else { "" };
        if rest.is_empty() && from == 0 {
            none.to_owned()
        } else {
            format!("{begin}{}", cut(&rest, MAX_CHARACTERS))
        }
    };
    (part(a), part(b))
}

fn cut(text: &str, most: usize) -> String {
    let text = text.replace(['\r', '\n'], " ");
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
