//! A write in doubt as a value that can be stored, and its text.
//!
//! `in_doubt_write/parts.rs` has its facts. `pipeline/lost_write` of azure-table collects them, and compares stored rows
//! with them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::in_doubt_write::parts::WriteParts;
use crate::error::{Error, Result};

#[doc(hidden)]
pub mod parts;

/// The version of the text.
const VERSION: u32 = 1;
/// A write in doubt, with everything you need to find out later whether it was applied.
///
/// [`Error::in_doubt_write`] returns it. Store it with serde or as text ([`Display`](fmt::Display) and [`FromStr`]), and pass it
/// to `TableServiceClient::resolve`, even in another process.
///
/// It holds the account and service, the operation, the table, the rows' keys, their ETags or write ids, the names of
/// merged properties, and times. It holds no values, only their SHA-256 hash, with which a reader can test a guess, and
/// no credential.
///
/// ```
/// use azure_table::operation::{InDoubtWrite, Resolution};
/// use azure_table::testing::{Fault, FaultRule, Faults};
/// use azure_table::{CallOptions, Emulator, Guid, NoRetry, TableEntity, TableServiceClient};
///
/// #[derive(TableEntity)]
/// struct Payment {
///     #[table(partition_key)]
///     customer: String,
///     #[table(row_key)]
///     id: String,
///     cents: i64,
///     #[table(write_id)]
///     write: Option<Guid>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let faults = Faults::new(Emulator::new());
/// let service = TableServiceClient::from_transport(faults.clone());
/// let payments = service.table::<Payment>("Payments")?;
/// payments.create_table().await?;
/// faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
///
/// let payment = Payment { customer: "7".into(), id: "a".into(), cents: 995, write: None };
/// let error = payments.insert(&payment).with(&CallOptions::new().retry(NoRetry)).await.unwrap_err();
/// let stored: String = error.in_doubt_write().expect("the response was lost").to_string();
///
/// // Later, in another process:
/// let write: InDoubtWrite = stored.parse()?;
/// assert_eq!(service.resolve(&write).await?, Resolution::Applied);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct InDoubtWrite {
    parts: Arc<WriteParts>,
}

/// The text, as JSON inside of base64.
#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    parts: &'a WriteParts,
}

impl InDoubtWrite {
    /// Returns the name of the operation, such as `insert` or `batch`.
    pub fn operation(&self) -> &str {
        &self.parts.operation
    }

    /// Returns the table.
    pub fn table(&self) -> &str {
        &self.parts.table
    }

    /// Returns the PartitionKey and RowKey of each row that the write may have changed.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let partition_key = self.parts.partition_key.as_str();
        self.parts
            .rows
            .iter()
            .map(move |row| (partition_key, row.row_key.as_str()))
    }
}

/// Writes text that consists of letters, digits, `-` and `_`.
impl fmt::Display for InDoubtWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versioned = Versioned {
            version: VERSION,
            parts: &self.parts,
        };
        let json = serde_json::to_vec(&versioned).map_err(|_| fmt::Error)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for InDoubtWrite {
    type Err = Error;

    /// Parses the text of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// - `InvalidInput`: the text is not that of a write in doubt, or its format belongs to another version of this crate.
    fn from_str(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct OfVersion {
            version: u32,
        }

        let invalid =
            || Error::invalid_input("the text is not a write in doubt: pass the text that `InDoubtWrite` wrote");
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|e| invalid().with_source(e))?;
        let OfVersion { version } = serde_json::from_slice(&json).map_err(|e| invalid().with_source(e))?;
        if version != VERSION {
            return Err(Error::invalid_input(format!(
                "a write in doubt of format {version}: this version of azure-table reads format {VERSION}; resolve it with \
                 the version that wrote it"
            )));
        }
        let parts: WriteParts = serde_json::from_slice(&json).map_err(|e| invalid().with_source(e))?;
        if parts.rows.is_empty() {
            Err(invalid())
        } else {
            Ok(Self { parts: Arc::new(parts) })
        }
    }
}

impl From<InDoubtWrite> for String {
    fn from(write: InDoubtWrite) -> Self {
        write.to_string()
    }
}

impl TryFrom<String> for InDoubtWrite {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl fmt::Debug for InDoubtWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InDoubtWrite")
            .field("operation", &self.parts.operation)
            .field("table", &self.parts.table)
            .field("keys", &self.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Error {
    /// Returns the write in doubt as a value that can be stored, to find out later whether it was applied.
    ///
    /// Returns `Some` for a write to rows, batches included, that [may have been applied](Self::may_have_applied).
    ///
    /// Returns `None` if the error is not in doubt, or concerns a table or the service. Also returns `None` if a bulk
    /// stopped waiting for the request, at its `total_timeout` or in `finish`, or if a method failed because of another
    /// error after it had written some of its rows.
    ///
    /// If a method sends several writes, as patterns do, this is the one whose response was lost: see its
    /// [`table`](InDoubtWrite::table) and [`keys`](InDoubtWrite::keys).
    pub fn in_doubt_write(&self) -> Option<InDoubtWrite> {
        let parts = self.parts();
        let facts = parts.in_doubt_write.clone().filter(|_| parts.may_have_applied)?;
        let parts = facts.downcast().ok()?;
        Some(InDoubtWrite { parts })
    }
}

/// Returns the facts of a write in doubt.
#[doc(hidden)]
pub fn parts_of(write: &InDoubtWrite) -> &WriteParts {
    &write.parts
}
