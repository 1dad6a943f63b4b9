//! Rows in files: their formats and compressions.
//!
//! JSON lines are the exact form: every type, keys, and ETag and Timestamp on request. The formats with columns are made
//! from JSON lines, since the columns are those of all rows.

pub(crate) mod appended_file;
pub(crate) mod compression;
pub(crate) mod equality;
pub(crate) mod file_format;
pub(crate) mod json_lines;
pub(crate) mod sorted;
