//! The PartitionKeys at which the rest of a range is split.
//!
//! This file has the arithmetic of keys: characters in the order of UTF-16 units, the characters that keys vary by
//! ([`Alphabet`]), and interpolation between two keys. The scan of `client/query` decides which range is split.
//!
//! No row needs to exist at a bound. The service separates two ranges that meet at one (`lt` and `ge`), so a bad bound
//! costs a request but never loses a row.

use azure_table_wire::value::key_text::MAX_KEY_UNITS;
use azure_table_wire::value::ordinal::utf16_len;

/// The number of characters.
const PLACES: u32 = 0x11_0000 - 0x800;
/// The place of U+10000 in the order of UTF-16 units, right after U+D7FF.
const FIRST_PAIR: u32 = 0xd800;
/// The place of U+E000, right after U+10FFFF.
const AFTER_PAIRS: u32 = FIRST_PAIR + 0x10_0000;
/// The number of characters of a key that interpolation considers: further ones are below the precision of an `f64`.
const DIGITS: usize = 12;
/// The factor between the steps into characters that no key has shown yet.
const STEP: u32 = 8;

/// Returns the place of a character among all, in the order of UTF-16 units. A pair of surrogates is one place.
fn place(character: char) -> u32 {
    let code = u32::from(character);
    match code {
        ..0xd800 => code,
        0x1_0000.. => code - 0x1_0000 + FIRST_PAIR,
        _ => code - 0xe000 + AFTER_PAIRS,
    }
}

/// Returns the first character at `place` or after it that a key may contain.
fn character(place: u32) -> Option<char> {
    (place..PLACES.min(place.saturating_add(0x40)))
        .filter_map(|place| {
            char::from_u32(match place {
                ..FIRST_PAIR => place,
                AFTER_PAIRS.. => place - AFTER_PAIRS + 0xe000,
                _ => place - FIRST_PAIR + 0x1_0000,
            })
        })
        .find(|c| !c.is_control() && !matches!(c, '/' | '\\' | '#' | '?'))
}

fn places(text: &str) -> Vec<u32> {
    text.chars().map(place).collect()
}

fn text(places: impl Iterator<Item = u32>) -> Option<String> {
    let text: String = places.map(character).collect::<Option<_>>()?;
    (utf16_len(&text) <= MAX_KEY_UNITS).then_some(text)
}

/// Returns the number of characters that two texts have in common at their start.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The characters at which neighboring keys differ: digits, letters, and one range of places beyond ASCII.
///
/// One character of a class stands for the class, since most keys count in digits, hexadecimal digits or letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alphabet {
    ascii: u128,
    beyond: Option<(u32, u32)>,
}

impl Alphabet {
    const CLASSES: [(u8, u8); 5] = [(b'0', b'9'), (b'a', b'f'), (b'a', b'z'), (b'A', b'F'), (b'A', b'Z')];

    /// Adds the characters at which two neighboring keys differ.
    pub(crate) fn learn(&mut self, a: &str, b: &str) {
        let differ = a.chars().zip(b.chars()).find(|(a, b)| a != b);
        match differ {
            Some((a, b)) => {
                self.add(place(a));
                self.add(place(b));
            }
            None => self.add_at(b, a.chars().count()),
        }
    }

    /// Adds the character of a key at an index.
    fn add_at(&mut self, key: &str, index: usize) {
        if let Some(character) = key.chars().nth(index) {
            self.add(place(character));
        }
    }

    fn add(&mut self, place: u32) {
        if place >= 128 {
            let (from, to) = self.beyond.unwrap_or((place, place));
            self.beyond = Some((from.min(place), to.max(place)));
            return;
        }
        let is_in = |(from, to): &(u8, u8)| (u32::from(*from)..=u32::from(*to)).contains(&place);
        let class = Self::CLASSES.into_iter().find(is_in);
        self.ascii |= match class {
            Some((from, to)) => (from..=to).fold(0, |bits, c| bits | 1 << c),
            None => 1 << place,
        };
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.ascii |= other.ascii;
        for place in other.beyond.into_iter().flat_map(|(from, to)| [from, to]) {
            self.add(place);
        }
    }

    fn size(&self) -> u32 {
        self.ascii.count_ones() + self.beyond.map_or(0, |(from, to)| to - from + 1)
    }

