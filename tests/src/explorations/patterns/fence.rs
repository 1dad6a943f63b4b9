//! Transactions of a fence, and the numbers of a sequence.

use std::cell::RefCell;

use azure_table::{ErrorKind, TableOperation};
use azure_table_patterns::{Fence, Sequence};

use super::*;
use crate::explorations::Tally;

pub(super) const ALL: [Case; 3] = [
    case!("`Fence`: two transactions", fence).slow_with(1).and_crashes(),
    case!("`Fence`: two transactions with a new header", fence_of_new_header).and_crashes(),
    case!("`Sequence`: two tasks take numbers", sequence)
        .slow_with(1)
        .and_crashes(),
];

/// Opens the fences with a header that the first of them inserts.
async fn fence(place: Place) {
    transactions(place, async |table| Fence::open(&table, &new_header()).await).await;
}

/// The first transaction inserts the header.
async fn fence_of_new_header(place: Place) {
    transactions(place, async |table| Ok(Fence::with_new_header(&table, new_header()))).await;
}

/// Each task adds its row once, and the header counts the rows.
async fn transactions(place: Place, open: impl AsyncFn(TableClient<Header>) -> Result<Fence<Header>>) {
    let add = |name: &'static str| {
        let (open, place) = (&open, &place);
        async move |service: TableServiceClient| {
            let row = DynamicEntity::new("g", name);
            let mut fence = open(table(&service)).await?;
            let written = fence.transact(|header| {
                header.rows += 1;
                Ok(vec![TableOperation::insert(&row)])
            });
            match written.await {
                // An earlier life has added the row.
                Err(e) if place.has_crashes() && e.kind() == ErrorKind::AlreadyExists && e.batch_index() == Some(1) => {
                    Ok(())
                }
                written => written,
            }
        }
    };
    let (a, b) = both(&place, add("a"), add("b")).await;
    done(&place, [&a, &b]);
    let rows: Vec<RowId> = stored(&place, "RowKey ge 'a'").await;
    let header: Vec<Header> = stored(&place, "RowKey eq '$header'").await;
    let counted = header.first().map_or(0, |header| header.rows);
    assert_eq!(
        counted,
        rows.len() as i64,
        "the header counts other rows than there are"
    );
    Tally::of([a, b]).check(counted);
}

/// No number is returned twice, over all lives of both tasks.
async fn sequence(place: Place) {
    // A process that crashes between two numbers of a block loses the second.
    let (block, numbers) = if place.has_crashes() { (2, 3) } else { (1, 2) };
    let taken: [RefCell<Vec<i64>>; 2] = Default::default();
    let take = |task: usize| {
        let (taken, place) = (&taken[task], &place);
        async move |service: TableServiceClient| {
            let mut sequence = Sequence::new(&table::<DynamicEntity>(&service), "s", "n").block(block);
            for _ in 0..numbers {
                let next = sequence.next().await;
                done(place, [&next]);
                taken.borrow_mut().extend(next);
            }
        }
    };
    both(&place, take(0), take(1)).await;
    let [mut all, other] = taken.map(RefCell::into_inner);
    assert!(all.is_sorted() && other.is_sorted(), "{all:?}, {other:?}");
    all.extend(other);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "returned twice: {all:?}");
}
