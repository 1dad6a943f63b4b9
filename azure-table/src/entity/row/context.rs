//! Everything that reading the rows of a response needs besides its text.
//!
//! The emulator of an exploration adds its watch to each response as an extension. A transport that builds a new
//! response loses it. The rows of a write that was read back carry the watch themselves.

#[cfg(all(feature = "test-util", feature = "emulator"))]
use azure_table_testing::explore::dated_rows::TimestampWatch;
use bytes::Bytes;
use http::Response;

/// Everything that reading the rows of a response needs besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowContext {
    /// Notes the rows whose Timestamps are read.
    #[cfg(all(feature = "test-util", feature = "emulator"))]
    pub(crate) watch: Option<TimestampWatch>,
}

impl RowContext {
    #[cfg(all(feature = "test-util", feature = "emulator"))]
    pub(crate) fn of(response: &Response<Bytes>) -> Self {
        let watch = response.extensions().get().cloned();
        Self { watch }
    }

    #[cfg(not(all(feature = "test-util", feature = "emulator")))]
    pub(crate) fn of(_: &Response<Bytes>) -> Self {
        Self {}
    }
}
