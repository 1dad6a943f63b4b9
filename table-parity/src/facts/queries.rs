//! Facts of queries.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
