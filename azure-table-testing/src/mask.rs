//! Masks for values that are new in every run.
//!
//! Defines [`mask_guids`] and [`mask_times`], for [`Replay::masking`](crate::Replay::masking).

/// Replaces every GUID, in upper or lower case, with `{guid}`.
///
/// ```
/// use azure_table::testing::mask_guids;
/// assert_eq!(mask_guids("a 6F9619FF-8B86-D011-B42D-00CF4FC964FF"), "a {guid}");
/// ```
pub fn mask_guids(text: &str) -> String {
    const FORM: &[u8] = b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    masked(text, "{guid}", (b'-', 8), |rest| fits(rest, FORM).then_some(FORM.len()))
}

/// Replaces every date and time in UTC with `{time}`.
///
/// It recognizes the form of the service: `2026-01-31T12:00:00Z`, with or without a fraction of the second. A colon may
/// be `%3A`, as in a URL.
///
/// ```
/// use azure_table::testing::mask_times;
/// assert_eq!(mask_times("At gt datetime'2026-01-31T12:00:00.5Z'"), "At gt datetime'{time}'");
/// assert_eq!(mask_times("2026-01-31T12%3A00%3A00Z"), "{time}");
/// ```
pub fn mask_times(text: &str) -> String {
    const FORMS: [&[u8]; 2] = [b"9999-99-99T99:99:99", b"9999-99-99T99%3A99%3A99"];
    masked(text, "{time}", (b'T', 10), |rest| {
        let seconds = FORMS.iter().find(|form| fits(rest, form))?.len();
        let fraction = match rest.get(seconds) {
            Some(b'.') => 1 + rest[seconds + 1..].iter().take_while(|b| b.is_ascii_digit()).count(),
            _ => 0,
        };
        let end = seconds + fraction;
        (rest.get(end) == Some(&b'Z')).then_some(end + 1)
    })
}

/// Replaces with `mask` each match of `length`: ASCII text with the byte `mark` at position `at`.
fn masked(text: &str, mask: &str, (mark, at): (u8, usize), length: impl Fn(&[u8]) -> Option<usize>) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for found in memchr::memchr_iter(mark, bytes) {
        let Some(begin) = found.checked_sub(at).filter(|begin| *begin >= copied) else {
            continue;
        };
        if let Some(length) = length(&bytes[begin..]) {
            out.push_str(&text[copied..begin]);
            out.push_str(mask);
            copied = begin + length;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Returns `true` if a text begins with this form: `x` is a hexadecimal digit, `9` a decimal one.
fn fits(text: &[u8], form: &[u8]) -> bool {
    text.len() >= form.len()
        && form.iter().zip(text).all(|(form, byte)| match form {
            b'x' => byte.is_ascii_hexdigit(),
            b'9' => byte.is_ascii_digit(),
            form => form == byte,
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_masked_once(text in ".{0,20}(2026-01-31T12:00:00(\\.[0-9]{0,8})?Z?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?.{0,20}") {
            for mask in [mask_guids, mask_times] {
                let once = mask(&text);
                prop_assert_eq!(mask(&once), once);
            }
        }
    }

    #[test]
    fn only_complete_values_are_masked() {
        for text in [
            "",
            "ä6f9619ff-8b86",
            "2026-01-31",
            "2026-01-31T12:00:00.5",
            "2026-01-31T12:00:00+01:00",
        ] {
            assert_eq!(mask_guids(text), text);
            assert_eq!(mask_times(text), text);
        }
        assert_eq!(
            mask_times("ä2026-01-31T12:00:00.1234567Z2026-01-31T12:00:00Zä"),
            "ä{time}{time}ä"
        );
    }
}
