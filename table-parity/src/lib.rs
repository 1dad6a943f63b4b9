//! Facts of the Table service, and how closely a service answers as Azure does.

mod fact;
mod facts;
mod step;
