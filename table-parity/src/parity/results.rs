//! The results of a run: an outcome for each fact and each function of the suite, and their figures.

use crate::fact::{Area, Fact, Source};
use crate::parity::expectation::Mismatch;
use crate::service::output::Exit;

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// The day of the run.
    pub(crate) date: String,
    /// The emulated service.
    pub(crate) service: String,
    /// The name and version that the endpoint states.
    pub(crate) product: Option<String>,
    pub(crate) facts: Vec<Measured>,
    /// The functions of the conformance suite that ran, each with the reason for its failure.
    pub(crate) suite: Vec<(String, Result<(), String>)>,
    /// Faults of the run itself: it is not finished.
    pub(crate) problems: Vec<String>,
}

/// A fact and its responses.
#[derive(Clone)]
pub(crate) struct Measured {
    pub(crate) fact: &'static Fact,
    pub(crate) exchanges: Vec<Exchanged>,
    /// The reason why a request was not sent or had no response.
    pub(crate) failed: Option<String>,
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, exchanges, failed) = (self.fact.name, &self.exchanges, &self.failed);
        f.debug_tuple("Measured")
            .field(&name)
            .field(exchanges)
            .field(failed)
            .finish()
    }
}

/// A request, and its response as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchanged {
    pub(crate) request: String,
    /// The expected outcome in short. Empty for a request that prepares others.
    pub(crate) expected: String,
    /// The outcome in short.
    pub(crate) came: String,
    pub(crate) mismatches: Vec<Mismatch>,
}

/// The responses of a fact, beside the expected ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    Alike,
    /// Alike but for headers and the texts of errors.
    Close,
    Different,
}

/// The number of facts that hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) alike: usize,
    pub(crate) close: usize,
    pub(crate) of: usize,
}

impl Figure {
    fn add(&mut self, grade: Grade) {
        self.of += 1;
        match grade {
            Grade::Alike => self.alike += 1,
            Grade::Close => self.close += 1,
            Grade::Different => {}
        }
    }

    /// Returns the whole percents, which are 100 only if all are alike.
    pub(crate) fn percent(self) -> usize {
        (self.alike * 100).checked_div(self.of).unwrap_or(100)
    }
}

impl Measured {
    pub(crate) fn grade(&self) -> Grade {
        let parts = self.parts();
        let is_aside = |part: &&str| *part == "message" || part.starts_with("header ");
        match (&self.failed, parts.is_empty()) {
            (Some(_), _) => Grade::Different,
            (None, true) => Grade::Alike,
            (None, false) if parts.iter().all(is_aside) => Grade::Close,
            (None, false) => Grade::Different,
        }
    }

    /// Returns the parts that are not as expected, each once.
    pub(crate) fn parts(&self) -> Vec<&str> {
        let mut parts = Vec::new();
        for mismatch in self.exchanges.iter().flat_map(|exchange| &exchange.mismatches) {
            if !parts.contains(&mismatch.part.as_str()) {
                parts.push(mismatch.part.as_str());
            }
        }
        parts
    }
}

impl Results {
    /// Returns the figure of each area that has facts.
    pub(crate) fn areas(&self) -> Vec<(Area, Figure)> {
        let mut areas: Vec<(Area, Figure)> = Vec::new();
        for measured in &self.facts {
            let area = measured.fact.area;
            let index = areas.iter().position(|(known, _)| *known == area).unwrap_or_else(|| {
                areas.push((area, Figure::default()));
                areas.len() - 1
            });
            areas[index].1.add(measured.grade());
        }
        areas.sort_by_key(|(area, _)| *area);
        areas
    }

    /// Returns the figure of all facts.
    pub(crate) fn all(&self) -> Figure {
        let mut figure = Figure::default();
        self.facts.iter().for_each(|measured| figure.add(measured.grade()));
        figure
    }

    /// Returns the figure of the conformance suite.
    pub(crate) fn of_suite(&self) -> Figure {
        let mut figure = Figure::default();
        self.suite.iter().for_each(|(_, outcome)| {
            figure.add(if outcome.is_ok() {
                Grade::Alike
            } else {
                Grade::Different
            })
        });
        figure
    }

    pub(crate) fn exit(&self) -> Exit {
        let [facts, suite] = [self.all(), self.of_suite()];
        if !self.problems.is_empty() {
            Exit::NotFinished
        } else if facts.alike == facts.of && suite.alike == suite.of {
            Exit::NoDifference
        } else {
            Exit::Difference
        }
    }
}

/// Returns the text, date and address of a source.
pub(crate) fn described(source: Source) -> (String, &'static str, Option<&'static str>) {
    match source {
        Source::Recording { file, exchange, date } => {
            let session = file.trim_end_matches(".json");
            (format!("recording {session}, exchange {}", exchange + 1), date, None)
        }
        Source::Page { url, date } => {
            let last = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
            (format!("documentation, {last}"), date, Some(url))
        }
        Source::Report { url, date } => {
            let issue = url.trim_start_matches("https://github.com/").replace("/issues/", " ");
            (format!("issue {issue}"), date, Some(url))
        }
        Source::Suite { name, date } => (format!("tests of {name}"), date, None),
    }
}
