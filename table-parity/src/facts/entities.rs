//! Facts of entities.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