    /// Returns the number of characters before `place`.
    fn index(&self, place: u32) -> u32 {
        let below = 1_u128.checked_shl(place).map_or(u128::MAX, |bit| bit - 1);
        let beyond = self.beyond.map_or(0, |(from, to)| place.clamp(from, to + 1) - from);
        (self.ascii & below).count_ones() + beyond
    }

    /// Returns the place of the character with `index` characters before it.
    fn nth(&self, index: u32) -> u32 {
        let ascii = self.ascii.count_ones();
        if index >= ascii {
            return self.beyond.map_or(0, |(from, _)| from) + (index - ascii);
        }
        let mut bits = self.ascii;
        for _ in 0..index {
            bits &= bits - 1;
        }
        bits.trailing_zeros()
    }

    /// Returns the position of a key from 0 to 1 among all that have its first `depth` characters.
    fn position(&self, key: &[u32], depth: usize) -> f64 {
        let size = f64::from(self.size());
        let (mut position, mut scale) = (0.0, 1.0);
        for place in key.iter().skip(depth).take(DIGITS) {
            scale /= size;
            position += f64::from(self.index(*place)) * scale;
        }
        position.min(1.0)
    }

    /// Returns the characters of the key at a position, to this precision.
    fn key(&self, mut position: f64, precision: f64) -> Vec<u32> {
        let size = f64::from(self.size());
        let (mut key, mut scale) = (Vec::new(), 1.0);
        while key.len() < DIGITS && (key.is_empty() || scale > precision) {
            position *= size;
            scale /= size;
            let digit = (position as u32).min(self.size() - 1);
            position -= f64::from(digit);
            key.push(self.nth(digit));
        }
        key
    }
}

/// The PartitionKeys that are left in a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest<'k> {
    /// The bound at which the range begins, or the last key before it.
    pub from: Option<&'k str>,
    /// `true` if `from` is the last key before the range.
    pub is_after: bool,
    /// The first key that was read.
    pub first: &'k str,
    /// The last key that was read.
    pub last: &'k str,
    /// The first key after the range.
    pub to: Option<&'k str>,
}

/// A [`Rest`] in places, with the index at which its keys differ.
struct Measured {
    last: Vec<u32>,
    to: Option<Vec<u32>>,
    /// The number of characters that all keys of the rest are known to have in common.
    depth: usize,
    /// The number of characters after which keys are known to differ.
    differ: usize,
    /// `true` if no key limits the characters at `depth`.
    is_open: bool,
}

impl Rest<'_> {
    fn measure(&self) -> Measured {
        let (last, to) = (places(self.last), self.to.map(places));
        let mut depth = to.as_ref().map_or(0, |to| common(&last, to));
        let mut is_open = to.is_none();
        if let (Some(to), Some(own)) = (&to, last.get(depth))
            && to.len() == depth + 1
            && character(own + 1).map(place) >= to.get(depth).copied()
        {
            // The end is right after the keys with this character.
            (depth, is_open) = (depth + 1, true);
        }
        let mut differ = common(&places(self.first), &last);
        if let Some(from) = self.from.map(places) {
            // A bound differs from the keys before it in its last character.
            let ends = if self.is_after {
                usize::MAX
            } else {
                from.len().saturating_sub(1)
            };
            differ = differ.min(common(&from, &last)).min(ends);
        }
        Measured {
            last,
            to,
            depth,
            differ: differ.max(depth),
            is_open,
        }
    }

    /// Adds the character that distinguishes the first key from the keys before the range.
    pub(crate) fn teach(&self, alphabet: &mut Alphabet) {
        let Some(from) = self.from else { return };
        let index = common(&places(from), &places(self.first));
        let ends = if self.is_after {
            usize::MAX
        } else {
            from.chars().count().saturating_sub(1)
        };
        alphabet.add_at(self.first, index.min(ends));
    }

    /// Returns the number of keys left, as a multiple of the number from `first` to `last`, or `None` if that is
    /// unknown.
    pub(crate) fn ratio(&self, alphabet: &Alphabet) -> Option<f64> {
        let Measured {
            last,
            to,
            depth,
            differ,
            is_open,
        } = self.measure();
        let is_beyond = is_open && last.get(depth).is_some_and(|place| *place >= 128);
        if differ > depth || alphabet.size() < 2 || is_beyond {
            return None;
        }
        let first = places(if self.first == self.last {
            self.from?
        } else {
            self.first
        });
        let start = if common(&first, &last) >= depth {
            alphabet.position(&first, depth)
        } else {
            0.0
        };
        let at = alphabet.position(&last, depth);
        let end = to.filter(|_| !is_open).map_or(1.0, |to| alphabet.position(&to, depth));
        (at > start).then(|| ((end - at) / (at - start)).max(0.0))
    }

    /// Returns up to `count` bounds after `last` and before `to`, in order.
    ///
    /// Until two keys have shown where they differ, the bounds raise single characters of `last`. Later ones divide the
    /// rest evenly.
    pub(crate) fn bounds(&self, alphabet: &Alphabet, count: usize) -> Vec<String> {
        let rest = self.measure();
        let found = if rest.differ > rest.depth {
            rest.raised(count)
        } else {
            rest.between(alphabet, count)
        };
        let mut bounds: Vec<_> = found.into_iter().filter_map(|bound| text(bound.into_iter())).collect();
        bounds.retain(|bound| {
            let bound = places(bound);
            bound > rest.last && rest.to.as_ref().is_none_or(|to| bound < *to)
        });
        bounds.sort_by_cached_key(|bound| places(bound));
        bounds.dedup();
        bounds.truncate(count);
        bounds
    }
}

