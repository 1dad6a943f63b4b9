//! A year of blogs in two channels.

use std::time::Duration;

use azure_table::key::Month;
use azure_table::{DateTime, Descending, Result};

use crate::{Blog, Rule};

const DAY: Duration = Duration::from_secs(86_400);

/// A blog each day, and six in the season. Another channel has a newer one.
pub(crate) fn blogs_of_a_year(rule: Rule) -> Result<Vec<Blog>> {
    let start = midnight("2007-12-31")?;
    let mut posted = vec![("Cricket", midnight("2009-01-02")?)];
    for day in (0..368).map(|day| start + DAY * day) {
        let count = if is_season(day) { 6 } else { 1 };
        posted.extend((0..count).map(|n| ("Football", day + DAY * n / count)));
    }
    let posted = posted.into_iter().map(|(channel, time)| {
        let (partition, posted) = (rule(channel, time)?, Descending(time));
        Ok(Blog { partition, posted })
    });
    posted.collect()
}

/// Returns the first moment of a day, such as `2008-10-03`.
pub(crate) fn midnight(day: &str) -> Result<DateTime> {
    Ok(format!("{day}T00:00:00Z").parse::<DateTime>()?)
}

/// Returns `true` from August to February.
pub(crate) fn is_season(time: DateTime) -> bool {
    !(3..=7).contains(&Month::from(time).month())
}
