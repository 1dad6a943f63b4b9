//! Facts of keys.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
