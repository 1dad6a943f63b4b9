//! The promises of snapshots: rows of several pages from one moment.

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::explore;
use azure_table::{Result, TableClient, TableEntity, TableOperation};
use azure_table_patterns::{Fence, Revision};
use futures::future::{join, join3};

use super::{Case, Header, Place, Promise, TABLE, at, clients, count};

pub(super) const ALL: [Case; 2] = [
    Case {
        name: "`Revision`: a snapshot beside two transactions of a fence",
        slow_with: Some(1),
        explore: |faults| explore(at(fence)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Revision`: a snapshot beside two writers",
        slow_with: Some(1),
        explore: |faults| explore(at(revision)).isolated().faults(faults).run(),
    },
];

pub(super) const PROMISES: [Promise; 2] = [
    Promise {
        name: "`Revision`: a snapshot beside two transactions of a fence",
        hold: |place| Box::pin(fence(place)),
    },
    Promise {
        name: "`Revision`: a snapshot beside two writers",
        hold: |place| Box::pin(revision(place)),
    },
];

/// A row whose number equals the other row's at every moment.
#[derive(TableEntity, Clone, Debug)]
struct Twin {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    number: i64,
}

fn twins(number: i64) -> [Twin; 2] {
    ["a", "z"].map(|name| Twin {
        group: "g".into(),
        name: name.into(),
        number,
    })
}

/// Returns the numbers of the rows of a snapshot, with a page for each row.
fn numbers(rows: &[Twin]) -> (i64, i64) {
    match rows {
        [a, z] if (a.name.as_str(), z.name.as_str()) == ("a", "z") => (a.number, z.number),
        _ => panic!("other rows: {rows:?}"),
    }
}

async fn fence(place: Place) {
    let [a, b]: [TableClient<Header>; 2] = clients(&place);
    let new = Header {
        group: "g".into(),
        rows: 0,
        write: None,
    };
    place.emulator().seed(TABLE, twins(0)).unwrap();
    place.emulator().seed(TABLE, [new]).unwrap();
    let behind: TableClient<Header> = place.behind().table(TABLE).unwrap();
    let header = behind.get(("g",)).versioned().await.unwrap().unwrap();
    let write = async {
        let mut fence = Fence::with_header(&a, header.clone());
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
        Ok::<_, azure_table::Error>(())
    };
    let read = async {
        let revision = Fence::with_header(&b, header.clone()).revision()?;
        let twins = b.typed::<Twin>().query().page_size(1);
        let (header, rows) = revision.snapshot_with_row::<Header, _, _>(twins).await?;
        let header = header.unwrap().rows;
        assert_eq!(numbers(&rows), (header, header), "torn");
        Ok::<_, azure_table::Error>(())
    };
    let (_, read) = join(write, read).await;
    count([&read]);
}

/// Three tasks: a batch in doubt is sent again after the other writer's.
async fn revision(place: Place) {
    let [a, b]: [TableClient<Twin>; 2] = clients(&place);
    let c: TableClient<Twin> = place.client("c").table(TABLE).unwrap();
    place.emulator().seed(TABLE, twins(0)).unwrap();
    let write = async |table: TableClient<Twin>, number| -> Result<()> {
        let mut batch = table.batch();
        batch.push(Revision::new(&table, "g", "!").operation())?;
        for twin in twins(number) {
            batch.insert_or_replace(&twin)?;
        }
        batch.submit().await.map(drop)
    };
    let read = async {
        let revision = Revision::new(&c, "g", "!");
        let rows: Vec<Twin> = revision.snapshot(c.query().page_size(1)).await?;
        let (first, last) = numbers(&rows);
        assert_eq!(first, last, "torn");
        Ok::<_, azure_table::Error>(())
    };
    let (_, _, read) = join3(write(a, 1), write(b, 2), read).await;
    count([&read]);
}
