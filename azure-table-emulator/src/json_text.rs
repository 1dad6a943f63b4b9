//! JSON as the service writes it: strings in ASCII, and doubles.
//!
//! Writes names and values as text; other files choose the members. All characters beyond ASCII are escaped, as in the
//! live service. A double has fifteen digits if they parse to the same value, otherwise seventeen. It always has a
//! point or an exponent. The exponent is used if the number is 10^15 (with seventeen digits: 10^17) or more, or below
//! 0.0001. The JSON of requests is written by `codec/json/write.rs`.
//!
//! Source: recorded answers of 2017 (`4.94065645841247E-324`, `1.7976931348623157E+308`, `123456789012345.12`, `10.0`);
//! live answers of 2022 (`9.2233720368547758E+21`); .NET, "Round-trip format specifier (R)", which all of them follow.

use std::io::Write as _;

use azure_table_wire::codec::json::scan::plain_length;
use azure_table_wire::codec::odata::value::Dialect;

/// The format of values in responses.
pub(crate) struct Responses;

impl Dialect for Responses {
    fn text(out: &mut Vec<u8>, value: &str) {
        text(out, value);
    }

    fn finite(out: &mut Vec<u8>, value: f64) {
        out.extend_from_slice(double(value).as_bytes());
    }
}

/// Appends a member whose value is text.
pub(crate) fn text_member(out: &mut Vec<u8>, member: &str, value: &str) {
    name(out, member);
    text(out, value);
}

/// Appends the name of a member, with a comma before it if needed.
pub(crate) fn name(out: &mut Vec<u8>, name: &str) {
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    text(out, name);
    out.push(b':');
}

/// Returns `true` if no character needs an escape.
pub(crate) fn is_plain(text: &str) -> bool {
    text.is_ascii() && plain_length(text.as_bytes()) == text.len()
}

/// Appends a JSON string of ASCII characters only.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if is_plain(text) {
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ' || !c.is_ascii()) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let mut following = rest[at..].chars();
        let Some(character) = following.next() else { break };
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    // Writing to a Vec cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        rest = following.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

/// Formats a finite double as the service writes it.
fn double(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned();
    }
    // Fast path: if fifteen digits suffice for a normal number, its shortest digits are the same.
    let shortest = format!("{value:e}");
    let mantissa = shortest.split('e').next().unwrap_or_default();
    if value.is_normal() && mantissa.bytes().filter(u8::is_ascii_digit).count() <= 15 {
        return put(&shortest, 15);
    }
    of_digits(value)
}

/// Formats a finite double with fifteen digits, or with seventeen.
fn of_digits(value: f64) -> String {
    let short = format!("{value:.14e}");
    match short.parse::<f64>() {
        Ok(read) if read == value => put(&short, 15),
        _ => put(&format!("{value:.16e}"), 17),
    }
}

/// Formats the same number as the service does with this number of digits.
fn put(scientific: &str, precision: i32) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    if exponent < -4 || exponent >= precision {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let mark = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}E{mark}{:02}", exponent.unsigned_abs());
    }
    match usize::try_from(exponent) {
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Ok(exponent) => {
            let whole = format!("{digits:0<width$}", width = exponent + 1);
            let (before, behind) = whole.split_at(exponent + 1);
            let behind = if behind.is_empty() { "0" } else { behind };
            format!("{sign}{before}.{behind}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn doubles_have_their_recorded_form() {
        for (value, expected) in [
            (10.0, "10.0"),
            (4.815_164_234_23, "4.81516423423"),
            (123_456_789_012_345.12, "123456789012345.12"),
            (f64::from_bits(1), "4.94065645841247E-324"),
            (f64::MAX, "1.7976931348623157E+308"),
            (9_223_372_036_854_775_808_000.0, "9.2233720368547758E+21"),
            (1.5e300, "1.5E+300"),
            (-1e15, "-1E+15"),
            (1e14, "100000000000000.0"),
            (0.0001, "0.0001"),
            (-0.000_01, "-1E-05"),
            (0.012, "0.012"),
            (-0.0, "-0.0"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(double(value), expected);
        }
    }

    proptest! {
        #[test]
        fn every_double_is_parsed_from_its_text(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = double(value);
            prop_assert!(text.contains(['.', 'E']), "{}", text);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }

        #[test]
        fn short_doubles_have_their_fifteen_digits(digits in "-?[1-9][0-9]{0,16}", exponent in -340..292) {
            let value: f64 = format!("{digits}e{exponent}").parse().unwrap();
            prop_assume!(value.is_finite() && value != 0.0);
            prop_assert_eq!(double(value), of_digits(value));
        }

        #[test]
        fn any_text_becomes_ascii_json(value in any::<String>()) {
            let mut out = Vec::new();
            text(&mut out, &value);
            prop_assert!(out.is_ascii());
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), value);
        }
    }
}
