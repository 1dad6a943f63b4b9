//! An error in doubt: the write may have been applied.
//!
//! Such an error has a flag, which hides the last failure from `kind`, `status` and `code`: otherwise a branch on a
//! conflict could handle a write that itself caused the conflict. The client itself reads that failure.

use super::{Error, ErrorParts};

impl Error {
    /// Returns `true` if a write is in doubt: a response to one of its attempts was lost, or the service failed while
    /// processing one.
    ///
    /// If `false`, no attempt was or will be applied. A lost request may arrive up to 180 s later, so a write stays in
    /// doubt even after the service rejects its last attempt, unless the stored rows show the outcome.
    ///
    /// The error of a call that writes several rows is in doubt if any of them was or may have been written, unless its
    /// documentation says otherwise.
    ///
    /// If `true`, the kind is [`InDoubt`](super::ErrorKind::InDoubt). Read the entity before you repeat such a write,
    /// or store [`in_doubt_write`](Self::in_doubt_write) to find out later whether it was applied.
    pub fn may_have_applied(&self) -> bool {
        self.inner.may_have_applied
    }

    /// Returns how the last attempt of a write in doubt failed, with kind, status and code. `None` if not in doubt.
    ///
    /// It says nothing about what is stored: a `ConditionNotMet` may be caused by an earlier attempt of this very
    /// write.
    ///
    /// ```
    /// use azure_table::ErrorKind;
    /// use azure_table::testing::error_in_doubt;
    ///
    /// // The mock of a write whose response was lost, and whose repetition met its own ETag.
    /// let error = error_in_doubt(ErrorKind::ConditionNotMet);
    /// assert_eq!((error.kind(), error.status()), (ErrorKind::InDoubt, None));
    /// let last = error.last_failure().unwrap();
    /// assert_eq!((last.kind(), last.status()), (ErrorKind::ConditionNotMet, Some(412)));
    /// assert!(last.last_failure().is_none());
    /// ```
    pub fn last_failure(&self) -> Option<Self> {
        self.inner.may_have_applied.then(|| self.copy().maybe_applied(false))
    }

    /// Returns the error if the write is not in doubt.
    pub(super) fn definite(&self) -> Option<&ErrorParts> {
        (!self.inner.may_have_applied).then_some(&self.inner)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::error::{ErrorKind, MAY_HAVE_APPLIED};

    #[test]
    fn error_in_doubt_shows_its_last_failure_only_on_request() {
        let io = std::io::Error::other("reset");
        for kind in [ErrorKind::Timeout, ErrorKind::Connection, ErrorKind::ServerFault] {
            let error = Error::new(kind, "cannot read").with_source(std::io::Error::other("reset"));
            let (text, lost) = (error.to_string(), error.maybe_applied(true));
            assert_eq!(lost.kind(), ErrorKind::InDoubt);
            assert_eq!(lost.to_string(), format!("{text}{MAY_HAVE_APPLIED}"));
            assert_eq!(
                lost.source().unwrap().to_string(),
                io.to_string(),
                "not the last failure"
            );
            let last = lost.last_failure().unwrap();
            assert_eq!((last.kind(), last.to_string()), (kind, text));
            assert!(last.last_failure().is_none());
        }
        let exists = || Error::of_response(409, Some("EntityAlreadyExists".into()), Some("It exists.".into()), None);
        let lost = exists().maybe_applied(true);
        assert_eq!((lost.kind(), lost.status()), (ErrorKind::InDoubt, None));
        assert_eq!((lost.code(), lost.service_message()), (None, None));
        let last = lost.last_failure().unwrap();
        assert_eq!((last.kind(), last.status()), (ErrorKind::AlreadyExists, Some(409)));
        assert_eq!(last.code(), Some("EntityAlreadyExists"));
        assert_eq!(last.service_message(), Some("It exists."));
        assert!(exists().last_failure().is_none());
    }
}
