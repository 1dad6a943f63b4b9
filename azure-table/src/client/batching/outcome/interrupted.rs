//! The error of bulk writes that ended early.

use std::any::Any;
use std::fmt;

use azure_table_wire::error::Error;

/// The error of bulk writes that ended early, with the report `R` up to that point.
///
/// `?` converts it into a `Box<dyn Error>` or `anyhow::Error` that holds it, or into an [`Error`].
///
/// That `Error` has no report, so it is [in doubt](Error::may_have_applied) if any write was or may have been applied.
/// Its [`last_failure`](Error::last_failure) is the inner error. If you need the counts or the position, read the
/// report first:
/// ```
/// # use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// # let old = || Column::<DynamicEntity, i32>::property("Rating").lt(2);
/// let report = match table.delete_where(old()).await {
///     Ok(report) => report,
///     Err(interrupted) => {
///         eprintln!("{}, then: {interrupted}", interrupted.report());
///         // The position can be stored, for another process to resume from.
///         table.delete_where(old()).resume_from(interrupted.position()).await?
///     }
/// };
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
pub struct Interrupted<R, A = Error>(Box<(A, R)>);

impl<R, A> Interrupted<R, A> {
    #[doc(hidden)]
    pub fn new(error: A, report: R) -> Self {
        Self(Box::new((error, report)))
    }

    /// Returns the error that ended the writes: one that is not about a single row, or one from a source or a closure.
    pub fn error(&self) -> &A {
        &self.0.0
    }

    /// Returns the report up to that point.
    pub fn report(&self) -> &R {
        &self.0.1
    }

    /// Returns the error, and drops the report. The error says nothing about the other writes.
    ///
    /// To return the error of a source or a closure as it is, use `.await.map_err(Interrupted::into_error)?`.
    pub fn into_error(self) -> A {
        self.0.0
    }

    /// Returns the error and the report.
    pub fn into_parts(self) -> (A, R) {
        *self.0
    }
}

/// Formats the error. The report has its own text.
impl<R, A: fmt::Display> fmt::Display for Interrupted<R, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<R: fmt::Debug, A: fmt::Debug> fmt::Debug for Interrupted<R, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupted")
            .field("error", &self.0.0)
            .field("report", &self.0.1)
            .finish()
    }
}

/// Displays as the inner error, and has its source if the inner error is an [`Error`] or a boxed error.
///
/// `A` may be a `Box<dyn Error>` or an `anyhow::Error`, which are not errors themselves: `?` returns the whole value as
/// such an error. [`into_error`](Interrupted::into_error) keeps the sources of any other inner error.
impl<R: fmt::Debug, A: fmt::Debug + fmt::Display + 'static> std::error::Error for Interrupted<R, A> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let error: &dyn Any = &self.0.0;
        if let Some(error) = error.downcast_ref::<Error>() {
            return error.source();
        }
        if let Some(error) = error.downcast_ref::<Box<dyn std::error::Error + Send + Sync>>() {
            return error.source();
        }
        error.downcast_ref::<Box<dyn std::error::Error>>()?.source()
    }
}
