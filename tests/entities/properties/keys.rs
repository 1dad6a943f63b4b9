//! The text of keys sorts as their values do, and can be parsed again.

use std::cmp::Ordering;
use std::fmt::Debug;

use azure_table::key::{
    Base64Url, Bucket, Day, DescendingKey, Escaped, Month, PercentEscaped, ReadTableKey, Week, Year, prefix_range,
};
use azure_table::{DateTime, Descending, Guid, Key, TableKey};
use azure_table_tests::entities::Post;
use proptest::prelude::*;

fn text(key: &impl TableKey) -> String {
    let mut text = String::new();
    key.write_key(&mut text).unwrap();
    text
}

/// The order of the service: by UTF-16 code unit.
fn ordinal(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// The texts of two values have the order of the values, are valid in a key, and can be parsed again.
fn sorts<T: ReadTableKey + Ord + Debug>(a: &T, b: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(ordinal(&text(a), &text(b)), a.cmp(b), "{} {}", text(a), text(b));
    prop_assert_eq!(&T::read_key(&text(a)).unwrap(), a);
    prop_assert!(Key::<Post>::from_text("", text(a)).is_ok(), "{}", text(a));
    Ok(())
}

/// The same in reverse for descending values; all texts have one width.
fn sorts_both_ways<T: ReadTableKey + DescendingKey + Ord + Copy + Debug>(a: T, b: T) -> Result<(), TestCaseError> {
    sorts(&a, &b)?;
    sorts(&Descending(a), &Descending(b))?;
    prop_assert_eq!(Descending(a).cmp(&Descending(b)), b.cmp(&a));
    prop_assert_eq!(text(&a).len(), text(&Descending(b)).len());
    Ok(())
}

/// Checks the text like `sorts`, for types that are ordered by character: the service is not, beyond U+FFFF.
fn sorts_as_text<T: ReadTableKey + PartialEq + Debug>(a: &T, b: &T, plain: Ordering) -> Result<(), TestCaseError> {
    prop_assert_eq!(ordinal(&text(a), &text(b)), plain, "{} {}", text(a), text(b));
    prop_assert_eq!(&T::read_key(&text(a)).unwrap(), a);
    Ok(())
}

fn any_time() -> impl Strategy<Value = DateTime> {
    (DateTime::MIN.ticks()..=DateTime::MAX.ticks()).prop_map(|ticks| DateTime::from_ticks(ticks).unwrap())
}

/// Two times, often of the same day, week, month or year.
fn two_times() -> impl Strategy<Value = (DateTime, DateTime)> {
    let apart = prop_oneof![Just(0), Just(1), Just(7), Just(30), Just(300), Just(100_000)];
    (any_time(), apart, any::<u32>()).prop_map(|(a, days, ticks)| {
        let apart = std::time::Duration::from_secs(days * 86_400) + std::time::Duration::from_micros(ticks.into());
        (a, a + apart)
    })
}

/// Text of few characters, so that one is often a prefix of another.
fn near_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(b" !\"#$%&-./09:>?@AZ[\\]az}~\x7f\0".to_vec()),
        0..5,
    )
    .prop_map(|bytes| bytes.into_iter().map(char::from).collect())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        near_text(),
        any::<String>(),
        proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter)
    ]
}

