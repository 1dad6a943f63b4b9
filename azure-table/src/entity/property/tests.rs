//! Tests that every type of a time or a date passes.

use std::fmt::Debug;
use std::time::Duration;

#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
use azure_table_wire::error::ValueError;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, Token, WireValue};

use crate::entity::property::{Property, ReadProperty};
#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
use crate::key::calendar::Day;
use crate::key::descending::{Descending, DescendingKey};
use crate::key::operand::Operand;
use crate::key::table_key::{ReadTableKey, key_text};

pub(super) fn stored(time: &str) -> WireValue<'_> {
    WireValue {
        annotation: Some(EdmType::DateTime),
        token: Token::Text(time),
    }
}

#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
pub(super) fn is_a_date<T>()
where
    T: ReadProperty + Property + ReadTableKey + DescendingKey + From<Day> + Copy + PartialEq + Debug,
    Day: TryFrom<T, Error = ValueError>,
{
    for text in ["0001-01-01", "1601-01-01", "1969-12-31", "2024-02-29", "9999-12-31"] {
        let day: Day = text.parse().unwrap();
        let date = T::from(day);
        assert_eq!(Day::try_from(date).unwrap(), day);
        assert_eq!(date.to_edm().unwrap(), Some(Edm::DateTime(day.start())));
        assert_eq!(T::from_wire(stored(&day.start().to_string())).unwrap(), date);
        assert_eq!(key_text(&date), text);
        assert_eq!(T::read_key(text).unwrap(), date);
        let descending = key_text(&Descending(day));
        assert_eq!(key_text(&Descending(date)), descending);
        assert_eq!(Descending::<T>::read_key(&descending).unwrap().0, date);
    }
}

/// Asserts that a `T` with this time reads back, as a property and as a key.
fn survives<T>(time: DateTime)
where
    T: ReadProperty + Property + ReadTableKey + DescendingKey + TryFrom<DateTime> + Copy + PartialEq + Debug,
    T::Error: Debug,
{
    let value = T::try_from(time).unwrap();
    assert_eq!(value.to_edm().unwrap(), Some(Edm::DateTime(time)));
    assert_eq!(T::from_wire(stored(&time.to_string())).unwrap(), value);
    assert_eq!(key_text(&value), key_text(&time));
    assert_eq!(T::read_key(&key_text(&time)).unwrap(), value);
    let descending = key_text(&Descending(time));
    assert_eq!(key_text(&Descending(value)), descending);
    assert_eq!(Descending::<T>::read_key(&descending).unwrap().0, value);
}

pub(super) fn is_a_moment<T>(greatest: DateTime)
where
    T: ReadProperty + Property + ReadTableKey + DescendingKey + TryFrom<DateTime> + Copy + PartialEq + Debug,
    T: Operand<DateTime> + Operand<Descending<DateTime>>,
    T::Error: Debug,
{
    let epoch = DateTime::from_unix_seconds(0);
    let tick = Duration::from_nanos(100);
    for time in [DateTime::MIN_STORED, epoch - tick, epoch, epoch + tick, greatest] {
        survives::<T>(time);
        assert_eq!(
            Operand::<DateTime>::into_operand(T::try_from(time).unwrap()).unwrap(),
            time
        );
        assert_eq!(
            Operand::<Descending<DateTime>>::into_operand(T::try_from(time).unwrap()).unwrap(),
            Descending(time)
        );
    }
}
