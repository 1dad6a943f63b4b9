//! A curve: the cost of one unit by the number of units, and its bar.

/// The maximum growth of the cost of a unit from the first size to the last.
pub(crate) const GROWTH: f64 = 1.2;

/// The bar of a curve.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bar {
    /// The last is at most this many times the first.
    Growth(f64),
    /// Like `Growth`, above 1.2 for a reason that the table names.
    GrowthBecause(f64, &'static str),
    /// No point is above this value.
    AtMost(f64),
    /// No point is below this value.
    AtLeast(f64),
    /// None, for a reason that the table names.
    Explained(&'static str),
}

/// One measure of a dimension.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The measure, with its unit.
    pub(crate) measure: &'static str,
    /// The dimension that grows, with its unit.
    pub(crate) axis: &'static str,
    /// Size and cost, from the smallest size to the largest.
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) bar: Bar,
}

impl Curve {
    pub(crate) fn new(measure: &'static str, axis: &'static str, points: Vec<(f64, f64)>, bar: Bar) -> Self {
        Self {
            measure,
            axis,
            points,
            bar,
        }
    }

    /// Sets a higher bar for a reason.
    pub(crate) fn because(mut self, most: f64, why: &'static str) -> Self {
        self.bar = Bar::GrowthBecause(most, why);
        self
    }

    /// Returns the quotient of last and first.
    pub(crate) fn growth(&self) -> f64 {
        self.last_to(self.points[0].1)
    }

    /// Returns the quotient of last and least, which shows a growth hidden by the fixed costs of the first sizes.
    fn growth_from_least(&self) -> f64 {
        self.last_to(self.points.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min))
    }

    fn last_to(&self, other: f64) -> f64 {
        let last = self.points[self.points.len() - 1].1;
        if last == other { 1.0 } else { last / other }
    }

    /// Returns `true` if the bar is not missed.
    pub(crate) fn is_held(&self) -> bool {
        match self.bar {
            Bar::Growth(most) | Bar::GrowthBecause(most, _) => self.growth() <= most,
            Bar::AtMost(most) => self.points.iter().all(|(_, cost)| *cost <= most),
            Bar::AtLeast(least) => self.points.iter().all(|(_, cost)| *cost >= least),
            Bar::Explained(_) => true,
        }
    }

    /// Returns the limit of the last point, if it has one.
    pub(crate) fn limit(&self) -> Option<f64> {
        match self.bar {
            Bar::Growth(most) | Bar::GrowthBecause(most, _) => Some(self.points[0].1 * most),
            Bar::AtMost(value) | Bar::AtLeast(value) => Some(value),
            Bar::Explained(_) => None,
        }
    }

    /// Returns the head of the table.
    pub(crate) fn heading() -> &'static str {
        "| dimension | measure | by size | last / first | last / least | bar | |\n|---|---|---|--:|--:|--:|---|"
    }

    /// Returns a row of the table.
    pub(crate) fn line(&self, dimension: &str) -> String {
        let points = self.points.iter();
        let points = points.map(|(size, cost)| format!("{}: {}", number(*size), number(*cost)));
        let (bar, why) = match self.bar {
            Bar::Growth(most) => (format!("{most}"), ""),
            Bar::GrowthBecause(most, why) => (format!("{most}"), why),
            Bar::AtMost(most) => (format!("each ≤ {}", number(most)), ""),
            Bar::AtLeast(least) => (format!("each ≥ {}", number(least)), ""),
            Bar::Explained(why) => ("none".to_owned(), why),
        };
        let verdict = if self.is_held() { "held" } else { "MISSED" };
        let colon = if why.is_empty() { "" } else { ": " };
        format!(
            "| {dimension} | {} | {} | {:.2} | {:.2} | {bar} | {verdict}{colon}{why} |",
            self.measure,
            points.collect::<Vec<_>>().join(", "),
            self.growth(),
            self.growth_from_least(),
        )
    }
}

/// Returns three digits, with separated thousands.
pub(crate) fn number(value: f64) -> String {
    if value >= 100.0 || (value.fract() == 0.0 && value < 1e15) {
        let digits = format!("{value:.0}");
        let mut apart = String::new();
        for (n, digit) in digits.chars().enumerate() {
            if n > 0 && (digits.len() - n).is_multiple_of(3) {
                apart.push(',');
            }
            apart.push(digit);
        }
        return apart;
    }
    match value {
        10.0.. => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
