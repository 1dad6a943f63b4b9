//! Writes whose rows a query selects.

mod atomic;
mod projected_updates;
mod rejected_filters;
mod reports;
mod upgrades;
