//! Random operations in a batch. Operations that break a rule are returned immediately, as a simple model of the rules
//! predicts. The others are committed, and leave the rows of a map after the same operations, or the rows before.

use std::collections::BTreeMap;

use azure_table::batch::BatchRule;
use azure_table::operation::OperationKind;
use azure_table::testing::Faults;
use azure_table::{DynamicEntity, ETag, EdmValue, Emulator, ErrorKind, TableOperation, TableServiceClient};
use proptest::prelude::*;

const STALE: &str = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"";
/// Ten rows of this size fit into 4 MiB, with any number of small ones, and eleven do not.
const LARGE: usize = 400_000;
const MAX_LARGE: usize = 10;
/// The existing rows: every other one of these.
const ROWS: u32 = 160;

/// The properties of each row.
type Rows = BTreeMap<String, BTreeMap<String, EdmValue>>;

/// One operation, before it is created.
#[derive(Clone, Debug)]
struct Wish {
    kind: OperationKind,
    partition: &'static str,
    row: String,
    value: i64,
    is_large: bool,
    is_stale: bool,
}

impl Wish {
    fn entity(&self) -> DynamicEntity {
        let mut entity = DynamicEntity::new(self.partition, self.row.as_str());
        let name = if self.kind == OperationKind::Merge {
            "Merged"
        } else {
            "Value"
        };
        entity.insert(name, self.value);
        if self.is_large {
            for part in 0..LARGE / 25_000 {
                entity.insert(format!("P{part}"), "x".repeat(25_000).as_str());
            }
        }
        entity
    }

    fn operation(&self) -> TableOperation {
        let (entity, key) = (self.entity(), (self.partition, self.row.as_str()));
        let operation = match self.kind {
            OperationKind::Insert => TableOperation::insert(&entity),
            OperationKind::Replace => TableOperation::replace(&entity),
            OperationKind::Merge => TableOperation::merge(&entity),
            OperationKind::InsertOrReplace => TableOperation::insert_or_replace(&entity),
            OperationKind::InsertOrMerge => TableOperation::insert_or_merge(&entity),
            OperationKind::Delete => TableOperation::delete::<DynamicEntity>(key),
            _ => TableOperation::get::<DynamicEntity>(key),
        };
        if self.is_stale {
            operation.if_match(ETag::new(STALE))
        } else {
            operation
        }
    }

    fn has_entity(&self) -> bool {
        !matches!(self.kind, OperationKind::Delete | OperationKind::Get)
    }

