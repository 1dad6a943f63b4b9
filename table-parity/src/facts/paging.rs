//! Facts of paging.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
