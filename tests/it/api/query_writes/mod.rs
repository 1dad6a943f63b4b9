//! Writes whose rows a query selects.

mod atomic;
mod projected_updates;
mod reports;
mod upgrades;