impl Measured {
    /// Returns bounds that each raise one of the characters that may be common to all keys.
    fn raised(&self, count: usize) -> Vec<Vec<u32>> {
        let width = self.differ - self.depth;
        let indexes: Vec<usize> = if width <= count {
            (self.depth..self.differ).collect()
        } else {
            (1..=count).map(|n| self.depth + (width - 1) * n / count).collect()
        };
        let raise = |index: usize| Some([self.last.get(..index)?, &[self.last.get(index)? + 1]].concat());
        indexes.into_iter().filter_map(raise).collect()
    }

    /// Returns bounds that divide the rest evenly, and bounds in characters that no key has shown.
    fn between(&self, alphabet: &Alphabet, count: usize) -> Vec<Vec<u32>> {
        let Some(own) = self.last.get(self.depth).copied() else {
            return Vec::new();
        };
        let prefix = self.last.get(..self.depth).unwrap_or_default();
        let to = self.to.as_ref().filter(|_| !self.is_open);
        let mut bounds = Vec::new();
        let size = alphabet.size();
        let is_last = size < 2 || alphabet.index(own) + 1 >= size;
        if size >= 2 {
            let at = alphabet.position(&self.last, self.depth);
            let end = to.map_or(1.0, |to| alphabet.position(to, self.depth));
            let parts = count as f64 + 1.0;
            let mut position = at;
            for _ in 0..count {
                position += (end - at) / parts;
                let key = alphabet.key(position, (end - at) / parts / 4.0);
                bounds.push([prefix, &key].concat());
            }
            if self.is_open && own >= 128 && !is_last {
                // Characters beyond those seen are likely.
                bounds.pop();
                bounds.push([prefix, &[alphabet.nth(size - 1) + 1]].concat());
            }
        }
        if is_last {
            let end = to.and_then(|to| to.get(self.depth).copied()).unwrap_or(PLACES);
            let steps = std::iter::successors(Some(1), |step: &u32| step.checked_mul(STEP));
            let next = steps
                .map(|step| own.saturating_add(step))
                .take_while(|place| *place < end);
            bounds.extend(next.take(count).map(|place| [prefix, &[place]].concat()));
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::key_text::key_text_fault;
    use azure_table_wire::value::ordinal;
    use proptest::prelude::*;

    use super::*;

    fn learned(keys: &[&str]) -> Alphabet {
        let mut alphabet = Alphabet::default();
        for pair in keys.windows(2) {
            alphabet.learn(pair[0], pair[1]);
        }
        alphabet
    }

    fn rest<'k>(first: &'k str, last: &'k str, to: Option<&'k str>) -> Rest<'k> {
        Rest {
            from: None,
            is_after: false,
            first,
            last,
            to,
        }
    }

    #[test]
    fn numbers_are_divided_evenly() {
        let alphabet = learned(&["0017", "0018"]);
        let rest = rest("0017", "2000", None);
        assert_eq!(rest.bounds(&alphabet, 3), ["40", "60", "80"]);
        let ratio = rest.ratio(&alphabet).unwrap();
        assert!((ratio - 8000.0 / 1983.0).abs() < 0.01, "{ratio}");
        // Between two bounds with a common prefix.
        let rest = Rest {
            from: Some("user-1"),
            is_after: false,
            first: "user-1000",
            last: "user-1099",
            to: Some("user-2"),
        };
        assert_eq!(rest.bounds(&alphabet, 1), ["user-15"]);
    }

