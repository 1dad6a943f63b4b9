//! Facts of access.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
