//! What must hold of every case, whatever the client repeats.

use std::time::Duration;

use azure_table::{Creation, Deletion, ETag, ErrorKind};

use super::model::{Cell, State, Write};
use super::operation::{Kind, Operation, Outcome};

/// The most requests of one call: four attempts, and two more with another proof of who asks.
pub(crate) const MOST_ATTEMPTS: u32 = 6;

/// A promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A success, but the state is not the one after the operation.
    SuccessIsNotTrue,
    /// An error that says "not applied" of a write that was.
    DenialIsNotTrue,
    /// The state is neither the one before nor the one after.
    Torn,
    /// "Exists", "missing" or "changed" about a row or table that was not so.
    FalseConflict,
    /// The ETag of a write is not the stored one.
    WrongVersion,
    /// What was read is not what is stored.
    WrongRead,
    /// Applied more than once.
    Twice,
    /// It took longer than the call had.
    Late,
    /// More attempts than the policy has.
    TooManyAttempts,
    /// The story of the call is not what was sent.
    WrongStory,
}

/// All that is known of a case.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) kind: Kind,
    pub(crate) operation: &'a Operation,
    pub(crate) outcome: &'a Outcome,
    pub(crate) before: &'a State,
    pub(crate) after: &'a State,
    /// Writes that the service applied.
    pub(crate) applied: u64,
    /// Requests that were sent, and those of them that are the operation's own.
    pub(crate) sent: u64,
    pub(crate) own: u64,
    /// Attempts in the story of the call.
    pub(crate) told: u64,
    pub(crate) elapsed: Duration,
    pub(crate) timeout: Duration,
}

