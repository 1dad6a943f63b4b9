//! Snapshots: rows of several pages from one moment.

use azure_table::emulator::SeedEntities as _;
use azure_table::{Error, TableOperation};
use azure_table_patterns::{Fence, Revision};
use futures::future::join3;

use super::*;

pub(super) const ALL: [Case; 3] = [
    case!("`Revision`: a snapshot beside two transactions of a fence", fence).slow_with(1),
    case!("`Revision`: a snapshot beside two writers", revision).slow_with(1),
    case!("`Revision`: a snapshot beside two transactions", transactions).only_crashes(2),
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

async fn write(service: &TableServiceClient, number: i64) -> Result<()> {
    let table = table::<Valued<i64>>(service);
    let mut batch = table.batch();
    batch.push(Revision::new(&table, "g", "!").operation())?;
    for twin in twins(number) {
        batch.insert_or_replace(&twin)?;
    }
    batch.submit().await.map(drop)
}

async fn snapshot(service: &TableServiceClient) -> Result<Vec<Valued<i64>>> {
    let table = table::<Valued<i64>>(service);
    let revision = Revision::new(&table, "g", "!");
    revision.snapshot(table.query().page_size(1)).await
}

/// Three tasks: a batch in doubt is sent again after the other writer's.
async fn revision(place: Place) {
    place.emulator().seed(TABLE, twins(0)).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| place.client(name));
    let (_, _, read) = join3(write(&a, 1), write(&b, 2), snapshot(&c)).await;
    count([&read]);
    if let Ok(rows) = read {
        let (first, last) = numbers(&rows);
        assert_eq!(first, last, "torn");
    }
}

/// A snapshot has both rows of a transaction or neither, also of one that arrives after the crash of its process.
async fn transactions(place: Place) -> Result<()> {
    let write = async |service: TableServiceClient| -> Result<()> {
        write(&service, 1).await?;
        write(&service, 2).await
    };
    let read = async |service: TableServiceClient| snapshot(&service).await;
    let ((), rows) = try_both(&place, write, read).await?;
    assert!(
        rows.is_empty() || numbers(&rows).0 == numbers(&rows).1,
        "torn: {rows:?}"
    );
    Ok(())
}
