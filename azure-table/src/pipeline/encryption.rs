//! The data keys of a client, as its calls use them.
//!
//! Without the feature `encryption` no client has data keys: the calls compile, and nothing runs.

#[cfg(feature = "encryption")]
pub(crate) use self::data_keys::DataKeys;
#[cfg(not(feature = "encryption"))]
pub(crate) use self::none::DataKeys;

#[cfg(feature = "encryption")]
pub(crate) mod data_keys;
#[cfg(feature = "encryption")]
pub(crate) mod local_keys;

#[cfg(not(feature = "encryption"))]
mod none {
    use std::sync::Arc;
    use std::time::Duration;

    use azure_table_wire::error::Result;

    use crate::pipeline::observer::history::CallResponse;
    use crate::write::sealing::SealingKey;

    /// No data keys.
    #[derive(Debug)]
    pub(crate) enum DataKeys {}

    impl DataKeys {
        pub(crate) async fn sealing_key(self: &Arc<Self>, _: u64, _: Option<Duration>) -> Result<Arc<SealingKey>> {
            match **self {}
        }

        pub(crate) async fn open(&self, _: &mut CallResponse, _: Option<Duration>) {
            match *self {}
        }
    }
}
