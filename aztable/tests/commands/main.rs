//! The commands of `aztable`, used as a person or a script would: arguments, output, exit codes, and what is on the tables
//! afterwards.

#![cfg_attr(not(unix), expect(dead_code, reason = "most tests need a shell or signals"))]
#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod access;
#[cfg(unix)]
mod backup;
#[cfg(unix)]
mod copy;
#[cfg(unix)]
mod csv;
#[cfg(unix)]
mod differences;
mod formats;
#[cfg(unix)]
mod guide;
#[cfg(unix)]
mod import;
#[cfg(unix)]
mod kills;
mod lost_rows;
mod program;
#[cfg(unix)]
mod restore;
mod schema;
#[cfg(unix)]
mod selected;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod unreadable;
