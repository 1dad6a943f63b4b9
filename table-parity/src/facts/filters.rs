//! Facts of filters.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
