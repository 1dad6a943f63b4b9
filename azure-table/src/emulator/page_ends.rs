//! Where pages of entities end besides `$top`: on demand, so that tests meet every kind of page that the live service gives.
//!
//! Owns the wish. What a page holds is `query.rs`, the positions are `token.rs`.

use std::sync::Arc;

use crate::emulator::Emulator;

/// Where a page of entities ends before it is full. Feature `emulator`.
///
/// Live a page ends after five seconds, at the border of a range of partitions, or for reasons that are not told, so that it may
/// have few rows or none and still not be the last. Here it ends where a test says: after [rows that were looked
/// at](Self::examined), at [a number of bytes](Self::bytes), or [with each partition](Self::at_partitions). Whatever comes first
/// counts, as do `$top` and [`Emulator::with_page_size`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, Filter, PageEnds, TableServiceClient};
/// let emulator = Emulator::new().with_page_ends(PageEnds::new().examined(2));
/// let blogs = TableServiceClient::on(emulator).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// for row in ["1", "2", "3", "4", "5"] {
///     blogs.insert(&DynamicEntity::new("Channel9", row)).await?;
/// }
/// let filter = Filter::raw("RowKey ne '1' and RowKey ne '3' and RowKey ne '4'");
/// let mut pages = blogs.query().filter(filter).pages();
/// let mut rows = Vec::new();
/// while let Some(page) = pages.try_next().await? {
///     rows.push(page.items().len());
/// }
/// assert_eq!(rows, [1, 0, 1]);
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEnds {
    pub(crate) examined: Option<usize>,
    pub(crate) bytes: Option<usize>,
    pub(crate) at_partitions: bool,
}

impl PageEnds {
    /// Nowhere before a page is full.
    pub fn new() -> Self {
        Self::default()
    }

    /// After so many rows that the service looked at, whether the filter takes them or not (1 at least): pages of a filtered query
    /// are short, or empty.
    #[must_use]
    pub fn examined(mut self, rows: usize) -> Self {
        self.examined = Some(rows.max(1));
        self
    }

    /// Before the row with which the body of the answer would have more than `bytes` bytes. A page has one row at least, however
    /// long it is.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Where a partition ends. The position of the next page then names a partition alone (on Cosmos DB a position is one text in
    /// any case).
    #[must_use]
    pub fn at_partitions(mut self) -> Self {
        self.at_partitions = true;
        self
    }
}

impl Emulator {
    /// The same service, whose pages of entities end where `ends` says. Lists of tables do not ask for it.
    #[must_use]
    pub fn with_page_ends(mut self, ends: PageEnds) -> Self {
        Arc::make_mut(&mut self.settings).page_ends = ends;
        self
    }
}
