//! Rows in files: their formats and compressions.
//!
//! JSON lines are the exact form: every type, keys, and ETag and Timestamp on request. The formats with columns are
//! made from JSON lines, since the columns are those of all rows. `open_rows.rs` opens a file of any format.

pub(crate) mod appended_file;
pub(crate) mod columns;
pub(crate) mod compared;
pub(crate) mod compression;
pub(crate) mod csv_columns;
pub(crate) mod csv_reader;
pub(crate) mod csv_writer;
pub(crate) mod file_format;
pub(crate) mod json;
pub(crate) mod json_lines;
pub(crate) mod key_survey;
pub(crate) mod named_columns;
pub(crate) mod open_rows;
pub(crate) mod parquet_reader;
pub(crate) mod parquet_writer;
pub(crate) mod printed_rows;
pub(crate) mod read_ahead;
pub(crate) mod row_source;
pub(crate) mod sorted;
pub(crate) mod unread;
