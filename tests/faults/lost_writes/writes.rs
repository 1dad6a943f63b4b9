//! The writes of the histories: each row of the table in the guide `retries`, with and without a `write_id`.

use std::fmt;

use azure_table::operation::Resolution;
use azure_table::{
    DateTime, ETag, Error, Guid, Key, ReadEntity, Result, TableClient, TableEntity, TableServiceClient, Versioned,
};

use super::service::{Cells, KEYS};

/// The value of a row at the start, and the value that the write leaves.
pub(super) const BEFORE: i64 = 6;
pub(super) const AFTER: i64 = 7;

/// A row that shows who wrote it.
#[derive(TableEntity, Clone, Debug)]
struct Marked {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    n: i64,
    #[table(write_id)]
    w: Option<Guid>,
}

/// A row that does not.
#[derive(TableEntity, Clone, Debug)]
struct Plain {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    n: i64,
}

trait Counter: TableEntity + ReadEntity + Clone + Send + Sync + 'static {
    fn of(id: &str, n: i64) -> Self;
    fn add(&mut self);
}

impl Counter for Marked {
    fn of(id: &str, n: i64) -> Self {
        let (group, id, w) = ("p".into(), id.into(), None);
        Self { group, id, n, w }
    }
    fn add(&mut self) {
        self.n += 1;
    }
}

impl Counter for Plain {
    fn of(id: &str, n: i64) -> Self {
        let (group, id) = ("p".into(), id.into());
        Self { group, id, n }
    }
    fn add(&mut self) {
        self.n += 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Insert,
    InsertOrReplace,
    InsertOrMerge,
    Replace,
    Merge,
    ReplaceUnderEtag,
    MergeUnderEtag,
    Delete,
    DeleteUnderEtag,
}
use Step::{
    Delete, DeleteUnderEtag, Insert, InsertOrMerge, InsertOrReplace, Merge, MergeUnderEtag, Replace, ReplaceUnderEtag,
};

impl Step {
    pub(super) fn is_under_etag(self) -> bool {
        matches!(self, ReplaceUnderEtag | MergeUnderEtag | DeleteUnderEtag)
    }

    pub(super) fn is_delete(self) -> bool {
        matches!(self, Delete | DeleteUnderEtag)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Alone,
    Modify,
    ModifyOrInsert,
    Batch,
}

/// One kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Write {
    form: Form,
    /// The operation of each row.
    pub(super) steps: &'static [Step],
    pub(super) has_id: bool,
}

/// The kinds of writes of one row, then of two.
const KINDS: [(Form, &[Step]); 16] = [
    (Form::Alone, &[Insert]),
    (Form::Alone, &[InsertOrReplace]),
    (Form::Alone, &[InsertOrMerge]),
    (Form::Alone, &[Replace]),
    (Form::Alone, &[Merge]),
    (Form::Alone, &[ReplaceUnderEtag]),
    (Form::Alone, &[MergeUnderEtag]),
    (Form::Alone, &[Delete]),
    (Form::Alone, &[DeleteUnderEtag]),
    (Form::Modify, &[ReplaceUnderEtag]),
    (Form::ModifyOrInsert, &[Insert]),
    (Form::Batch, &[ReplaceUnderEtag, Insert]),
    (Form::Batch, &[ReplaceUnderEtag, ReplaceUnderEtag]),
    (Form::Batch, &[Delete, InsertOrReplace]),
    (Form::Batch, &[InsertOrReplace, InsertOrMerge]),
    (Form::Batch, &[DeleteUnderEtag, Insert]),
];

impl Write {
    /// Returns all kinds of writes. A delete sends no id.
    pub(super) fn all() -> Vec<Self> {
        let with_and_without = |(form, steps): (Form, &'static [Step])| {
            let of = move |has_id| Self { form, steps, has_id };
            let writes_id = steps.iter().any(|step| !step.is_delete());
            [Some(of(false)), writes_id.then(|| of(true))].into_iter().flatten()
        };
        KINDS.into_iter().flat_map(with_and_without).collect()
    }

    /// Returns `true` if one of its operations requires an ETag.
    pub(super) fn is_conditional(self) -> bool {
        self.steps.iter().any(|step| step.is_under_etag())
    }

    pub(super) fn is_modify(self) -> bool {
        matches!(self.form, Form::Modify | Form::ModifyOrInsert)
    }

    /// Returns `true` if the rows of an applied write show it by their content.
    pub(super) fn shows_by_content(self) -> bool {
        !self.has_id && !self.is_modify() && !self.is_conditional() && self.steps.iter().any(|step| !step.is_delete())
    }

    /// Returns `true` if the row exists before the write, in an ordinary history.
    pub(super) fn needs(self, row: usize) -> bool {
        self.steps.get(row).is_some_and(|step| *step != Insert)
    }