impl Case<'_> {
    /// The first promise that was not kept.
    pub(crate) fn judge(&self) -> Result<(), Broken> {
        if self.operation.is_read() {
            self.judge_read()?;
        } else {
            self.judge_write()?;
        }
        self.judge_effort()
    }

    fn judge_write(&self) -> Result<(), Broken> {
        let is_before = self.before.is(self.after, self.before);
        match (self.operation.expected(self.before), self.outcome) {
            (Ok(expected), Outcome::Failed(error)) => match error.may_have_applied() {
                false if !is_before || self.applied > 0 => Err(Broken::DenialIsNotTrue),
                false if is_verdict(error.kind()) => Err(Broken::FalseConflict),
                true if !is_before && !expected.is(self.after, self.before) => Err(Broken::Torn),
                _ => self.judge_repeats(),
            },
            (Ok(expected), success) => {
                if !expected.is(self.after, self.before) {
                    return Err(Broken::SuccessIsNotTrue);
                }
                self.judge_success(success)?;
                self.judge_repeats()
            }
            (Err(_), _) if !is_before || self.applied > 0 => Err(Broken::Torn),
            (Err(verdict), Outcome::Failed(error)) => match error.kind() {
                kind if is_verdict(kind) && kind != verdict => Err(Broken::FalseConflict),
                _ => Ok(()),
            },
            (Err(_), _) => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn judge_effort(&self) -> Result<(), Broken> {
        let pages = self.kind.pages();
        if self.elapsed > (self.timeout + Duration::from_millis(10)) * self.kind.times() {
            return Err(Broken::Late);
        }
        let most = u64::from(MOST_ATTEMPTS * pages);
        if let Outcome::Failed(error) = self.outcome
            && (error.attempts() > MOST_ATTEMPTS || u64::from(error.attempts()) > self.told)
        {
            return Err(Broken::TooManyAttempts);
        }
        // What became of an attempt may be asked after each, by a call of its own.
        if self.own > most || self.sent > most * u64::from(1 + MOST_ATTEMPTS) {
            return Err(Broken::TooManyAttempts);
        }
        if self.told != self.sent {
            return Err(Broken::WrongStory);
        }
        Ok(())
    }

    fn judge_read(&self) -> Result<(), Broken> {
        let is_stored = |(cell, etag): &(Cell, ETag)| {
            self.before
                .rows
                .get(&cell.row)
                .is_some_and(|stored| (stored.a, stored.b, stored.etag.as_ref()) == (cell.a, cell.b, Some(etag)))
        };
        let is_true = match (self.operation, self.outcome) {
            (_, Outcome::Failed(error)) => !error.may_have_applied() && !is_verdict(error.kind()),
            (Operation::Exists(row), Outcome::IsThere(is_there)) => *is_there == self.before.rows.contains_key(row),
            (Operation::Get(row, _), Outcome::Row(None)) => !self.before.rows.contains_key(row),
            (Operation::Get(row, _), Outcome::Row(Some(read))) => read.0.row == *row && is_stored(read),
            (Operation::Query, Outcome::Rows(rows)) => {
                let in_order = rows.iter().map(|(cell, _)| &cell.row).eq(self.before.rows.keys());
                in_order && rows.iter().all(is_stored)
            }
            (Operation::AccessPolicies, Outcome::Policies(ids)) => *ids == self.before.policies,
            (Operation::ListTables, Outcome::Tables(tables)) => tables.iter().eq(&self.before.tables),
            _ => false,
        };
        match is_true && self.before == self.after {
            true => Ok(()),
            false => Err(Broken::WrongRead),
        }
    }

    fn judge_success(&self, outcome: &Outcome) -> Result<(), Broken> {
        match (self.operation, outcome) {
            (Operation::Write(write, _), Outcome::Written(etags)) => {
                self.judge_versions(std::slice::from_ref(write), etags)
            }
            (Operation::Batch(writes), Outcome::Written(etags)) => self.judge_versions(writes, etags),
            (Operation::Modify(row, a), Outcome::Written(etags)) => {
                self.judge_versions(&[Write::InsertOrMerge(Cell::new(row, *a, None))], etags)
            }
            (Operation::InsertIfAbsent(cell), Outcome::Written(etags)) if !self.before.rows.contains_key(&cell.row) => {
                self.judge_versions(&[Write::Insert(cell.clone())], etags)
            }
            (Operation::InsertIfAbsent(cell), Outcome::Created(Creation::Existed)) => {
                let existed = self.before.rows.contains_key(&cell.row);
                existed.then_some(()).ok_or(Broken::FalseConflict)
            }
            (
                Operation::CreateTable(_) | Operation::DeleteTable(_) | Operation::SetAccessPolicies(_),
                Outcome::Done,
            ) => Ok(()),
            // After an attempt in doubt nobody can tell whose table it is, or who removed it or a row.
            (Operation::CreateTableIfNotExists(table), Outcome::Created(creation)) => {
                let existed = self.before.tables.contains(table);
                let is_true = match creation {
                    Creation::Created => !existed,
                    Creation::Existed => existed,
                    Creation::InDoubt => self.own > 1,
                };
                is_true.then_some(()).ok_or(Broken::SuccessIsNotTrue)
            }
            (Operation::DeleteTableIfExists(name) | Operation::DeleteIfExists(name), Outcome::Deleted(deletion)) => {
                let existed = self.before.tables.contains(name) || self.before.rows.contains_key(name);
                let is_true = match deletion {
                    Deletion::Deleted => existed,
                    Deletion::WasMissing => !existed,
                    Deletion::InDoubt => self.own > 1,
                };
                is_true.then_some(()).ok_or(Broken::SuccessIsNotTrue)
            }
            _ => Err(Broken::SuccessIsNotTrue),
        }
    }

    fn judge_versions(&self, writes: &[Write], etags: &[Option<ETag>]) -> Result<(), Broken> {
        let stored = writes
            .iter()
            .map(|write| self.after.rows.get(write.row()).and_then(|row| row.etag.as_ref()));
        let told = etags.iter().map(Option::as_ref);
        stored.eq(told).then_some(()).ok_or(Broken::WrongVersion)
    }

    fn judge_repeats(&self) -> Result<(), Broken> {
        let is_repeatable = match self.operation {
            Operation::Write(write, _) => write.is_repeatable(),
            operation => matches!(operation, Operation::SetAccessPolicies(_)),
        };
        let most = if is_repeatable { self.own } else { 1 };
        (self.applied <= most).then_some(()).ok_or(Broken::Twice)
    }
}

fn is_verdict(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet
    )
}
