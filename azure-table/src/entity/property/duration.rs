//! `Duration`: an Edm.Int64 in ticks of 100 ns, like the `Ticks` of a .NET `TimeSpan`. As a key it has 19 digits
//! (`key/digits.rs`).

use std::time::Duration;

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};

/// 100 ns ticks in a second.
const PER_SECOND: u64 = 10_000_000;
/// The greatest duration that can be stored: `i64::MAX` ticks, about 29,227 years.
const GREATEST: Duration = from_ticks(i64::MAX.cast_unsigned());

/// Returns the ticks of a duration, rounded down.
pub(crate) fn ticks(duration: Duration) -> Result<i64, ValueError> {
    i64::try_from(duration.as_nanos() / 100).map_err(|_| {
        ValueError::new(format!(
            "{duration:?} is above the greatest duration stored, {GREATEST:?}"
        ))
    })
}

pub(crate) const fn from_ticks(ticks: u64) -> Duration {
    Duration::new(ticks / PER_SECOND, (ticks % PER_SECOND) as u32 * 100)
}

impl Property for Duration {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Int64;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        ticks(*self).map(|ticks| Some(Edm::Int64(ticks)))
    }

    fn is_rounded(&self) -> bool {
        !self.subsec_nanos().is_multiple_of(100)
    }
}

impl ReadProperty for Duration {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let ticks = value.as_i64()?;
        u64::try_from(ticks)
            .map(from_ticks)
            .map_err(|_| ValueError::new(format!("{ticks} ticks of 100 ns are below the least duration 0")))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;
    use proptest::prelude::*;

    use super::*;
    use crate::key::descending::Descending;
    use crate::key::table_key::{ReadTableKey as _, TableKey as _, key_text};

    fn stored(ticks: &str) -> WireValue<'_> {
        WireValue {
            annotation: Some(EdmType::Int64),
            token: Token::Text(ticks),
        }
    }

    #[test]
    fn duration_is_stored_as_ticks() {
        let millis = Duration::from_millis(1);
        assert_eq!(millis.to_edm().unwrap(), Some(Edm::Int64(10_000)));
        assert_eq!(Duration::from_nanos(1_999).to_edm().unwrap(), Some(Edm::Int64(19)));
        assert_eq!(GREATEST.to_edm().unwrap(), Some(Edm::Int64(i64::MAX)));
        assert_eq!(key_text(&millis), "0000000000000010000");
        assert_eq!(key_text(&Descending(Duration::ZERO)), i64::MAX.to_string());
    }

    #[test]
    fn duration_beyond_the_range_is_an_error() {
        let beyond = GREATEST + Duration::from_nanos(100);
        let why = "922337203685.4775808s is above the greatest duration stored, 922337203685.4775807s";
        assert_eq!(beyond.to_edm().unwrap_err().to_string(), why);
        assert_eq!(beyond.write_key(&mut String::new()).unwrap_err().to_string(), why);
        assert_eq!(
            Duration::from_wire(stored("-5")).unwrap_err().to_string(),
            "-5 ticks of 100 ns are below the least duration 0"
        );
        for wrong in [
            "",
            "5",
            "9223372036854775808",
            "+000000000000000005",
            "00000000000000000005",
        ] {
            assert!(Duration::read_key(wrong).is_err(), "{wrong}");
            assert!(Descending::<Duration>::read_key(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_number_of_ticks_round_trips(ticks in 0..=i64::MAX, other in 0..=i64::MAX) {
            let duration = Duration::from_wire(stored(&ticks.to_string())).unwrap();
            prop_assert_eq!(duration.to_edm().unwrap(), Some(Edm::Int64(ticks)));
            prop_assert_eq!(Duration::read_key(&key_text(&duration)).unwrap(), duration);
            let descending = Descending(duration);
            prop_assert_eq!(Descending::read_key(&key_text(&descending)).unwrap(), descending);
            let other = from_ticks(other.cast_unsigned());
            prop_assert_eq!(key_text(&duration).cmp(&key_text(&other)), duration.cmp(&other));
            prop_assert_eq!(key_text(&descending).cmp(&key_text(&Descending(other))), other.cmp(&duration));
        }
    }
}
