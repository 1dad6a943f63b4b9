//! Properties that hold for all values, checked on many random ones.

mod batches;
mod entities;
mod filters;
mod keys;
