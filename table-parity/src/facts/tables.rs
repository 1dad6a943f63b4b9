//! Facts of tables.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
