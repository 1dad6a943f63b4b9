//! What derived code of the types of properties calls.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::model::edm::Edm;
use crate::model::error::ValueError;

/// The value of a variant that is stored by its name.
pub fn text(name: &str) -> Result<Option<Edm<'_>>, ValueError> {
    Ok(Some(Edm::String(Cow::Borrowed(name))))
}

/// The value of a variant that is stored by its discriminant.
pub fn number(discriminant: i32) -> Result<Option<Edm<'static>>, ValueError> {
    Ok(Some(Edm::Int32(discriminant)))
}

/// A discriminant as what is stored.
#[track_caller]
#[expect(clippy::cast_possible_truncation, reason = "the range is asserted")]
pub const fn int32(discriminant: i128) -> i32 {
    assert!(
        discriminant >= i32::MIN as i128 && discriminant <= i32::MAX as i128,
        "a discriminant is stored as Int32, and this one is out of its range: write one between -2147483648 and \
         2147483647, or store the names by removing `integer`"
    );
    discriminant as i32
}

/// The error for a text that is no variant.
pub fn unknown_text(found: &str, known: &[&str]) -> ValueError {
    ValueError::expected(&listed(known), format_args!("{found:?}"))
}

/// The error for a number that is no variant.
pub fn unknown_number(found: i32, known: &[i32]) -> ValueError {
    ValueError::expected(&listed(known), found)
}

fn listed(known: &[impl Debug]) -> String {
    let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
    match known.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => known.concat(),
    }
}
