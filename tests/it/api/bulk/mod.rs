//! Bulk writes: their outcomes, order, memory and fairness.

mod borrows;
mod memory;
mod order;
mod outcomes;
mod yields;
