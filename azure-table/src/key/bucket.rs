//! A number that spreads a hot key over several partitions.
//!
//! Defines [`Bucket`] and its hash. The hash must never change, because rows are found by it.

use std::fmt::{self, Write as _};

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::fnv;
use serde::{Deserialize, Serialize};

use crate::key::table_key::{ReadTableKey, TableKey};

/// One of `N` buckets, as part of a PartitionKey.
///
/// It spreads the rows of one hot key over `N` partitions, each with its own rate limit. `N` is from 1 to 10,000, which
/// the compiler checks. The text is the number in 4 digits.
///
/// Choose a bucket [by a value](Self::of) of the row, to find it again, or [at random](Self::random). Reading all rows
/// then takes one query for each of [all](Self::all) buckets.
///
/// ```
/// use azure_table::TableEntity;
/// use azure_table::key::Bucket;
///
/// #[derive(TableEntity)]
/// #[table(partition_key = "{component};{bucket}")]
/// struct Line {
///     component: String,
///     bucket: Bucket<16>,
///     #[table(row_key)]
///     id: String,
/// }
///
/// let bucket = Bucket::<16>::of("order-4711");
/// assert_eq!(bucket.to_string(), "0013");
/// assert_eq!(Bucket::<16>::all().count(), 16);
/// ```
///
/// More than 10,000 buckets do not compile:
///
/// ```compile_fail
/// let bucket = azure_table::key::Bucket::<10_001>::random();
/// ```
///
/// Source: "Azure Storage Table design guide", append anti-pattern; "Scalability and performance targets for Table
/// storage" (2,000 entities of 1 KiB a second for each partition).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u16", try_from = "u16")]
pub struct Bucket<const N: u16>(u16);

/// The number of digits of the greatest bucket number, for the greatest `N`.
const DIGITS: usize = 4;

impl<const N: u16> Bucket<N> {
    /// `N`, checked by the compiler.
    const BUCKETS: u16 = {
        assert!(N >= 1, "Bucket<0> has no buckets: N is from 1 to 10,000");
        assert!(N <= 10_000, "a Bucket has four digits: N is from 1 to 10,000");
        N
    };

    /// Returns the bucket for a text or for bytes: their 64-bit FNV-1a hash, modulo `N`.
    ///
    /// The result is the same on every machine and in every version of this crate.
    ///
    /// Source: "The FNV Non-Cryptographic Hash Algorithm", draft-eastlake-fnv.
    pub fn of(value: impl AsRef<[u8]>) -> Self {
        Self((fnv_1a(value.as_ref()) % u64::from(Self::BUCKETS)) as u16)
    }

    /// Returns the bucket of a key value, computed from its key text.
    ///
    /// # Errors
    /// The value has no key text.
    pub fn for_key(value: &(impl TableKey + ?Sized)) -> Result<Self, ValueError> {
        let mut text = String::new();
        value.write_key(&mut text)?;
        Ok(Self::of(text))
    }

    /// Returns a random bucket. All have the same probability.
    pub fn random() -> Self {
        Self(fastrand::u16(..Self::BUCKETS))
    }

    /// Returns the bucket with this number, or `None` unless it is below `N`.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::BUCKETS {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Returns all buckets, from 0 to `N` - 1.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..Self::BUCKETS).map(Self)
    }

    /// Returns the number, from 0 to `N` - 1.
    pub const fn number(self) -> u16 {
        self.0
    }
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().copied().fold(fnv::START, fnv::add)
}

impl<const N: u16> From<Bucket<N>> for u16 {
    fn from(bucket: Bucket<N>) -> Self {
        bucket.0
    }
}

impl<const N: u16> TryFrom<u16> for Bucket<N> {
    type Error = ValueError;

    /// # Errors
    /// The number is `N` or above.
    fn try_from(number: u16) -> Result<Self, ValueError> {
        Self::new(number).ok_or_else(|| ValueError::new(format!("{number} is not a bucket from 0 to {}", N - 1)))
    }
}

/// Writes the key text.
impl<const N: u16> fmt::Display for Bucket<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$}", self.0)
    }
}

impl<const N: u16> TableKey for Bucket<N> {
    const DIGITS: Option<usize> = Some(DIGITS);

    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        // Writing to a String cannot fail.
        let _ = write!(text, "{self}");
        Ok(())
    }
}

impl<const N: u16> ReadTableKey for Bucket<N> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        let has_digits = text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit());
        let number = has_digits.then(|| text.parse().ok()).flatten();
        let bucket = number.and_then(Self::new);
        bucket.ok_or_else(|| expected(&format!("a bucket of {N}, in 4 digits"), format_args!("{text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The published vectors.
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv_1a(text.as_bytes()), hash);
        }
        assert_eq!(
            Bucket::<10_000>::of("foobar").number(),
            (0x8594_4171_f739_67e8_u64 % 10_000) as u16
        );
        assert_eq!(Bucket::<16>::for_key(&7_u32).unwrap(), Bucket::of(b"0000000007"));
        assert!(Bucket::<16>::for_key(&("a b", "c")).is_err());
    }

    #[test]
    fn text_always_has_four_digits() {
        assert_eq!(key_text(&Bucket::<1>::random()), "0000");
        assert_eq!(key_text(&Bucket::<10_000>::new(9_999).unwrap()), "9999");
        assert_eq!(Bucket::<16>::read_key("0015").unwrap().number(), 15);
        for wrong in ["", "15", "0016", "00015", "+015", "001x"] {
            assert!(Bucket::<16>::read_key(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Bucket::<16>::new(16), None);
        assert!(Bucket::<16>::try_from(16).is_err());
        assert_eq!(serde_json::to_string(&Bucket::<16>::of("a")).unwrap(), "12");
        assert!(serde_json::from_str::<Bucket<16>>("16").is_err());
        assert_eq!(Bucket::<3>::all().map(Bucket::number).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// No bucket gets a quarter more or less than its share of common kinds of keys.
    #[test]
    fn common_keys_are_spread_evenly() {
        fn is_even<const N: u16>(keys: impl Iterator<Item = String>) {
            let mut counts = vec![0_u32; N.into()];
            let mut total = 0;
            for key in keys {
                counts[usize::from(Bucket::<N>::of(key).number())] += 1;
                total += 1;
            }
            let share = total / u32::from(N);
            assert!(counts.iter().all(|n| n.abs_diff(share) < share / 4), "{N}: {counts:?}");
        }
        fn is_even_for_all(keys: impl Iterator<Item = String> + Clone) {
            is_even::<2>(keys.clone());
            is_even::<10>(keys.clone());
            is_even::<16>(keys.clone());
            is_even::<64>(keys);
        }
        is_even_for_all((0..100_000).map(|n| n.to_string()));
        is_even_for_all((0..100_000_u32).map(|n| key_text(&n)));
        is_even_for_all((0..100_000).map(|n| format!("order-{n:x}")));
        is_even_for_all((0..100_000_u128).map(|n| {
            let bytes = n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes();
            azure_table_wire::value::guid::Guid(bytes).to_string()
        }));
    }
}
