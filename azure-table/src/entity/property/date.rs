//! Dates without a time of day: Edm.DateTime at midnight in UTC, and text such as `2010-10-23` as a key.
//!
//! Defines [`Day`] as a property. The dates of other crates are stored as a `Day`, by `moment.rs`.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};
use crate::key::calendar::Day;

impl Property for Day {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::DateTime;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::DateTime(self.start())))
    }
}

impl ReadProperty for Day {
    /// # Errors
    /// The time is not midnight in UTC.
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let time = value.as_datetime()?;
        let day = Self::from(time);
        if day.start() == time {
            Ok(day)
        } else {
            Err(ValueError::new(format!(
                "{time} is not a date: it is not midnight in UTC"
            )))
        }
    }
}

/// Returns the day with these numbers, which come from `date`.
#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
pub(super) fn day_of(
    year: impl TryInto<u16>,
    month: impl TryInto<u8>,
    day: impl TryInto<u8>,
    date: impl std::fmt::Display,
) -> Result<Day, ValueError> {
    let numbers = (year.try_into().ok(), month.try_into().ok(), day.try_into().ok());
    let found = match numbers {
        (Some(year), Some(month), Some(day)) => Day::new(year, month, day),
        _ => None,
    };
    found.ok_or_else(|| ValueError::new(format!("the date {date} is outside of the years 1 to 9999")))
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;

    use super::*;
    use crate::entity::property::tests::stored;

    #[test]
    fn day_is_stored_as_midnight() {
        let day = Day::new(2010, 10, 23).unwrap();
        let time: DateTime = "2010-10-23T00:00:00Z".parse().unwrap();
        assert_eq!(day.to_edm().unwrap(), Some(Edm::DateTime(time)));
        assert_eq!(Day::from_wire(stored("2010-10-23T00:00:00Z")).unwrap(), day);
    }

    #[test]
    fn time_of_day_is_an_error() {
        let error = Day::from_wire(stored("2010-10-23T00:00:00.0000001Z")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2010-10-23T00:00:00.0000001Z is not a date: it is not midnight in UTC"
        );
    }
}
