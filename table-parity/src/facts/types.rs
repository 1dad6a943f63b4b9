//! Facts of types.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
