//! The items that derived code of the types of properties uses.

use std::borrow::Cow;
use std::fmt::Debug;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::Edm;

/// Returns the value of a variant that is stored by its name.
pub fn text(name: &str) -> Result<Option<Edm<'_>>, ValueError> {
    Ok(Some(Edm::String(Cow::Borrowed(name))))
}

/// Returns the value of a variant that is stored by its discriminant.
pub fn number(discriminant: i32) -> Result<Option<Edm<'static>>, ValueError> {
    Ok(Some(Edm::Int32(discriminant)))
}

/// Converts a discriminant to its stored value, and asserts its range.
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

/// Converts a discriminant whose range was asserted before.
#[expect(clippy::cast_possible_truncation, reason = "the range was asserted")]
pub const fn truncated(discriminant: i128) -> i32 {
    discriminant as i32
}

/// Returns the error for a text that matches no variant.
pub fn unknown_text(found: &str, known: &[&str]) -> ValueError {
    expected(&listed(known), format_args!("{found:?}"))
}

/// Returns the error for a number that matches no variant.
pub fn unknown_number(found: i32, known: &[i32]) -> ValueError {
    expected(&listed(known), found)
}

fn listed(known: &[impl Debug]) -> String {
    let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
    match known.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => known.concat(),
    }
}
