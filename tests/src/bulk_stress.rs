//! Random bulks: thousands of writes of all kinds over partitions with unusual keys, text that looks like the batch
//! around it, and rows that are missing or exist already, so that batches fail and are split. A map predicts the
//! result.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::{Bulk, BulkOutcome, DateTime, DynamicEntity, ETag, EdmValue, ErrorKind, Guid, TableOperation};
use fastrand::Rng;

use crate::keys::AWKWARD;
use crate::scenario::of_all;
use crate::{Backend, report};

/// The number of seeds, and the variable that sets another one.
const SEEDS: u64 = 1;
const SEEDS_VARIABLE: &str = "AZURE_TABLE_BULK_SEEDS";

const PARTITIONS: usize = 32;
const ROWS: usize = 60;
/// Several bulks follow one another, so that later ones change rows.
const BULKS: usize = 3;
const OPERATIONS: u32 = 1_500;
/// One of this many operations has a row that exists or is missing.
const MISFITS: usize = 25;
const STALE: &str = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"";

/// The parts of random text: line ends and words that may confuse a parser of batches.
const PIECES: &[&str] = &[
    "\u{2028}",
    "\r\n",
    "\n",
    "\r",
    "\t",
    "\"",
    "'",
    "\\",
    "\\r\\n",
    " ",
    "--",
    "\r\n--batch_1\r\n",
    "\r\n\r\n--changeset_1--\r\n",
    "boundary=b",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "POST http://127.0.0.1/$batch HTTP/1.1\r\n",
    "Content-Type: application/http\r\n",
    "{}",
    "{\"odata.error\":{}}",
    "%0D%0A",
    "ü",
    "e\u{301}",
    "漢字",
    "😀",
    "\u{feff}",
    "a",
    "null",
];

const DOUBLES: &[f64] = &[
    0.0,
    5.0,
    -0.1,
    1e300,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const NAMES: &[&str] = &["A", "b_2", "Größe", "value", "Value", "Type"];

type Properties = BTreeMap<String, EdmValue>;
/// The rows of a table, by their keys.
type Rows = BTreeMap<(String, String), Properties>;

/// The source of random operations.
struct Source {
    random: Rng,
    /// [`AWKWARD`] keys that the service reads in a batch.
    keys: Vec<&'static str>,
}

impl Source {
    fn new(backend: &Backend, seed: u64) -> Self {
        // Azurite reads no row with an empty key in a batch.
        let least_key = usize::from(backend.name() == "Azurite");
        Self {
            random: Rng::with_seed(seed),
            keys: AWKWARD.iter().copied().filter(|key| key.len() >= least_key).collect(),
        }
    }

    /// One of the keys: each awkward key as it is, then with numbers.
    fn key(&mut self, count: usize) -> String {
        let number = self.random.usize(..count);
        let key = self.keys[number % self.keys.len()];
        if number < self.keys.len() {
            key.to_owned()
        } else {
            format!("{key}{number}")
        }
    }

    /// Mostly one that succeeds with the current rows.
    fn write(&mut self, rows: &Rows) -> Write {
        use OperationKind::{Delete, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace};
        let mut entity = DynamicEntity::new(self.key(PARTITIONS), self.key(ROWS));
        entity.properties = self.properties();
        let is_there = rows.contains_key(&(entity.partition_key.clone(), entity.row_key.clone()));
        let is_misfit = self.random.usize(..MISFITS) == 0;
        let kinds = if is_there != is_misfit {
            [Replace, Merge, Delete, InsertOrReplace, InsertOrMerge]
        } else {
            [Insert, Insert, Insert, InsertOrReplace, InsertOrMerge]
        };
        let kind = kinds[self.random.usize(..kinds.len())];
        let is_stale = matches!(kind, Replace | Merge | Delete) && self.random.usize(..4 * MISFITS) == 0;
        Write { kind, entity, is_stale }
    }

    fn properties(&mut self) -> Properties {
        let count = self.random.usize(..=NAMES.len());
        let names = self.random.choose_multiple(NAMES, count);
        names
            .into_iter()
            .map(|name| ((*name).to_owned(), self.value()))
            .collect()
    }

    fn value(&mut self) -> EdmValue {
        let random = &mut self.random;
        match random.u8(..10) {
            0 => random.bool().into(),
            1 => random.i32(..).into(),
            2 => random.i64(..).into(),
            3 => DOUBLES[random.usize(..DOUBLES.len())].into(),
            4 => {
                let first = DateTime::from_unix_seconds(-11_644_473_600);
                (first + Duration::from_nanos(100 * random.u64(..1 << 56))).into()
            }
            5 => Guid(random.u128(..).to_be_bytes()).into(),
            6 => {
                let bytes: Vec<u8> = (0..random.usize(..300)).map(|_| random.u8(..)).collect();
                bytes.into()
            }
            // Sometimes a long one, so that batches differ in their size.
            _ => {
                let most = if random.u8(..30) == 0 { 2_500 } else { 12 };
                let pieces = (0..random.usize(..most)).map(|_| PIECES[random.usize(..PIECES.len())]);
                pieces.collect::<String>().as_str().into()
            }
        }
    }

    /// A bulk with random settings.
    fn settings(&mut self, bulk: Bulk<DynamicEntity>) -> Bulk<DynamicEntity> {
        let random = &mut self.random;
        let bulk = bulk
            .batch_size(random.usize(1..=100))
            .concurrency(random.usize(1..=32))
            .partition_concurrency(random.usize(1..=4))
            .max_pending(random.usize(100..=OPERATIONS as usize));
        if random.bool() {
            bulk.batch_bytes(random.usize(10_000..=200_000))
        } else {
            bulk
        }
    }
}

/// One random operation.
struct Write {
    kind: OperationKind,
    entity: DynamicEntity,
    is_stale: bool,
}

impl Write {
    fn operation(&self) -> TableOperation {
        let entity = &self.entity;
        let operation = match self.kind {
            OperationKind::Insert => TableOperation::insert(entity),
            OperationKind::Replace => TableOperation::replace(entity),
            OperationKind::Merge => TableOperation::merge(entity),
            OperationKind::InsertOrReplace => TableOperation::insert_or_replace(entity),
            OperationKind::InsertOrMerge => TableOperation::insert_or_merge(entity),
            _ => TableOperation::delete::<DynamicEntity>((&*entity.partition_key, &*entity.row_key)),
        };
        if self.is_stale {
            operation.if_match(ETag::new(STALE))
        } else {
            operation
        }
    }

    /// Returns the effect on the rows, or the expected rejection.
    fn apply(&self, rows: &mut Rows) -> Result<(), ErrorKind> {
        use OperationKind::{Delete, Insert, InsertOrMerge, Merge, Replace};
        let key = (self.entity.partition_key.clone(), self.entity.row_key.clone());
        let is_there = rows.contains_key(&key);
        match self.kind {
            Insert if is_there => return Err(ErrorKind::AlreadyExists),
            Replace | Merge | Delete if !is_there => return Err(ErrorKind::NotFound),
            Replace | Merge | Delete if self.is_stale => return Err(ErrorKind::ConditionNotMet),
            _ => {}
        }
        let properties = self.entity.properties.clone();
        match self.kind {
            Delete => drop(rows.remove(&key)),
            Merge | InsertOrMerge => rows.entry(key).or_default().extend(properties),
            _ => drop(rows.insert(key, properties)),
        }
        Ok(())
    }
}

/// The outcome of each operation of a bulk, and the stored rows, are those that a map predicts, for any batches.
pub async fn random_bulks_have_the_result_of_single_writes(backend: &Backend) {
    let seeds = std::env::var(SEEDS_VARIABLE).map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        stress(backend, seed).await;
    }
}