    /// Returns the effect on the rows, or the expected rejection.
    fn apply(&self, rows: &mut Rows) -> Result<(), ErrorKind> {
        use OperationKind::{Delete, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace};
        let is_there = rows.contains_key(&self.row);
        match self.kind {
            Insert if is_there => return Err(ErrorKind::AlreadyExists),
            Replace | Merge | Delete if !is_there => return Err(ErrorKind::NotFound),
            Replace | Merge | Delete if self.is_stale => return Err(ErrorKind::ConditionNotMet),
            _ => {}
        }
        match self.kind {
            Insert | Replace | InsertOrReplace => {
                rows.insert(self.row.clone(), self.entity().properties);
            }
            Merge | InsertOrMerge => rows
                .entry(self.row.clone())
                .or_default()
                .extend(self.entity().properties),
            Delete => drop(rows.remove(&self.row)),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the rule that `wish` breaks after those that were accepted, as the documentation lists them.
fn broken(taken: &[Wish], wish: &Wish) -> Option<BatchRule> {
    let is_retrieve = |wish: &Wish| wish.kind == OperationKind::Get;
    if wish.row.contains('/') {
        return Some(BatchRule::Valid);
    }
    if taken.len() >= 100 {
        return Some(BatchRule::Operations);
    }
    if !taken.is_empty() && (is_retrieve(wish) || taken.iter().any(is_retrieve)) {
        return Some(BatchRule::GetAlone);
    }
    if taken.iter().any(|other| other.partition != wish.partition) {
        return Some(BatchRule::OnePartition);
    }
    if taken.iter().any(|other| other.row == wish.row) {
        return Some(BatchRule::EachRowOnce);
    }
    let large = |wish: &&Wish| wish.is_large && wish.has_entity();
    let many = taken.iter().filter(large).count() + usize::from(large(&wish));
    (many > MAX_LARGE).then_some(BatchRule::Bytes)
}

fn row(number: u32) -> String {
    format!("{number:03}")
}

fn is_there_before(number: u32) -> bool {
    number.is_multiple_of(2)
}

prop_compose! {
    /// Mostly an operation that can succeed.
    fn wish()(
        number in 0..ROWS,
        choice in 0..5_usize,
        value in any::<i64>(),
        is_elsewhere in proptest::bool::weighted(0.05),
        is_bad in proptest::bool::weighted(0.02),
        is_large in proptest::bool::weighted(0.12),
        is_stale in proptest::bool::weighted(0.003),
        is_any in proptest::bool::weighted(0.01),
        is_retrieve in proptest::bool::weighted(0.01),
    ) -> Wish {
        use OperationKind::{Delete, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace, Get};
        let fitting = if is_there_before(number) != is_any { [Replace, Merge, Delete, InsertOrReplace, InsertOrMerge] } else { [Insert, Insert, Insert, InsertOrReplace, InsertOrMerge] };
        Wish {
            kind: if is_retrieve { Get } else { fitting[choice] },
            partition: if is_elsewhere { "q" } else { "p" },
            row: if is_bad { "a/b".to_owned() } else { row(number) },
            value, is_large, is_stale,
        }
    }
}

proptest! {
    #![proptest_config(super::cases(ProptestConfig::with_cases(64)))]

    #[test]
    fn invalid_operations_are_rejected_and_the_rest_is_atomic(
        wishes in prop_oneof![
            1 => proptest::collection::vec(wish(), 1..6),
            2 => proptest::collection::vec(wish(), 1..260),
        ],
        begins_with_retrieve in proptest::bool::weighted(0.1),
    ) {
        super::run(check(wishes, begins_with_retrieve))?;
    }
}

async fn check(mut wishes: Vec<Wish>, begins_with_retrieve: bool) -> Result<(), TestCaseError> {
    let faults = Faults::new(Emulator::new());
    let service = TableServiceClient::from_transport(Emulator::new()).transport(faults.clone());
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    if begins_with_retrieve {
        wishes[0].kind = OperationKind::Get;
    }
    // The partition that the first operation selects has rows to change.
    let first = wishes.iter().find(|wish| broken(&[], wish).is_none());
    let partition = first.map_or("p", |wish| wish.partition);
    let mut before = Rows::new();
    for numbers in (0..ROWS)
        .filter(|number| is_there_before(*number))
        .collect::<Vec<_>>()
        .chunks(100)
    {
        let mut batch = table.batch();
        for number in numbers {
            let mut entity = DynamicEntity::new(partition, row(*number));
            entity.insert("Before", true);
            before.insert(row(*number), entity.properties.clone());
            batch.insert(&entity).unwrap();
        }
        batch.submit().await.unwrap();
    }

    let requests = faults.requests();
    let (mut batch, mut taken) = (table.batch(), Vec::new());
    for wish in wishes {
        let bytes = batch.bytes();
        let added = batch.push(wish.operation()).map(|_| ());
        match (broken(&taken, &wish), added) {
            (None, Ok(())) => taken.push(wish),
            (Some(rule), Err(rejected)) => {
                prop_assert_eq!((rejected.rule(), rejected.index()), (rule, taken.len()));
                let operation = rejected.into_operation();
                prop_assert_eq!(operation.is_some(), rule != BatchRule::Valid);
                if let Some(operation) = operation {
                    prop_assert_eq!(
                        (operation.kind(), operation.keys()),
                        (wish.kind, Some((wish.partition, &*wish.row)))
                    );
                }
                prop_assert_eq!((batch.len(), batch.bytes()), (taken.len(), bytes));
            }
            (rule, added) => prop_assert!(false, "{rule:?} of {wish:?}: {added:?}"),
        }
    }
    prop_assert_eq!(faults.requests(), requests, "something was sent to find out");
    if taken.is_empty() {
        return Ok(());
    }

    let is_retrieve = taken[0].kind == OperationKind::Get;
    prop_assert_eq!(batch.is_full(), taken.len() == 100 || is_retrieve);
    let mut after = before.clone();
    let mut verdict = Ok(());
    for (index, wish) in taken.iter().enumerate() {
        verdict = wish.apply(&mut after).map_err(|kind| (index, kind));
        if verdict.is_err() {
            break;
        }
    }
    match (verdict, batch.submit().await) {
        (Ok(()), Ok(results)) => {
            prop_assert_eq!(results.len(), taken.len());
            for (wish, result) in taken.iter().zip(&results) {
                prop_assert_eq!(result.kind(), wish.kind);
                let read = result.entity::<DynamicEntity>().unwrap();
                let stored = before.get(&wish.row).filter(|_| is_retrieve);
                prop_assert_eq!(read.as_ref().map(|entity| &entity.properties), stored);
            }
        }
        (Err((index, kind)), Err(error)) => {
            prop_assert_eq!((error.batch_index(), error.kind()), (Some(index), kind), "{}", error);
            prop_assert_eq!(error.entity(), Some((partition, &*taken[index].row)));
            prop_assert!(!error.may_have_applied());
            after = before;
        }
        (verdict, outcome) => prop_assert!(false, "{verdict:?}: {outcome:?}"),
    }
    prop_assert_eq!(faults.requests(), requests + 1);
    let stored = table.query().all().await.unwrap();
    prop_assert!(stored.iter().all(|row| row.partition_key == partition));
    let stored: Rows = stored.into_iter().map(|row| (row.row_key, row.properties)).collect();
    prop_assert!(stored == after, "{:?}", stored.keys().collect::<Vec<_>>());
    Ok(())
}