    #[test]
    fn common_prefix_is_found_from_its_end() {
        let rest = rest("user-000000", "user-000099", None);
        let bounds = [
            "user-0001",
            "user-001",
            "user-01",
            "user-1",
            "user.",
            "uses",
            "usf",
            "ut",
            "v",
        ];
        assert_eq!(rest.bounds(&Alphabet::default(), 16), bounds);
        // A long prefix takes a few rounds of a few bounds.
        let long = "x".repeat(1_000);
        let bounds = Rest {
            first: &format!("{long}1"),
            last: &format!("{long}5"),
            ..rest
        }
        .bounds(&Alphabet::default(), 4);
        assert_eq!(
            bounds.iter().map(|bound| bound.chars().count()).collect::<Vec<_>>(),
            [1_000, 750, 500, 250]
        );
    }

    #[test]
    fn bound_steps_over_surrogates_and_forbidden_characters() {
        for (last, next) in [
            ("\u{d7ff}", "\u{10000}"),
            ("\u{10ffff}", "\u{e000}"),
            (".", "0"),
            (">", "@"),
            ("~", "\u{a0}"),
        ] {
            let alphabet = Alphabet::default();
            let rest = Rest {
                from: Some(""),
                is_after: true,
                ..rest(last, last, None)
            };
            assert_eq!(rest.bounds(&alphabet, 1), [next], "{last:?}");
        }
        let rest = Rest {
            from: Some(""),
            is_after: true,
            ..rest("\u{ffff}", "\u{ffff}", None)
        };
        assert_eq!(rest.bounds(&Alphabet::default(), 4), [""; 0]);
    }

    #[test]
    fn bound_is_no_longer_than_a_key() {
        let key = format!("{}b5", "a".repeat(MAX_KEY_UNITS - 2));
        let first = format!("{}b1", "a".repeat(MAX_KEY_UNITS - 2));
        let alphabet = learned(&[&first, &key]);
        let end = key.replace('b', "c");
        let bounded = Rest {
            from: Some(&first),
            is_after: true,
            ..rest(&first, &key, Some(&end))
        };
        for bounds in [
            rest(&first, &key, None).bounds(&alphabet, 16),
            bounded.bounds(&alphabet, 3),
        ] {
            assert!(!bounds.is_empty());
            assert!(bounds.iter().all(|bound| key_text_fault(bound).is_none()), "{bounds:?}");
        }
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            "[0-9a-f]{0,6}",
            "user-[0-9]{1,4}",
            "[a-c\u{d7fe}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}\u{1f600} ]{0,5}",
            "[^\\pC/\\\\#?]{0,4}",
        ]
    }

    proptest! {
        /// Whatever was learned, bounds are valid keys in order, after the last key and before the end.
        #[test]
        fn bounds_are_keys_within_the_rest(
            keys in proptest::collection::vec(key(), 3..8), from in proptest::option::of(key()), is_after in any::<bool>(),
            has_end in any::<bool>(), count in 1_usize..20,
        ) {
            let mut keys = keys;
            keys.sort_by(|a, b| ordinal::compare(a, b));
            keys.dedup();
            let names: Vec<&str> = keys.iter().map(String::as_str).collect();
            let alphabet = learned(&names[..names.len() / 2 + 1]);
            let [first, .., last] = &names[..] else { return Ok(()) };
            let middle = names[names.len() / 2];
            let (last, to) = if has_end { (middle, Some(*last).filter(|to| *to != middle)) } else { (*last, None) };
            let rest = Rest { from: from.as_deref(), is_after, first, last, to };
            let bounds = rest.bounds(&alphabet, count);
            prop_assert!(bounds.len() <= count);
            let all = [last].into_iter().chain(bounds.iter().map(String::as_str)).chain(to);
            let all: Vec<_> = all.collect();
            prop_assert!(all.is_sorted_by(|a, b| ordinal::compare(a, b).is_lt()), "{:?}", all);
            for bound in &bounds {
                prop_assert_eq!(key_text_fault(bound), None);
            }
            prop_assert!(rest.ratio(&alphabet).is_none_or(|ratio| ratio >= 0.0 && ratio.is_finite()));
        }

        #[test]
        fn places_follow_the_order_of_utf16_units(a in key(), b in key()) {
            prop_assert_eq!(places(&a).cmp(&places(&b)), ordinal::compare(&a, &b));
        }
    }
}
