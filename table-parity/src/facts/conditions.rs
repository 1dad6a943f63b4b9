//! Facts of conditions.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
