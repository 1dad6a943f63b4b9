//! The statements of the text of 2010 about its figures, beside what was measured.
//!
//! The figures are pictures there. Compared is what the text states: a number, or a shape. On the model of today the
//! documented targets stand in for the text.
//!
//! Source: "How to get the most out of Windows Azure Tables" (Windows Azure Storage Team, 2010), Figures 3 to 15;
//! "Scalability and performance targets for Table storage".

use crate::outcome::{Outcome, Point};
use crate::service::Preset;

/// The factor that numbers may differ by.
pub(crate) const FACTOR: f64 = 1.5;
/// The standard deviations by which a counted share may differ.
const CHANCE: f64 = 2.5;
/// A curve is flat from the first point on that has this share of its highest one.
const FLAT: f64 = 0.9;
/// A batch size saves what the largest one saves, but for this share.
const SAVED: f64 = 0.95;

/// One statement of the text, and our value.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) figure: &'static str,
    pub(crate) what: String,
    pub(crate) post: String,
    pub(crate) ours: String,
    /// Ours by theirs.
    pub(crate) ratio: Option<f64>,
    pub(crate) judgement: Judgement,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judgement {
    /// Within the factor.
    Within,
    /// A shape that is as stated.
    Holds,
    /// Too few requests to tell the difference.
    Chance(u64),
    /// A difference that is explained.
    Reason(&'static str),
    /// The text has no number.
    Unstated,
    Outside,
}

/// The readings of one figure in the making.
struct Readings<'o> {
    outcome: &'o Outcome,
    made: Vec<Reading>,
}

/// Returns the readings of all figures that were measured.
pub(crate) fn readings(outcomes: &[Outcome], preset: Preset) -> Vec<Reading> {
    let mut all = Vec::new();
    for outcome in outcomes {
        let mut readings = Readings {
            outcome,
            made: Vec::new(),
        };
        match preset {
            Preset::In2010 => readings.of_2010(outcomes),
            Preset::Today => readings.of_today(),
        }
        all.append(&mut readings.made);
    }
    all
}