    /// Returns the content of a row with this value, as another client writes it.
    pub(super) fn cells(self, n: i64, id: u32) -> Cells {
        let mut cells = Cells::new();
        cells.insert("n@odata.type".into(), "Edm.Int64".into());
        cells.insert("n".into(), n.to_string().into());
        if self.has_id {
            cells.insert("w@odata.type".into(), "Edm.Guid".into());
            cells.insert("w".into(), format!("00000000-0000-4000-8000-{id:012}").into());
        }
        cells
    }

    /// Executes the write with these ETags.
    pub(super) async fn run(self, service: &TableServiceClient, etags: [Option<String>; 2]) -> Result<()> {
        if self.has_id {
            self.run_on::<Marked>(service.table("Rows")?, etags).await
        } else {
            self.run_on::<Plain>(service.table("Rows")?, etags).await
        }
    }

    async fn run_on<E: Counter>(self, table: TableClient<E>, etags: [Option<String>; 2]) -> Result<()> {
        let row = |at: usize| E::of(KEYS[at], AFTER);
        let key = |at: usize| Key::of(&row(at)).unwrap();
        let versioned = |at: usize| Versioned {
            entity: row(at),
            etag: ETag::new(etags[at].clone().unwrap()),
            timestamp: DateTime::now(),
        };
        match (self.form, self.steps[0]) {
            (Form::Modify, _) => table.modify(key(0), E::add).await.map(drop),
            (Form::ModifyOrInsert, _) => {
                let modify = table.modify(key(0), E::add);
                modify.or_insert(|| E::of(KEYS[0], AFTER)).await.map(drop)
            }
            (Form::Alone, Insert) => table.insert(&row(0)).await.map(drop),
            (Form::Alone, InsertOrReplace) => table.insert_or_replace(&row(0)).await.map(drop),
            (Form::Alone, InsertOrMerge) => table.insert_or_merge(&row(0)).await.map(drop),
            (Form::Alone, Replace) => table.replace(&row(0)).unconditionally().await.map(drop),
            (Form::Alone, Merge) => table.merge(&row(0)).unconditionally().await.map(drop),
            (Form::Alone, ReplaceUnderEtag) => table.replace(&versioned(0)).await.map(drop),
            (Form::Alone, MergeUnderEtag) => table.merge(&versioned(0)).await.map(drop),
            (Form::Alone, Delete) => table.delete(key(0)).await,
            (Form::Alone, DeleteUnderEtag) => table.delete(&versioned(0)).await,
            (Form::Batch, _) => {
                let mut batch = table.batch();
                for (at, step) in self.steps.iter().enumerate() {
                    match step {
                        Insert => batch.insert(&row(at)),
                        InsertOrReplace => batch.insert_or_replace(&row(at)),
                        InsertOrMerge => batch.insert_or_merge(&row(at)),
                        Replace => batch.replace(&row(at)),
                        Merge => batch.merge(&row(at)),
                        ReplaceUnderEtag => batch.replace(&versioned(at)),
                        MergeUnderEtag => batch.merge(&versioned(at)),
                        Delete => batch.delete(key(at)),
                        DeleteUnderEtag => batch.delete(&versioned(at)),
                    }
                    .unwrap();
                }
                batch.submit().await.map(drop)
            }
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Alone => write!(f, "{:?}", self.steps[0])?,
            Form::Batch => write!(f, "Batch{:?}", self.steps)?,
            form => write!(f, "{form:?}")?,
        }
        f.write_str(if self.has_id { " with write_id" } else { "" })
    }
}

/// What a caller can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Applied,
    NotApplied(String),
    InDoubt(String),
}

impl Answer {
    /// Returns the position of the answer among the three.
    pub(super) fn number(&self) -> usize {
        match self {
            Self::Applied => 0,
            Self::NotApplied(_) => 1,
            Self::InDoubt(_) => 2,
        }
    }

    pub(super) fn of_call(ended: &Result<()>) -> Self {
        match ended {
            Ok(()) => Self::Applied,
            Err(e) if e.may_have_applied() => Self::InDoubt(e.to_string()),
            Err(e) => Self::NotApplied(format!("{:?}", e.kind())),
        }
    }
}

/// The facts of a write in doubt, in this process or as another process reads them.
pub(super) async fn resolve(service: &TableServiceClient, error: &Error, is_other_process: bool) -> Option<Answer> {
    let mut doubt = error.in_doubt_write()?;
    if is_other_process {
        doubt = doubt.to_string().parse().unwrap();
    }
    Some(match service.resolve(&doubt).await {
        Ok(Resolution::Applied) => Answer::Applied,
        Ok(Resolution::NotApplied) => Answer::NotApplied("resolved".into()),
        Ok(resolution) => Answer::InDoubt(format!("{resolution:?}")),
        Err(e) => Answer::InDoubt(e.to_string()),
    })
}
