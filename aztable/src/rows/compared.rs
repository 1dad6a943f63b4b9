//! The comparison of the rows of two places: a merge of two streams in key order. Rows are the same with the same keys,
//! names, types and values.

use std::cmp::Ordering;
use std::fmt;
use std::pin::Pin;

use azure_table::{DynamicEntity, EdmValue};
use futures_util::future;
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _, TryStreamExt as _};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{Done, Rejection};
use crate::rows::sorted::KeyedRow;
use crate::rows::unread::ReadRow;
use crate::value::short_name;

/// A row of two places, the source and the target.
pub(crate) enum Compared {
    /// Both have it, with the same properties, types and values.
    Equal,
    /// The target lacks it.
    Missing(DynamicEntity),
    /// Both have it, and they differ, or that of the target cannot be read.
    Changed(DynamicEntity, ReadRow),
    /// The source lacks it.
    Extra(DynamicEntity),
    /// The only one, or that of the source, cannot be read: nothing is known about it but its key.
    Unreadable(Rejection),
}

/// Compares the rows of a source and a target after `seen` has changed both.
pub(crate) fn compared(
    source: BoxStream<'static, Done<KeyedRow>>,
    target: BoxStream<'static, Done<KeyedRow>>,
    seen: impl FnMut(KeyedRow) -> KeyedRow + Clone,
) -> impl Stream<Item = Done<Compared>> {
    let both = (source.map_ok(seen.clone()).peekable(), target.map_ok(seen).peekable());
    stream::try_unfold(Box::new(both), |mut both| async move {
        let (source, target) = &mut *both;
        let order = match future::join(Pin::new(&mut *source).peek(), Pin::new(&mut *target).peek()).await {
            (None, None) => return Ok(None),
            (Some(Ok((one, _))), Some(Ok((other, _)))) => one.cmp(other),
            // An error is first.
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
        };
        let one = match order {
            Ordering::Greater => None,
            _ => source.try_next().await?,
        };
        let other = match order {
            Ordering::Less => None,
            _ => target.try_next().await?,
        };
        Ok(match (one, other) {
            (None, None) => None,
            (Some((_, row)), None) => Some((row.map_or_else(Compared::Unreadable, Compared::Missing), both)),
            (None, Some((_, row))) => Some((row.map_or_else(Compared::Unreadable, Compared::Extra), both)),
            (Some((_, Err(rejection))), _) => Some((Compared::Unreadable(rejection), both)),
            (Some((_, Ok(one))), Some((_, Ok(other)))) if same_properties(&one, &other) => {
                Some((Compared::Equal, both))
            }
            (Some((_, Ok(one))), Some((_, other))) => Some((Compared::Changed(one, other), both)),
        })
    })
}

impl Compared {
    /// Returns the difference from the target to the source: that is what a sync writes.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Missing(row) => Self::Extra(row),
            Self::Extra(row) => Self::Missing(row),
            Self::Changed(one, Ok(other)) => Self::Changed(other, Ok(one)),
            same => same,
        }
    }

    /// Returns the mark and the name of a difference, and its row.
    fn difference(&self) -> Option<(char, &'static str, &DynamicEntity)> {
        match self {
            Self::Equal | Self::Unreadable(_) => None,
            Self::Missing(row) => Some(('-', "missing", row)),
            Self::Extra(row) => Some(('+', "extra", row)),
            Self::Changed(row, _) => Some(('~', "changed", row)),
        }
    }

    /// Returns the difference for programs, or `None` for equal rows.
    pub(crate) fn json(&self) -> Option<Value> {
        let (_, difference, row) = self.difference()?;
        let mut json = json!({
            "difference": difference, "partition_key": row.partition_key, "row_key": row.row_key,
        });
        if let Self::Changed(one, Ok(other)) = self {
            let changes =
                changes(one, other).map(|(name, from, to)| (name.to_owned(), json!({ "from": from, "to": to })));
            json["properties"] = changes.collect::<serde_json::Map<_, _>>().into();
        }
        Some(json)
    }
}

