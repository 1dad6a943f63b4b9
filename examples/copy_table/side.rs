//! A side of a copy: a table, or a file of JSON lines. Reads and writes its rows page by page.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;

use azure_table::query::PageStream;
use azure_table::{Continuation, DynamicEntity, TableClient, TableServiceClient};
use azure_table_examples::Done;
use azure_table_examples::job::{PagePosition, append};

/// The rows of a page that is read from a file.
const PAGE: usize = 1_000;

#[derive(Clone, Debug)]
pub(crate) enum Side {
    Table(TableClient<DynamicEntity>),
    File(PathBuf),
}

impl Side {
    /// Returns the side that the command line names.
    pub(crate) fn named(name: &str, service: &TableServiceClient) -> azure_table::Result<Self> {
        Ok(if name.ends_with(".jsonl") {
            Self::File(name.into())
        } else {
            Self::Table(service.dynamic_table(name)?)
        })
    }

    /// Returns whether both sides are one file, under whatever paths.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(two)) => {
                let paths = one.canonicalize().ok().zip(two.canonicalize().ok());
                paths.is_some_and(|(one, two)| one == two)
            }
            _ => false,
        }
    }

    /// Writes a page. Returns the new length of the file.
    pub(crate) async fn write(&self, rows: Vec<DynamicEntity>, bytes: u64) -> Done<u64> {
        let path = match self {
            Self::Table(table) => {
                // An upsert may be sent again, after a crash before the position was saved.
                table.bulk().insert_or_replace(rows).await?.ensure_no_leftovers()?;
                return Ok(bytes);
            }
            Self::File(path) => path,
        };
        let mut lines = Vec::new();
        for row in &rows {
            serde_json::to_writer(&mut lines, row)?;
            lines.push(b'\n');
        }
        Ok(append(path, bytes, &lines)?)
    }
}

/// The rows of a side, page by page, without what belongs to the stored row alone: ETag and Timestamp.
pub(crate) enum Pages {
    Table(PageStream<DynamicEntity>),
    File(Lines<BufReader<File>>),
}

impl Pages {
    pub(crate) fn open(side: &Side, position: &PagePosition) -> Done<Self> {
        Ok(match side {
            Side::Table(table) => Self::Table(table.query().resume_from(position.continuation.clone()).pages()),
            Side::File(path) => {
                let mut lines = BufReader::new(File::open(path)?).lines();
                for line in lines.by_ref().take(position.rows) {
                    line?;
                }
                Self::File(lines)
            }
        })
    }

    /// Returns the next rows, and for a table the continuation after them.
    pub(crate) async fn next(&mut self) -> Done<Option<(Vec<DynamicEntity>, Continuation)>> {
        let (mut rows, continuation) = match self {
            Self::Table(pages) => match pages.try_next().await? {
                Some(page) => {
                    let continuation = page.continuation().clone();
                    (page.into_items(), continuation)
                }
                None => return Ok(None),
            },
            Self::File(lines) => {
                let mut rows = Vec::new();
                for line in lines.take(PAGE) {
                    rows.push(serde_json::from_str(&line?)?);
                }
                if rows.is_empty() {
                    return Ok(None);
                }
                (rows, Continuation::default())
            }
        };
        for row in &mut rows {
            (row.etag, row.timestamp) = (None, None);
        }
        Ok(Some((rows, continuation)))
    }
}