impl Readings<'_> {
    fn of_2010(&mut self, all: &[Outcome]) {
        match self.outcome.figure.id {
            "3" => {
                self.most_below("gets", 40.0);
                self.most_below("inserts", 50.0);
            }
            "4" => self.most_below("batches of 100", 1_200.0),
            "5" => self.batch_latency(),
            "6" => self.saving(),
            "7" => self.batch_gain(),
            "8" => self.figure_8(),
            "9" => self.figure_9(all),
            "10" => {
                self.flat_from("small VM", 15.0);
                self.grows("XL VM", 15.0, 30.0);
            }
            "11" => self.flat_from("small VM", 6.0),
            "12" | "13" => {
                self.grows("small VM", 1.0, 8.0);
                let what = "small VMs, entities/s (8 VMs; the text names no number of VMs)";
                self.rate(what, self.outcome.y("small VM", 8.0), 17_000.0);
            }
            "14" => {
                self.grows("small VM", 1.0, 8.0);
                self.grows("XL VM", 1.0, 8.0);
            }
            "15" => self.figure_15(),
            _ => {}
        }
    }

    /// One partition has 2,000 entities/s, and the account 20,000.
    fn of_today(&mut self) {
        let limits: &[(&str, f64, f64)] = match self.outcome.figure.id {
            "8" => &[("one partition", 16.0, 2_000.0), ("many partitions", 16.0, 20_000.0)],
            "9" => &[("one partition", 16.0, 2_000.0), ("many partitions", 16.0, 20_000.0)],
            "12" | "13" => &[("small VM", 8.0, 20_000.0), ("XL VM", 8.0, 20_000.0)],
            "15" => &[("one partition", 50.0, 2_000.0)],
            "mixed" => &[("reads and inserts", 50.0, 2_000.0)],
            _ => &[],
        };
        for (curve, x, limit) in limits {
            let what = format!("{curve}, {x} {}: entities/s (documented target)", self.outcome.figure.x);
            self.rate(&what, self.outcome.y(curve, *x), *limit);
        }
        if let ("15", Some(last)) = (self.outcome.figure.id, self.made.last_mut())
            && last.judgement == Judgement::Outside
        {
            last.judgement = Judgement::Reason("workers pause 3 s in step, a bucket saves 1 s");
        }
    }

    fn push(&mut self, what: &str, post: impl Into<String>, ours: String, ratio: Option<f64>, judgement: Judgement) {
        self.made.push(Reading {
            figure: self.outcome.figure.id,
            what: what.to_owned(),
            post: post.into(),
            ours,
            ratio,
            judgement,
        });
    }

    fn shape(&mut self, what: &str, post: &str, ours: String, holds: bool) {
        let judgement = if holds { Judgement::Holds } else { Judgement::Outside };
        self.push(what, post, ours, None, judgement);
    }

    fn number(&mut self, what: &str, post: f64, ours: f64, text: impl Fn(f64) -> String) {
        let ratio = ours / post;
        let is_within = (1.0 / FACTOR..=FACTOR).contains(&ratio);
        let judgement = if is_within {
            Judgement::Within
        } else {
            Judgement::Outside
        };
        self.push(what, text(post), text(ours), Some(ratio), judgement);
    }

    fn rate(&mut self, what: &str, ours: Option<f64>, post: f64) {
        if let Some(ours) = ours {
            self.number(what, post, ours, |rate| format!("{}/s", whole(rate)));
        }
    }

    /// More than half of the requests take less.
    fn most_below(&mut self, curve: &'static str, ms: f64) {
        let Some(point) = self.outcome.at(curve, 1.0) else {
            return;
        };
        let share = point.measured.share_below(ms);
        let ours = format!(
            "{:.0} %, median {:.0} ms",
            100.0 * share,
            point.measured.quantile_ms(0.5)
        );
        self.shape(&format!("{curve} below {} ms", whole(ms)), "most", ours, share > 0.5);
    }

    fn batch_latency(&mut self) {
        let y = |curve, x| self.outcome.y(curve, x);
        let (Some(one), Some(many)) = (y("XL VM", 1.0), y("XL VM", 100.0)) else {
            return;
        };
        let ours = format!("{one:.0} and {many:.0} ms");
        self.push(
            "mean latency of sizes 1 and 100, XL VM",
            "a picture",
            ours,
            None,
            Judgement::Unstated,
        );
    }

    /// The smallest size that saves nearly as much latency per entity as the largest one.
    fn saving(&mut self) {
        for curve in ["small VM", "XL VM"] {
            let Some(line) = self.outcome.line(curve) else { continue };
            let (Some(first), Some(last)) = (line.first(), line.last()) else {
                continue;
            };
            let enough = first.1 - SAVED * (first.1 - last.1);
            if let Some((size, _)) = line.iter().find(|(_, y)| *y <= enough) {
                let what = format!("{curve}: the saving per entity peaks at size (95 % of it)");
                self.number(&what, 20.0, *size, whole);
            }
        }
        let requests = |x| {
            let measured = &self.outcome.at("XL VM", x)?.measured;
            Some(measured.accepted_requests as f64 / measured.accepted_entities as f64)
        };
        if let (Some(half), Some(full)) = (requests(50.0), requests(100.0)) {
            self.number("requests per entity, size 50 by size 100", 2.0, half / full, times);
        }
    }

    fn batch_gain(&mut self) {
        for curve in ["small VM", "XL VM"] {
            let Some(line) = self.outcome.line(curve) else { continue };
            if let Some(size) = bend(&line) {
                let what = format!("{curve}: the gain of larger batches bends at size");
                self.number(&what, 20.0, size, whole);
            }
        }
        let y = |curve, x| self.outcome.y(curve, x);
        if let (Some(small), Some(large)) = (y("small VM", 100.0), y("XL VM", 100.0)) {
            self.number(
                "XL VM by small VM, size 100 (\"a little more than\")",
                1.5,
                large / small,
                times,
            );
        }
    }

    fn figure_8(&mut self) {
        for (vms, rate) in [(2.0, 600.0), (5.0, 1_000.0)] {
            let ours = self.outcome.y("one partition", vms);
            self.rate(&format!("one partition, {vms} VMs: entities/s"), ours, rate);
        }
        for (vms, share) in [(2.0, 0.0), (5.0, 0.000_004), (10.0, 0.000_3), (16.0, 0.002)] {
            self.rejected(
                "one partition",
                vms,
                share,
                &format!("one partition, {vms} VMs: rejected"),
            );
        }
        self.grows("many partitions", 5.0, 16.0);
    }

    fn figure_9(&mut self, all: &[Outcome]) {
        let y = |curve| self.outcome.y(curve, 16.0);
        let (Some(one), Some(many)) = (y("one partition"), y("many partitions")) else {
            return;
        };
        let ours = format!("{} by {}/s", whole(many), whole(one));
        self.shape("many partitions by one, 16 VMs", "more", ours, many > one);
        let inserts = all.iter().find(|other| other.figure.id == "8");
        if let Some(inserts) = inserts.and_then(|other| other.y("one partition", 16.0)) {
            let ours = format!("{} by {}/s", whole(one), whole(inserts));
            self.shape("gets by inserts, one partition, 16 VMs", "more", ours, one > inserts);
        }
    }

    fn figure_15(&mut self) {
        for (workers, rate, share) in [(20.0, 2_300.0, 0.0), (30.0, 0.0, 0.11), (50.0, 2_500.0, 0.22)] {
            let ours = self.outcome.y("one partition", workers).filter(|_| rate > 0.0);
            self.rate(&format!("{workers} workers: entities/s"), ours, rate);
            self.rejected("one partition", workers, share, &format!("{workers} workers: rejected"));
        }
    }

    /// A share of rejected requests. Few requests have it by chance alone.
    fn rejected(&mut self, curve: &str, x: f64, post: f64, what: &str) {
        let Some(point) = self.outcome.at(curve, x) else { return };
        let (ours, requests) = (point.measured.rejected_share(), point.measured.requests());
        let (post_text, ours_text) = (percent(post), percent(ours));
        if post == 0.0 {
            return self.shape(what, "none, or almost", ours_text, ours < 0.002);
        }
        let ratio = ours / post;
        let chance = CHANCE * (post * (1.0 - post) / requests as f64).sqrt();
        let judgement = match (1.0 / FACTOR..=FACTOR).contains(&ratio) {
            true => Judgement::Within,
            false if (ours - post).abs() <= chance => Judgement::Chance(requests),
            false => Judgement::Outside,
        };
        self.push(what, post_text, ours_text, Some(ratio), judgement);
    }

    fn flat_from(&mut self, curve: &str, post: f64) {
        let Some(line) = self.outcome.line(curve) else { return };
        let most = line.iter().fold(0.0, |most: f64, (_, y)| most.max(*y));
        if let Some((x, _)) = line.iter().find(|(_, y)| *y >= FLAT * most) {
            let what = format!("{curve}: flat from so many workers on");
            self.number(&what, post, *x, whole);
        }
    }

    fn grows(&mut self, curve: &str, from: f64, to: f64) {
        let point = |x| {
            self.outcome
                .at(curve, x)
                .map(|point: &Point| point.y(self.outcome.figure.shows))
        };
        let (Some(first), Some(last)) = (point(from), point(to)) else {
            return;
        };
        let what = format!("{curve}, from {from} to {to} {}", self.outcome.figure.x);
        let ours = format!("{} ({} to {}/s)", times(last / first), whole(first), whole(last));
        self.shape(&what, "rises", ours, last > 1.2 * first);
    }
}

/// Returns the x of the point that is farthest from the straight line between the ends: the knee of a curve.
fn bend(line: &[(f64, f64)]) -> Option<f64> {
    let [first, inner @ .., last] = line else { return None };
    let slope = (last.1 - first.1) / (last.0 - first.0);
    let above = |point: &(f64, f64)| point.1 - first.1 - slope * (point.0 - first.0);
    let knee = inner.iter().max_by(|a, b| above(a).total_cmp(&above(b)))?;
    Some(knee.0)
}

/// Returns a number with its thousands apart.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn times(value: f64) -> String {
    format!("{value:.2} ×")
}

/// Returns a share in per cent. Rare rejections begin at the fourth place.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        value if value < 0.1 => format!("{value:.4} %"),
        value if value < 10.0 => format!("{value:.2} %"),
        value => format!("{value:.1} %"),
    }
}
