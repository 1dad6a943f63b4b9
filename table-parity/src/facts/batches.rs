//! Facts of batches.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
