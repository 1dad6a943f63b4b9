//! Credentials that need other crates: feature `full`.

mod entra;
mod user_delegation;
