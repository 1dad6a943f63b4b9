//! Backups: a folder with a folder for each, of a manifest and of two files for each table.
//!
//! `TABLE.keys.jsonl.zst` has the keys of all rows with their ETags, `TABLE.rows.jsonl.zst` the rows: of a full backup
//! all, of an incremental one those whose ETag is not in the keys of its base. Both are in the order of the keys, so
//! that a merge of files needs the memory of a row of each. The manifest is written last: a folder without one is an
//! unfinished backup. A manifest has the checksums of its files and of the manifests of its bases.

pub(crate) mod manifest;
pub(crate) mod merged_rows;
pub(crate) mod sorted_lines;
pub(crate) mod stored_backup;
pub(crate) mod table_pages;
pub(crate) mod table_writer;
pub(crate) mod verification;
