//! The keys of the encrypted properties in a response, with which its rows are read.
//!
//! A response carries them as an extension, from the edge of the pipeline to the rows. The rows of a write that was
//! read back carry them themselves. Without the feature `encryption` no response has keys.

use std::cell::RefCell;
use std::sync::Arc;

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

/// Returns the keys of a response.
pub(crate) fn of_response(response: &Response<Bytes>) -> Option<&Arc<Opener>> {
    if cfg!(feature = "encryption") {
        response.extensions().get()
    } else {
        None
    }
}

thread_local! {
    /// The keys of the row whose `upgrade` runs on this thread.
    static LENT: RefCell<Option<Arc<Opener>>> = const { RefCell::new(None) };
}

/// The keys that were lent before, which are lent again when this value is dropped.
struct Before(Option<Arc<Opener>>);

impl Drop for Before {
    fn drop(&mut self) {
        LENT.set(self.0.take());
    }
}

/// Calls `run`, in which a [`DynamicEntity`](crate::DynamicEntity) decrypts its values with the keys of
/// `row`. It has no keys of its own.
pub(crate) fn lend<T>(row: &Row<'_>, run: impl FnOnce() -> T) -> T {
    let _before = Before(LENT.replace(row.opener.cloned()));
    run()
}

/// Returns the keys of the row whose `upgrade` runs on this thread.
pub(crate) fn lent() -> Option<Arc<Opener>> {
    LENT.with_borrow(Clone::clone)
}
