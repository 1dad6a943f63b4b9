//! The end of many writes that could not go on.

use std::fmt;

use crate::client::bulk::row_report::WriteReport;
use crate::client::bulk::write_position::WritePosition;
use crate::model::error::Error;

/// Many writes that ended before their end: why, and the report `R` of what was done until then.
///
/// One word wide. `?` makes an [`Error`] of it, without the report; look at it first where the counts and the place matter:
///
/// ```
/// # use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// # let old = || Column::<DynamicEntity, i32>::property("Rating").lt(2);
/// let report = match table.delete_where(old()).await {
///     Ok(report) => report,
///     Err(interrupted) => {
///         eprintln!("{}, then: {interrupted}", interrupted.report());
///         // It can be kept, and taken up in another process.
///         table.delete_where(old()).resume_from(interrupted.position()).await?
///     }
/// };
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
pub struct Interrupted<R, A = Error>(Box<(A, R)>);

impl<R, A> Interrupted<R, A> {
    pub(crate) fn new(error: A, report: R) -> Self {
        Self(Box::new((error, report)))
    }

    /// Why: what concerns no single row, or what a closure said.
    pub fn error(&self) -> &A {
        &self.0.0
    }

    /// What was done until then.
    pub fn report(&self) -> &R {
        &self.0.1
    }

    /// Why, and what was done until then.
    pub fn into_parts(self) -> (A, R) {
        *self.0
    }
}

impl<E, A> Interrupted<WriteReport<E>, A> {
    /// Where to go on, with `resume_from`: after all rows that have an outcome.
    pub fn position(&self) -> WritePosition {
        self.0.1.place()
    }
}

impl<R> From<Interrupted<R>> for Error {
    fn from(interrupted: Interrupted<R>) -> Self {
        interrupted.0.0
    }
}

/// Why it ended; the report has a text of its own.
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

/// Its text is that of the error within, so its source is that one's.
impl<R: fmt::Debug, A: std::error::Error> std::error::Error for Interrupted<R, A> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.0.source()
    }
}
