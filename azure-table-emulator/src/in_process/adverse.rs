//! An emulator that does its worst. The choices are in `settings/adverse.rs`.

use crate::in_process::Emulator;
use crate::settings::adverse::Adverse;

impl Emulator {
    /// Simulates the worst that the service may do, as a seed chooses.
    ///
    /// Wherever the service leaves room, the seed chooses. All choices are known behavior, except the first:
    ///
    /// - Timestamps up to 30 s before or after the `Date` of the response (assumed)
    /// - pages with few rows or none, and continuations that lead to no rows
    /// - on Table storage, a deletion of a table that takes 40 s: until then other requests find no table, get
    ///   `TableBeingDeleted`, or succeed on rows that vanish
    /// - 500 (even after the write was applied), 503, and 429 on Cosmos DB
    /// - closed connections, lost and incomplete responses
    /// - on Cosmos DB, lists of tables in no order, and, if [`secondary_lag`](Self::secondary_lag) is set, reads as old
    ///   as the secondary, as with its weaker consistency levels
    ///
    /// A seed omits some of these and repeats others, so run a test with many seeds. The choices depend on the seed,
    /// the request, and how often an equal one came before, so the same seed repeats them. `Debug` lists the latest
    /// choices. A test that panics prints them, with the seed.
    ///
    /// The original emulator shares the tables and behaves as usual: use it to fill and inspect them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # tokio::time::pause();
    /// use azure_table::emulator::SeedEntities as _;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let calm = Emulator::new();
    /// for seed in 0..20 {
    ///     calm.clear()?;
    ///     calm.seed("Blogs", (1..=9).map(|n| DynamicEntity::new("Channel9", n.to_string())))?;
    ///     let service = TableServiceClient::from_transport(calm.clone().adverse(seed));
    ///     // Correct: it follows each continuation. A program that stops at an empty page is not.
    ///     match service.dynamic_table("Blogs")?.query().all().await {
    ///         Ok(blogs) => assert_eq!(blogs.len(), 9),
    ///         Err(e) => assert!(e.attempts() > 1, "{e}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn adverse(mut self, seed: u64) -> Self {
        self.settings_mut().adverse = Some(Adverse::new(seed));
        self.service.store.write().keep_deleted();
        self
    }
}
