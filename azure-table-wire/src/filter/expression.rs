//! The expression tree of a filter, and its OData text.
//!
//! A chain of `&` or of `|` is one flat list, whichever side it grows on. [`MAX_DEPTH`] bounds the remaining depth,
//! because the functions on a tree recurse, and so does its drop.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::fmt;

use crate::filter::literal::Literal;
use crate::value::edm::EdmValue;

/// The maximum depth of nested parentheses, for the client's filters and for those that the emulator parses.
pub const MAX_DEPTH: usize = 100;

/// A condition on one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `name op value`.
    Comparison {
        name: Cow<'static, str>,
        operator: Comparison,
        value: EdmValue,
    },
    /// All conditions hold. An empty list is the constant `true`.
    And(VecDeque<Expression>),
    /// At least one condition holds. An empty list is the constant `false`.
    Or(VecDeque<Expression>),
    /// The condition does not hold.
    Not(Box<Expression>),
    /// Text that is sent unchanged. It cannot be evaluated in memory.
    Raw(Box<str>),
}

/// A comparison operator of OData.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl Comparison {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Le => "le",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Eq, Self::Ne, Self::Gt, Self::Ge, Self::Lt, Self::Le]
            .into_iter()
            .find(|c| c.name() == name)
    }

    /// Returns the operator with its two sides exchanged: `a < b` is `b > a`.
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            same => same,
        }
    }

    /// Returns the operator that keeps a comparison's result if its value is replaced by a literal next to it. `order`
    /// compares the value with the literal; no stored value is between them. `None` for `eq` and `ne` unless equal.
    pub const fn beside(self, order: Ordering) -> Option<Self> {
        match (order, self) {
            (Ordering::Equal, same) => Some(same),
            (_, Self::Eq | Self::Ne) => None,
            (Ordering::Less, Self::Lt | Self::Le) => Some(Self::Lt),
            (Ordering::Less, Self::Gt | Self::Ge) => Some(Self::Ge),
            (Ordering::Greater, Self::Lt | Self::Le) => Some(Self::Le),
            (Ordering::Greater, Self::Gt | Self::Ge) => Some(Self::Gt),
        }
    }
}

impl Expression {
    pub fn comparison(name: impl Into<Cow<'static, str>>, operator: Comparison, value: EdmValue) -> Self {
        Self::Comparison {
            name: name.into(),
            operator,
            value,
        }
    }

    /// Requires both conditions. Chains stay flat.
    pub fn and(self, other: Self) -> Self {
        let parts = |one: Self| match one {
            Self::And(parts) => parts,
            one => [one].into(),
        };
        Self::And(concatenated(parts(self), parts(other)))
    }

    /// Requires either condition. Chains stay flat.
    pub fn or(self, other: Self) -> Self {
        let parts = |one: Self| match one {
            Self::Or(parts) => parts,
            one => [one].into(),
        };
        Self::Or(concatenated(parts(self), parts(other)))
    }

    /// Returns the depth of nested parentheses in the text.
    pub fn depth(&self) -> usize {
        match self {
            Self::Comparison { .. } | Self::Raw(_) => 0,
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::depth_in_chain).max().unwrap_or_default(),
            Self::Not(inner) => inner.depth() + 1,
        }
    }

    fn depth_in_chain(&self) -> usize {
        self.depth() + usize::from(self.is_compound())
    }

    /// Replaces the name and the value of each comparison.
    pub fn map_comparisons(self, map: &impl Fn(&str, EdmValue) -> (&'static str, EdmValue)) -> Self {
        let all = |parts: VecDeque<Self>| parts.into_iter().map(|part| part.map_comparisons(map)).collect();
        match self {
            Self::Comparison { name, operator, value } => {
                let (name, value) = map(&name, value);
                Self::comparison(name, operator, value)
            }
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
            Self::Not(inner) => Self::Not(Box::new(inner.map_comparisons(map))),
            Self::Raw(text) => Self::Raw(text),
        }
    }

    /// Returns `true` if a part of it is text that was not parsed.
    pub fn has_raw(&self) -> bool {
        match self {
            Self::Raw(_) => true,
            Self::Comparison { .. } => false,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::has_raw),
            Self::Not(inner) => inner.has_raw(),
        }
    }

    /// Returns `true` if the text needs parentheses inside a larger expression.
    pub fn is_compound(&self) -> bool {
        !matches!(self, Self::Comparison { .. })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comparison { name, operator, value } => {
                write!(f, "{name} {} {}", operator.name(), Literal(value))
            }
            Self::And(all) if all.is_empty() => f.write_str("true"),
            Self::Or(any) if any.is_empty() => f.write_str("false"),
            Self::And(all) => join(f, all, " and "),
            Self::Or(any) => join(f, any, " or "),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::Raw(text) => f.write_str(text),
        }
    }
}

/// Joins two chains. The shorter one is moved, so that a chain of any length grows on both sides at a constant cost.
fn concatenated(mut left: VecDeque<Expression>, mut right: VecDeque<Expression>) -> VecDeque<Expression> {
    if left.len() >= right.len() {
        left.append(&mut right);
        return left;
    }
    while let Some(last) = left.pop_back() {
        right.push_front(last);
    }
    right
}

fn join(f: &mut fmt::Formatter<'_>, parts: &VecDeque<Expression>, word: &str) -> fmt::Result {
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            f.write_str(word)?;
        }
        if part.is_compound() {
            write!(f, "({part})")?
        } else {
            write!(f, "{part}")?
        }
    }
    Ok(())
}