async fn stress(backend: &Backend, seed: u64) {
    let mut source = Source::new(backend, seed);
    let table = backend.fresh_table::<DynamicEntity>().await;
    let mut rows = Rows::new();
    let mut rejected = 0;
    for _ in 0..BULKS {
        let (mut writes, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..of_all(OPERATIONS) {
            let write = source.write(&rows);
            expected.push(write.apply(&mut rows));
            writes.push(write);
        }
        let bulk = source.settings(table.bulk());
        for (index, found) in outcomes(bulk, &writes).await.into_iter().enumerate() {
            let Write { kind, entity, .. } = &writes[index];
            let keys = (&entity.partition_key, &entity.row_key);
            assert_eq!(
                found,
                Some(expected[index]),
                "seed {seed}: {kind:?} {index} of {keys:?}"
            );
        }
        rejected += expected.iter().filter(|outcome| outcome.is_err()).count();
        let stored = table.query().all().await.unwrap();
        let stored: Rows = stored
            .into_iter()
            .map(|row| ((row.partition_key, row.row_key), row.properties))
            .collect();
        assert!(stored.keys().eq(rows.keys()), "seed {seed}: other rows are there");
        for (key, properties) in &rows {
            // As text, in which all NaNs are equal.
            let (found, expected) = (format!("{:?}", stored[key]), format!("{properties:?}"));
            assert_eq!(found, expected, "seed {seed}: {key:?}");
        }
    }
    report::remark(&format!(
        "{}, seed {seed}: {} rows, {rejected} operations refused",
        backend.name(),
        rows.len()
    ));
    let operations = BULKS * of_all(OPERATIONS) as usize;
    assert!(rejected > operations / 90 && rows.len() > operations / 9);
    backend.drop_table(&table).await;
}

/// The outcome of each operation.
async fn outcomes(bulk: Bulk<DynamicEntity>, writes: &[Write]) -> Vec<Option<Result<(), ErrorKind>>> {
    let mut outcomes = bulk.write(writes.iter().map(Write::operation)).outcomes();
    let mut found = vec![None; writes.len()];
    while let Some(outcome) = outcomes.next().await {
        let (index, outcome) = match &outcome {
            BulkOutcome::Applied(applied) => (applied.index(), Ok(())),
            BulkOutcome::Leftover(left) => match left.reason() {
                LeftoverReason::Rejected(error) => (left.index(), Err(error.kind())),
                _ => panic!("{left}"),
            },
            other => panic!("{other:?}"),
        };
        let before = found[usize::try_from(index).unwrap()].replace(outcome);
        assert!(before.is_none(), "operation {index} has two outcomes");
    }
    let report = outcomes.finish().unwrap();
    assert_eq!(report.settled(), writes.len() as u64);
    found
}
