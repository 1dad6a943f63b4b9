//! Writers of a guarded partition that crash: fences, logs, sequences and revisions.

use std::cell::RefCell;

use azure_table::testing::{Simulation, explore};
use azure_table::{
    DynamicEntity, ErrorKind, Guid, Result, TableClient, TableEntity, TableOperation, TableServiceClient,
};
use azure_table_patterns::{Fence, Log, Revision, Sequence};
use futures::TryStreamExt as _;
use futures::future::try_join;

use super::{CrashCase, RowId, TABLE, behind, settle, stored, table};

pub(super) const ALL: [CrashCase; 8] = [
    CrashCase {
        name: "`Fence`: two transactions",
        processes: 2,
        explore: |bounds| bounds.of(explore(fence)).isolated().run(),
    },
    CrashCase {
        name: "`Fence`: two transactions with a new header",
        processes: 2,
        explore: |bounds| bounds.of(explore(fence_of_new_header)).isolated().run(),
    },
    CrashCase {
        name: "`Revision`: a snapshot beside two transactions",
        processes: 2,
        explore: |bounds| bounds.of(explore(snapshot)).isolated().run(),
    },
    CrashCase {
        name: "`Log`: two writers append with keys",
        processes: 2,
        explore: |bounds| bounds.of(explore(append_once)).isolated().run(),
    },
    CrashCase {
        name: "`Log`: two writers append without keys",
        processes: 2,
        explore: |bounds| bounds.of(explore(append)).isolated().run(),
    },
    CrashCase {
        name: "`Log`: a writer that reads the log before it appends, beside another",
        processes: 2,
        explore: |bounds| bounds.of(explore(append_at)).isolated().run(),
    },
    CrashCase {
        name: "`Log`: a trim beside an append",
        processes: 2,
        explore: |bounds| bounds.of(explore(trim)).isolated().run(),
    },
    CrashCase {
        name: "`Sequence`: two processes take three numbers, in blocks of two",
        processes: 2,
        explore: |bounds| bounds.of(explore(sequence)).isolated().run(),
    },
];

#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "$header")]
struct Header {
    #[table(partition_key)]
    group: String,
    rows: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

fn header() -> Header {
    Header {
        group: "g".into(),
        rows: 0,
        write: None,
    }
}

/// Opens the fences with a header that the first of them inserts.
async fn fence(simulation: Simulation) -> Result<()> {
    transactions(simulation, async |table| Fence::open(&table, &header()).await).await
}

/// The first transaction inserts the header.
async fn fence_of_new_header(simulation: Simulation) -> Result<()> {
    transactions(simulation, async |table| Ok(Fence::with_new_header(&table, header()))).await
}

/// Each process adds its row once, and the header counts the rows.
async fn transactions(
    simulation: Simulation,
    open: impl AsyncFn(TableClient<Header>) -> Result<Fence<Header>>,
) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let add = |name: &'static str| {
        let open = &open;
        async move |service: TableServiceClient| -> Result<()> {
            let row = DynamicEntity::new("g", name);
            let mut fence = open(table(&service)).await?;
            let written = fence.transact(|header| {
                header.rows += 1;
                Ok(vec![TableOperation::insert(&row)])
            });
            match written.await {
                // An earlier life has added the row.
                Err(e) if e.kind() == ErrorKind::AlreadyExists && e.batch_index() == Some(1) => Ok(()),
                written => written,
            }
        }
    };
    try_join(simulation.process("a", add("a")), simulation.process("b", add("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let rows: Vec<RowId> = stored(&behind, TABLE, "RowKey ge 'a'").await;
    let header: Vec<Header> = stored(&behind, TABLE, "RowKey eq '$header'").await;
    assert_eq!((rows.len(), header[0].rows), (2, 2), "{rows:?}");
    Ok(())
}

/// A snapshot has both rows of a transaction or neither, also of one that arrives after the crash of its process.
async fn snapshot(simulation: Simulation) -> Result<()> {
    let _ = behind(&simulation, &[TABLE]);
    let write = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<DynamicEntity>(&service);
        for value in [1, 2] {
            let mut batch = rows.batch();
            batch.push(Revision::new(&rows, "g", "!").operation())?;
            for name in ["m", "n"] {
                let mut row = DynamicEntity::new("g", name);
                row.insert("Value", value);
                batch.insert_or_replace(&row)?;
            }
            batch.submit().await?;
        }
        Ok(())
    };
    let read = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<DynamicEntity>(&service);
        let pages = rows.query().page_size(1);
        let rows: Vec<DynamicEntity> = Revision::new(&rows, "g", "!").snapshot(pages).await?;
        let values: Vec<_> = rows.iter().map(|row| row.get("Value")).collect();
        assert!(
            values.len() != 1 && values.windows(2).all(|pair| pair[0] == pair[1]),
            "{values:?}"
        );
        Ok(())
    };
    try_join(simulation.process("writer", write), simulation.process("reader", read)).await?;
    settle(&simulation, &[TABLE]).await?;
    Ok(())
}

