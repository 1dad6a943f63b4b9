//! Holders of a lease that crash.

use std::cell::{Cell, RefCell};

use azure_table::testing::{Simulation, explore};
use azure_table::{DynamicEntity, Result, TableServiceClient};
use azure_table_patterns::{Lease, Leases};
use futures::future::{join, try_join};
use tokio::time::{Instant, sleep};

use super::{ATTEMPTS, CrashCase, Number, PAST, TABLE, TIME, behind, settle, stored, table, unless_changed};

pub(super) const ALL: [CrashCase; 5] = [
    CrashCase {
        name: "`Leases`: two workers, writes with a fencing token",
        processes: 2,
        explore: |bounds| bounds.of(explore(fenced)).isolated().run(),
    },
    CrashCase {
        name: "`Leases`: two workers, the clock jumps over the end",
        processes: 2,
        explore: |bounds| bounds.of(explore(one_works)).advance(PAST).run(),
    },
    CrashCase {
        name: "`Leases`: a holder dies for ever, and its lease ends",
        processes: 2,
        explore: |bounds| bounds.of(explore(holder_dies)).isolated().run(),
    },
    CrashCase {
        name: "`Leases`: a holder dies for ever, and its lease is requested",
        processes: 2,
        explore: |bounds| bounds.of(explore(requested_holder_dies)).isolated().run(),
    },
    CrashCase {
        name: "`Leases`: two workers resume their own leases",
        processes: 2,
        explore: |bounds| bounds.of(explore(resumed)).isolated().run(),
    },
];

fn leases(service: &TableServiceClient) -> Leases {
    Leases::new(&table::<DynamicEntity>(service), TIME)
}

/// Acquires the lease as soon as it is free.
async fn acquired(leases: &Leases, holder: &str) -> Result<Lease> {
    for _ in 0..ATTEMPTS {
        if let Some(lease) = leases.acquire("p", "lease", holder).await? {
            return Ok(lease);
        }
        sleep(TIME / 2).await;
    }
    panic!("the lease of {holder} is never free");
}

/// The token of a report never decreases, and no token occurs twice.
async fn fenced(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    table(&behind).insert(&Number::new("report", 0)).await?;
    leases(&behind).create("p", "lease").await?;
    let (tokens, written) = ([RefCell::default(), RefCell::default()], [Cell::new(0), Cell::new(0)]);
    let live = |process: usize| {
        let (tokens, written): (&RefCell<Vec<i64>>, _) = (&tokens[process], &written[process]);
        async move |service: TableServiceClient| -> Result<()> {
            let lease = acquired(&leases(&service), &process.to_string()).await?;
            tokens.borrow_mut().push(lease.token());
            let reports = table::<Number>(&service);
            while let Some(mut report) = reports.get(("g", "report")).versioned().await? {
                if report.number > lease.token() {
                    break;
                }
                report.number = lease.token();
                if unless_changed(reports.replace(&report).await)?.is_some() {
                    written.set(lease.token());
                    break;
                }
            }
            lease.release().await
        }
    };
    try_join(simulation.process("a", live(0)), simulation.process("b", live(1))).await?;
    settle(&simulation, &[TABLE]).await?;
    let [mut all, other] = tokens.map(RefCell::into_inner);
    all.extend(other);
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0] < pair[1]),
        "a token occurs twice: {all:?}"
    );
    let report = stored::<Number>(&behind, TABLE, "RowKey eq 'report'").await;
    let last = written.map(Cell::into_inner).into_iter().max();
    assert!(
        last.is_some_and(|last| report[0].number >= last),
        "{report:?} after {last:?}"
    );
    Ok(())
}

/// Another worker, until it is dropped: also by a crash.
struct Working<'a>(&'a Cell<u32>);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Workers that share memory to notice each other.
async fn one_works(simulation: Simulation) -> Result<()> {
    leases(&behind(&simulation, &[TABLE])).create("p", "lease").await?;
    let working = Cell::new(0);
    let (working, live) = (&working, |name: &'static str| {
        let working = &working;
        async move |service: TableServiceClient| -> Result<()> {
            let mut lease = acquired(&leases(&service), name).await?;
            let work = async {
                assert_eq!(working.replace(1), 0, "two work at the same time");
                let _working = Working(working);
                table::<DynamicEntity>(&service).exists(("p", "work")).await
            };
            if let Some(worked) = lease.run(work).await {
                worked?;
                lease.release().await?;
            }
            Ok(())
        }
    });
    let _ = try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(working.get(), 0);
    Ok(())
}

