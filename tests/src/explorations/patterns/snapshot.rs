//! Snapshots: rows of several pages from one moment.

use azure_table::emulator::SeedEntities as _;
use azure_table::{Error, TableOperation};
use azure_table_patterns::{Fence, Revision};
use futures::future::join3;

use super::*;

pub(super) const ALL: [Case; 2] = [
    case!("`Revision`: a snapshot beside two transactions of a fence", fence).slow_with(1),
    case!("`Revision`: a snapshot beside two writers", revision)
        .slow_with(1)
        .and_crashes(),
];

/// Two rows whose numbers are equal at every moment.
fn twins(number: i64) -> [Valued<i64>; 2] {
    ["a", "z"].map(|name| Valued::new("g", name, number))
}

/// Returns the numbers of the rows of a snapshot, with a page for each row.
fn numbers(rows: &[Valued<i64>]) -> (i64, i64) {
    match rows {
        [a, z] if (a.name.as_str(), z.name.as_str()) == ("a", "z") => (a.value, z.value),
        _ => panic!("other rows: {rows:?}"),
    }
}

async fn fence(place: Place) {
    place.emulator().seed(TABLE, twins(0)).unwrap();
    place.emulator().seed(TABLE, [new_header()]).unwrap();
    let header = table::<Header>(&place.behind()).get(("g",)).versioned().await;
    let header = header.unwrap().unwrap();
    let write = async |service: TableServiceClient| {
        let mut fence = Fence::with_header(&table(&service), header.clone());
        for _ in 0..2 {
            let next = |header: &mut Header| {
                header.rows += 1;
                Ok(twins(header.rows)
                    .iter()
                    .map(TableOperation::insert_or_replace)
                    .collect())
            };
            fence.transact(next).await?;
        }
        Ok::<_, Error>(())
    };
    let read = async |service: TableServiceClient| {
        let revision = Fence::with_header(&table(&service), header.clone()).revision()?;
        let twins = table::<Valued<i64>>(&service).query().page_size(1);
        let (header, rows) = revision.snapshot_with_row::<Header, _, _>(twins).await?;
        let header = header.unwrap().rows;
        assert_eq!(numbers(&rows), (header, header), "torn");
        Ok::<_, Error>(())
    };
    let (_, read) = both(&place, write, read).await;
    count([&read]);
}

/// A batch that arrives late, or in doubt is sent again, may come after the other writer's.
async fn revision(place: Place) {
    place.emulator().seed(TABLE, twins(0)).unwrap();
    let write = |number| {
        async move |service: TableServiceClient| -> Result<()> {
            let table = table::<Valued<i64>>(&service);
            let mut batch = table.batch();
            batch.push(Revision::new(&table, "g", "!").operation())?;
            for twin in twins(number) {
                batch.insert_or_replace(&twin)?;
            }
            batch.submit().await.map(drop)
        }
    };
    let read = async |service: TableServiceClient| -> Result<()> {
        let table = table::<Valued<i64>>(&service);
        let revision = Revision::new(&table, "g", "!");
        let (first, last) = numbers(&revision.snapshot(table.query().page_size(1)).await?);
        assert_eq!(first, last, "torn");
        Ok(())
    };
    let writes = (place.task("a", write(1)), place.task("b", write(2)));
    let (a, b, read) = join3(writes.0, writes.1, place.task("c", read)).await;
    place.settle().await;
    count([&read]);
    assert!(
        !place.has_crashes() || [a, b, read].iter().all(Result::is_ok),
        "a call fails"
    );
}