async fn log(service: &TableServiceClient) -> Result<Log<String>> {
    Log::open(&table::<DynamicEntity>(service), "g").await
}

fn events(name: &str) -> Vec<String> {
    vec![format!("{name}1"), format!("{name}2")]
}

/// Returns the stored events. Checks that the header counts them, and that no append is torn.
async fn checked(behind: &TableServiceClient) -> Result<Vec<String>> {
    let mut log = log(behind).await?;
    let positions = log.position().await?;
    let read: Vec<(u64, String)> = log.read_from(positions.start).try_collect().await?;
    assert_eq!(read.len() as u64, positions.end - positions.start, "{read:?}");
    let rows: Vec<RowId> = stored(behind, TABLE, "RowKey ge '0' and RowKey lt ':'").await;
    assert_eq!(rows.len(), read.len(), "{rows:?}");
    let read: Vec<String> = read.into_iter().map(|(_, event)| event).collect();
    for pair in read.chunks(2) {
        assert_eq!(
            (&pair[0][..1], pair.len()),
            (&pair[1][..1], 2),
            "an append is torn: {read:?}"
        );
    }
    Ok(read)
}

/// An append with a key is applied once, however often its process begins again.
async fn append_once(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    log(&behind).await?;
    let add = |name: &'static str| {
        async move |service: TableServiceClient| log(&service).await?.append_once(name, &events(name)).await
    };
    let (a, b) = try_join(simulation.process("a", add("a")), simulation.process("b", add("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let (first, second) = if a.start == 0 { ("a", "b") } else { ("b", "a") };
    assert_eq!(a.start.min(b.start)..a.end.max(b.end), 0..4);
    assert_eq!(checked(&behind).await?, [events(first), events(second)].concat());
    Ok(())
}

/// An append without a key is applied at least once.
async fn append(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let add =
        |name: &'static str| async move |service: TableServiceClient| log(&service).await?.append(&events(name)).await;
    let (a, b) = try_join(simulation.process("a", add("a")), simulation.process("b", add("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let read = checked(&behind).await?;
    for (positions, name) in [(a, "a"), (b, "b")] {
        let own = &read[positions.start as usize..positions.end as usize];
        assert_eq!(
            own,
            events(name),
            "other events are at the positions of the last append"
        );
    }
    assert!(read.len() <= 6, "one crash repeats one append: {read:?}");
    Ok(())
}

/// A process that reads the log before it appends at its end appends once, without a key.
async fn append_at(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    log(&behind).await?;
    let add = |name: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            let mut log = log(&service).await?;
            loop {
                let read: Vec<(u64, String)> = log.read_from(0).try_collect().await?;
                let is_appended = read.iter().any(|(_, event)| *event == events(name)[0]);
                if is_appended || log.append_at(read.len() as u64, &events(name)).await? {
                    return Ok(());
                }
            }
        }
    };
    try_join(simulation.process("a", add("a")), simulation.process("b", add("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let read = checked(&behind).await?;
    assert_eq!(read.len(), 4, "{read:?}");
    Ok(())
}

/// A trim that is repeated leaves no row of an event before its position, and loses no later event.
async fn trim(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    log(&behind).await?.append_once("z", &events("z")).await?;
    let trim = async |service: TableServiceClient| log(&service).await?.trim(2).await;
    let add = async |service: TableServiceClient| log(&service).await?.append_once("a", &events("a")).await;
    try_join(simulation.process("trimmer", trim), simulation.process("writer", add)).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(checked(&behind).await?, events("a"));
    let keys: Vec<RowId> = stored(&behind, TABLE, "RowKey ge '~'").await;
    assert_eq!(keys.len(), 1, "{keys:?}");
    Ok(())
}

/// No number is returned twice, over all lives of both processes.
async fn sequence(simulation: Simulation) -> Result<()> {
    let _ = behind(&simulation, &[TABLE]);
    let taken: [RefCell<Vec<i64>>; 2] = Default::default();
    let take = |process: usize| {
        let taken = &taken[process];
        async move |service: TableServiceClient| -> Result<()> {
            let mut sequence = Sequence::new(&table::<DynamicEntity>(&service), "s", "n").block(2);
            for _ in 0..3 {
                let number = sequence.next().await?;
                taken.borrow_mut().push(number);
            }
            Ok(())
        }
    };
    try_join(simulation.process("a", take(0)), simulation.process("b", take(1))).await?;
    settle(&simulation, &[TABLE]).await?;
    let [mut all, other] = taken.map(RefCell::into_inner);
    assert!(all.is_sorted() && other.is_sorted(), "{all:?}, {other:?}");
    all.extend(other);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "returned twice: {all:?}");
    Ok(())
}