/// A lease whose holder died is free after its end, not before.
async fn holder_dies(simulation: Simulation) -> Result<()> {
    leases(&behind(&simulation, &[TABLE])).create("p", "lease").await?;
    let held = Cell::new(None);
    let hold = async |service: TableServiceClient| -> Result<()> {
        let mut lease = acquired(&leases(&service), "a").await?;
        held.set(Some((lease.token(), Instant::now())));
        lease.renew().await?;
        // The release may be carried out although its process dies.
        held.set(None);
        lease.release().await
    };
    let acquire = async |service: TableServiceClient| -> Result<_> {
        let lease = acquired(&leases(&service), "b").await?;
        let acquired = (lease.token(), Instant::now());
        lease.release().await?;
        Ok(acquired)
    };
    let (held_to_the_end, acquired) = join(simulation.process_once("a", hold), simulation.process("b", acquire)).await;
    held_to_the_end.unwrap_or(Ok(()))?;
    let (token, at) = acquired?;
    settle(&simulation, &[TABLE]).await?;
    // The lease of a dead process with a lower token had ended.
    if let Some((_, since)) = held.get().filter(|(dead, _)| *dead < token) {
        assert!(at - since >= TIME, "acquired {:?} after the dead holder", at - since);
    }
    Ok(())
}

/// A lease that was requested from a holder that died is free for the one that requested it.
async fn requested_holder_dies(simulation: Simulation) -> Result<()> {
    leases(&behind(&simulation, &[TABLE])).create("p", "lease").await?;
    let hold = async |service: TableServiceClient| -> Result<()> {
        if let Some(mut lease) = leases(&service).acquire("p", "lease", "a").await?
            && lease.renew().await?
        {
            lease.release().await?;
        }
        Ok(())
    };
    let request = async |service: TableServiceClient| -> Result<i64> {
        let leases = leases(&service);
        for _ in 0..ATTEMPTS {
            let entry = leases.list("p").await?.remove(0);
            if let Some(lease) = leases.acquire_entry(&entry, "b").await? {
                let token = lease.token();
                lease.release().await?;
                return Ok(token);
            }
            leases.request(&entry, "b").await?;
            sleep(TIME / 2).await;
        }
        panic!("the requested lease is never free");
    };
    let (held, token) = join(simulation.process_once("a", hold), simulation.process("b", request)).await;
    settle(&simulation, &[TABLE]).await?;
    held.unwrap_or(Ok(()))?;
    assert!(token? > 0);
    Ok(())
}

/// A process that begins again has its lease without waiting.
async fn resumed(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    for name in ["a", "b"] {
        leases(&behind).create("p", name).await?;
    }
    let tokens = [RefCell::default(), RefCell::default()];
    let live = |process: usize| {
        let (tokens, name): (&RefCell<Vec<i64>>, _) = (&tokens[process], ["a", "b"][process]);
        async move |service: TableServiceClient| -> Result<()> {
            let leases = leases(&service);
            for _ in 0..ATTEMPTS {
                let entries = leases.list("p").await?;
                let entry = entries.iter().find(|entry| entry.row_key() == name).unwrap();
                let lease = match entry.holder() {
                    None => leases.acquire_entry(entry, name).await?,
                    Some(_) => leases.resume(entry, name).await?,
                };
                let Some(mut lease) = lease else { continue };
                tokens.borrow_mut().push(lease.token());
                assert!(lease.renew().await?, "another process has the lease of {name}");
                return Ok(());
            }
            panic!("the lease of {name} is never resumed");
        }
    };
    let started = Instant::now();
    try_join(simulation.process("a", live(0)), simulation.process("b", live(1))).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(started.elapsed().as_secs(), 0, "a process waited for its own lease");
    for tokens in tokens.map(RefCell::into_inner) {
        assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "{tokens:?}");
    }
    Ok(())
}
