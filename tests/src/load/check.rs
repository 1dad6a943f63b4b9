//! A measured figure and the bar it is held to.

use std::fmt;
use std::ops::RangeInclusive;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Entities per second.
    Rate,
    /// A part of a whole, from 0 to 1, shown in per cent.
    Share,
}

/// A measured figure, and its bar.
#[derive(Clone, Debug)]
pub struct Check {
    /// The name of the measurement.
    pub what: String,
    /// The unit.
    pub unit: Unit,
    /// The measured value.
    pub measured: f64,
    /// The value of the study, or the limit, if there is such a figure.
    pub reference: Option<f64>,
    /// The range of the bar.
    pub bar: RangeInclusive<f64>,
}

impl Check {
    /// Returns `true` if the bar is met.
    pub fn is_held(&self) -> bool {
        self.bar.contains(&self.measured)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: f64| match self.unit {
            Unit::Rate if value < 1_000.0 => format!("{value:.0}/s"),
            Unit::Rate => format!(
                "{},{:03.0}/s",
                (value.round() / 1_000.0) as u64,
                value.round() % 1_000.0
            ),
            Unit::Share if value == 0.0 => "0 %".to_owned(),
            // The rare refusals of Figure 8 begin at the fourth place.
            Unit::Share if value < 0.001 => format!("{:.4} %", value * 100.0),
            Unit::Share => format!("{:.2} %", value * 100.0),
        };
        let (least, most) = (*self.bar.start(), *self.bar.end());
        let bar = match (least > 0.0, most.is_finite()) {
            (false, _) => format!("at most {}", shown(most)),
            (true, false) => format!("at least {}", shown(least)),
            (true, true) => format!("{} to {}", shown(least), shown(most)),
        };
        let reference = self.reference.map_or("-".to_owned(), shown);
        let verdict = if self.is_held() { "held" } else { "MISSED" };
        let (what, measured) = (&self.what, shown(self.measured));
        write!(f, "{what:<48}{measured:>10}{reference:>10}   {bar:<20}  {verdict}")
    }
}
