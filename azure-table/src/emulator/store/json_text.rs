//! The text of a double in answers.
//!
//! Fifteen digits where they read back as the same value, else seventeen; a point or an exponent always, and the exponent where
//! the number is 10^15 (of seventeen digits: 10^17) or more, or below 0.0001. What requests have is `model/edm.rs`.
//!
//! Source: recorded answers of 2017 (`4.94065645841247E-324`, `1.7976931348623157E+308`, `123456789012345.12`, `10.0`); live
//! answers of 2022 (`9.2233720368547758E+21`); .NET, "Round-trip format specifier (R)", which all of them follow.

/// A finite double as the service writes it.
pub(crate) fn text(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned();
    }
    let short = format!("{value:.14e}");
    match short.parse::<f64>() {
        Ok(read) if read == value => put(&short, 15),
        _ => put(&format!("{value:.16e}"), 17),
    }
}

/// The same number, written as the service does it for this many digits.
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
    fn doubles_look_as_they_were_recorded() {
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
            assert_eq!(text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = text(value);
            prop_assert!(text.contains(['.', 'E']), "{}", text);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