#[test]
fn key_from_outside_is_validated() {
    let key: Key<Post> = serde_json::from_str(r#"{"partition_key":"a","row_key":"b"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&key).unwrap(),
        r#"{"partition_key":"a","row_key":"b"}"#
    );
    let wrong = serde_json::from_str::<Key<Post>>(r#"{"partition_key":"a/b","row_key":""}"#);
    assert!(wrong.unwrap_err().to_string().contains("'/' at position 1"));
}

proptest! {
    #[test]
    fn unsigned_numbers_sort(a in any::<(u8, u16, u32, u64)>(), b in any::<(u8, u16, u32, u64)>()) {
        sorts_both_ways(a.0, b.0)?;
        sorts_both_ways(a.1, b.1)?;
        sorts_both_ways(a.2, b.2)?;
        sorts_both_ways(a.3, b.3)?;
    }

    #[test]
    fn signed_numbers_sort(a in any::<(i8, i16, i32, i64)>(), b in any::<(i8, i16, i32, i64)>()) {
        sorts_both_ways(a.0, b.0)?;
        sorts_both_ways(a.1, b.1)?;
        sorts_both_ways(a.2, b.2)?;
        sorts_both_ways(a.3, b.3)?;
    }

    #[test]
    fn times_sort(a in any_time(), b in any_time()) {
        sorts_both_ways(a, b)?;
        prop_assert_eq!(a.to_string().parse::<DateTime>().unwrap(), a);
    }

    #[test]
    fn system_times_sort(a in any::<i64>(), b in any::<i64>()) {
        let at = |nanos: i64| {
            let ticks = DateTime::from_unix_seconds(0).ticks() + nanos / 100;
            std::time::SystemTime::try_from(DateTime::from_ticks(ticks).unwrap()).unwrap()
        };
        sorts_both_ways(at(a), at(b))?;
    }

    #[test]
    fn the_calendar_sorts((a, b) in two_times()) {
        sorts_both_ways(Year::from(a), Year::from(b))?;
        sorts_both_ways(Month::from(a), Month::from(b))?;
        sorts_both_ways(Week::from(a), Week::from(b))?;
        sorts_both_ways(Day::from(a), Day::from(b))?;
        prop_assert!(a <= b && Week::from(a) <= Week::from(b) && Day::from(a) <= Day::from(b));
        prop_assert_eq!(Day::from(Day::from(a).start()), Day::from(a));
        prop_assert!(Week::from(a).start() <= a);
        prop_assert!(a.duration_since(Week::from(a).start()).unwrap().as_secs() < 7 * 86_400);
        prop_assert_eq!(Month::from(a).start().to_string(), format!("{:.7}-01T00:00:00Z", a.to_string()));
        prop_assert_eq!(text(&Day::from(a)), a.to_string()[..10].to_owned());
    }

    #[test]
    fn guids_and_booleans_sort(a in any::<([u8; 16], bool)>(), b in any::<([u8; 16], bool)>()) {
        sorts(&Guid(a.0), &Guid(b.0))?;
        sorts(&a.1, &b.1)?;
    }

    #[test]
    fn text_sorts_as_the_service_sorts_it(a in any_text(), b in any_text(), c in any::<char>(), d in any::<char>()) {
        sorts_as_text(&a, &b, ordinal(&a, &b))?;
        sorts_as_text(&c, &d, ordinal(&c.to_string(), &d.to_string()))?;
    }

    #[test]
    fn escaped_text_sorts_and_is_permitted(a in any_text(), b in any_text()) {
        sorts_as_text(&Escaped(a.clone()), &Escaped(b.clone()), ordinal(&a, &b))?;
        sorts_as_text(&PercentEscaped(a.clone()), &PercentEscaped(b.clone()), ordinal(&a, &b))?;
        let (plain, percent) = (text(&Escaped(&a)), text(&PercentEscaped(&a)));
        prop_assert!(!plain.contains(' ') && !percent.contains([' ', '%']));
        prop_assert!(plain.len() > 1_000 || Key::<Post>::from_text(percent, plain.clone()).is_ok());
        // A prefix of a text stays its prefix.
        let start: String = a.chars().take(3).collect();
        prop_assert!(plain.starts_with(&text(&Escaped(start))));
    }

    #[test]
    fn other_text_is_not_taken_for_escaped(a in any_text()) {
        if let Ok(Escaped(plain)) = Escaped::<String>::read_key(&a) {
            prop_assert_eq!(text(&Escaped(plain)), a);
        }
    }

    #[test]
    fn tuples_sort(
        (a, b) in (any_text(), any_text()),
        (c, d) in any::<(u8, u8)>(),
        (e, f) in any::<(bool, bool)>(),
        (g, h) in any::<(i8, i8)>(),
    ) {
        let wrap = |text: &str| Escaped(text.replace(|c| c > '\u{ffff}', ""));
        sorts(&(wrap(&a), c), &(wrap(&b), d))?;
        sorts(&(Descending(c), wrap(&a)), &(Descending(d), wrap(&b)))?;
        sorts(&(wrap(&a), wrap(&b)), &(wrap(&a), wrap(&a)))?;
        sorts(&(c, wrap(&a), wrap(&b)), &(d, wrap(&b), wrap(&a)))?;
        sorts(&(e, wrap(&a), c, Descending(g)), &(f, wrap(&b), d, Descending(h)))?;
    }

    #[test]
    fn buckets_sort_and_do_not_move(a in any_text(), b in any_text()) {
        sorts(&Bucket::<1000>::of(&a), &Bucket::<1000>::of(&b))?;
        prop_assert_eq!(Bucket::<1000>::for_key(&a).unwrap(), Bucket::of(a.as_bytes()));
        prop_assert!(Bucket::<7>::random().number() < 7);
    }

    #[test]
    fn base64url_is_reversible_and_permitted(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let key = text(&Base64Url(&bytes));
        prop_assert_eq!(Base64Url::<Vec<u8>>::read_key(&key).unwrap().0, bytes);
        prop_assert!(Key::<Post>::from_text("", key).is_ok());
    }

    #[test]
    fn prefix_range_contains_the_keys_with_the_prefix(prefix in any_text(), other in any_text()) {
        let (from, to) = prefix_range(&prefix);
        for candidate in [format!("{prefix}{other}"), other] {
            let within = ordinal(&candidate, &from) != Ordering::Less
                && to.as_ref().is_none_or(|to| ordinal(&candidate, to) == Ordering::Less);
            prop_assert_eq!(within, candidate.starts_with(&prefix), "{:?} {:?}", candidate, to);
        }
    }

    #[test]
    fn template_key_parses_into_its_fields(time in any_time(), id in super::entities::key_text()) {
        let post = Post { channel: "ch".into(), posted: Descending(time), id: id.clone(), rating: 1 };
        let of_entity = Key::<Post>::of(&post).unwrap();
        prop_assert_eq!(of_entity.row_key(), format!("{}_{}", text(&Descending(time)), id));
        let of_tuple = azure_table::key::IntoKey::<Post>::into_key(("ch", time, &id)).unwrap();
        prop_assert_eq!(of_entity, of_tuple);
    }
}
