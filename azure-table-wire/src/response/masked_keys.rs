//! The mark of a response whose keys are masked, as a recording has them.

/// An extension of a response that was recorded for a request with masked values: its keys may differ.
#[derive(Clone, Copy, Debug)]
pub struct MaskedKeys;