/// A line for the row, and one for each property that differs.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((mark, _, row)) = self.difference() else {
            return Ok(());
        };
        write!(f, "{mark} {:?} {:?}", row.partition_key, row.row_key)?;
        let (one, other) = match self {
            Self::Changed(one, Ok(other)) => (one, other),
            Self::Changed(_, Err((_, why))) => return write!(f, "\n    {why}"),
            _ => return Ok(()),
        };
        let text = |value: Option<&EdmValue>| match value {
            None => "absent".into(),
            Some(EdmValue::String(text)) => format!("{text:?}"),
            Some(value) => format!("{}={value}", short_name(value.edm_type())),
        };
        changes(one, other).try_for_each(|(name, from, to)| write!(f, "\n    {name}: {} -> {}", text(from), text(to)))
    }
}

/// Returns the properties that differ, with both values.
fn changes<'r>(
    one: &'r DynamicEntity,
    other: &'r DynamicEntity,
) -> impl Iterator<Item = (&'r str, Option<&'r EdmValue>, Option<&'r EdmValue>)> {
    let added = other.properties.keys();
    let added = added.filter(|name| !one.properties.contains_key(*name));
    let names = one.properties.keys().chain(added);
    let pairs = names.map(|name| (name.as_str(), one.get(name), other.get(name)));
    pairs.filter(|(_, from, to)| !from.zip(*to).is_some_and(|(from, to)| same_value(from, to)))
}

/// The number of rows by the result of their comparison.
#[derive(Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) equal: u64,
    pub(crate) missing: u64,
    pub(crate) changed: u64,
    pub(crate) extra: u64,
    /// Rows that cannot be read: neither equal nor different.
    pub(crate) rejected: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, row: &Compared) {
        let count = match row {
            Compared::Equal => &mut self.equal,
            Compared::Missing(_) => &mut self.missing,
            Compared::Changed(..) => &mut self.changed,
            Compared::Extra(_) => &mut self.extra,
            Compared::Unreadable(_) => &mut self.rejected,
        };
        *count += 1;
    }

    /// Returns the number of rows that differ.
    pub(crate) fn different(&self) -> u64 {
        self.missing + self.changed + self.extra
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [self.equal, self.missing, self.changed, self.extra, self.rejected];
        let [equal, missing, changed, extra, rejected] = counts.map(HumanCount);
        write!(
            f,
            "{equal} equal, {missing} missing, {changed} changed, {extra} extra, {rejected} rejected"
        )
    }
}

/// Returns whether two rows have the same properties, whenever they were written.
pub(crate) fn same_properties(one: &DynamicEntity, other: &DynamicEntity) -> bool {
    let same =
        |(one, other): ((&String, &EdmValue), (&String, &EdmValue))| one.0 == other.0 && same_value(one.1, other.1);
    one.properties.len() == other.properties.len() && one.properties.iter().zip(&other.properties).all(same)
}

/// Returns whether two values are the same: NaN is, and 0.0 is not -0.0.
pub(crate) fn same_value(one: &EdmValue, other: &EdmValue) -> bool {
    match (one, other) {
        (EdmValue::Double(one), EdmValue::Double(other)) => {
            one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_value_count() {
        let row = |value: EdmValue| {
            let mut row = DynamicEntity::new("p", "r");
            row.insert("A", value);
            row
        };
        assert!(same_properties(&row(f64::NAN.into()), &row((-f64::NAN).into())));
        for (one, other) in [
            (EdmValue::Double(0.0), EdmValue::Double(-0.0)),
            (EdmValue::Int32(1), EdmValue::Int64(1)),
            (EdmValue::from("1"), EdmValue::Int32(1)),
        ] {
            assert!(!same_properties(&row(one), &row(other)));
        }
        assert!(!same_properties(&row(1_i32.into()), &DynamicEntity::new("p", "r")));
    }
}
