//! The values with which the rows of a response are read, beside its text.
//!
//! A response carries the keys of encrypted properties and the watch of an exploration as extensions: the edge of the
//! pipeline adds the first, the emulator of the exploration the second. A transport that builds a new response loses
//! the second. The rows of a write that was read back carry them themselves.

use std::cell::RefCell;
use std::sync::Arc;

#[cfg(all(feature = "test-util", feature = "emulator"))]
use azure_table_testing::explore::dated_rows::TimestampWatch;
use bytes::Bytes;
use http::Response;

#[cfg(not(feature = "encryption"))]
pub(crate) use self::none::Opener;
#[cfg(feature = "encryption")]
pub(crate) use crate::entity::encryption::Opener;
use crate::entity::row::Row;

#[cfg(not(feature = "encryption"))]
mod none {
    use azure_table_wire::error::Result;
    use zeroize::Zeroizing;

    use crate::entity::unsealed::Plaintext;

    /// No keys.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) enum Opener {}

    impl Opener {
        pub(crate) fn open(&self, _: (&str, &str), _: &str, _: &[u8]) -> Result<(Plaintext, Zeroizing<Vec<u8>>)> {
            match *self {}
        }
    }
}

/// The values with which the rows of a response are read, beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowContext {
    /// The keys of encrypted properties. Without the feature `encryption` no response has any.
    pub(crate) opener: Option<Arc<Opener>>,
    /// Notes the rows whose Timestamps are read.
    #[cfg(all(feature = "test-util", feature = "emulator"))]
    pub(crate) watch: Option<TimestampWatch>,
}

impl RowContext {
    pub(crate) fn of(response: &Response<Bytes>) -> Self {
        Self {
            opener: response.extensions().get().cloned(),
            #[cfg(all(feature = "test-util", feature = "emulator"))]
            watch: response.extensions().get().cloned(),
        }
    }
}

thread_local! {
    /// The context of the row whose `upgrade` runs on this thread.
    static LENT: RefCell<Option<RowContext>> = const { RefCell::new(None) };
}

/// The context that was lent before, which is lent again when this value is dropped.
struct Before(Option<RowContext>);

impl Drop for Before {
    fn drop(&mut self) {
        LENT.set(self.0.take());
    }
}

/// Calls `run`, in which a [`DynamicEntity`](crate::DynamicEntity) decrypts its values with the keys of
/// `row`. It has no keys of its own.
pub(crate) fn lend<T>(row: &Row<'_>, run: impl FnOnce() -> T) -> T {
    let _before = Before(LENT.replace(row.context.cloned()));
    run()
}

/// Returns the context of the row whose `upgrade` runs on this thread.
pub(crate) fn lent() -> Option<RowContext> {
    LENT.with_borrow(Clone::clone)
}
