//! Rows that a table has and the program cannot hold, such as a text with half of a surrogate pair.
//!
//! They are rejected with their keys. A command that moves or compares rows reads them as items among the others. One
//! that only shows rows skips them, and is not done if it has skipped one.

use azure_table::DynamicEntity;
use azure_table::query::BadRow;
use serde_json::json;

use crate::failure::{Rejection, with_causes};

/// A row of a file or a table, or what is there instead.
pub(crate) type ReadRow = Result<DynamicEntity, Rejection>;

/// Returns a row of a table, or its rejection: its key, and why it cannot be read.
pub(crate) fn read_row(row: Result<DynamicEntity, BadRow>) -> ReadRow {
    row.map_err(|bad| (json!(bad.error().entity()), with_causes(bad.error())))
}
