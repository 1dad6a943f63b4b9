//! Facts of service.

use crate::fact::Fact;

pub(super) const FACTS: &[Fact] = &[];
