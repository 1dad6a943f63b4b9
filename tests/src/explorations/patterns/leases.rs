//! Leases, with holders that compete, request them from each other, and crash.

use std::cell::RefCell;

use azure_table_patterns::{Lease, Leases};
use futures::future::join3;
use tokio::time::{Instant, sleep};

use super::*;

pub(super) const ALL: [Case; 8] = [
    case!("`Leases`: two tasks acquire a free one", acquire),
    case!("`Leases`: one is requested, and released for that holder", request).slow_with(1),
    case!("`Leases`: two workers, the clock jumps over the end", one_works)
        .advance(&[PAST])
        .in_all_orders()
        .slow_with(1)
        .and_crashes(),
    case!("`Leases`: the holder renews while the other tries", one_works)
        .advance(&[Duration::from_secs(10), TIME])
        .in_all_orders()
        .slow_with(1)
        .only_orders(),
    case!("`Leases`: two workers, writes with a fencing token", fenced).only_crashes(2),
    case!("`Leases`: a holder dies for ever, and its lease ends", holder_dies).only_crashes(2),
    case!(
        "`Leases`: a holder dies for ever, and its lease is requested",
        requested_holder_dies
    )
    .only_crashes(2),
    case!("`Leases`: two workers resume their own leases", resumed).only_crashes(2),
];

fn leases(service: &TableServiceClient) -> Leases {
    Leases::new(&table::<DynamicEntity>(service), TIME)
}

/// Creates free leases, without the gate.
async fn create(place: &Place, names: &[&str]) {
    for name in names {
        leases(&place.behind()).create("p", name).await.unwrap();
    }
}

/// Leaves a lease that an earlier holder released, without the gate.
async fn free_lease(place: &Place) {
    let lease = leases(&place.behind()).acquire("p", "lease", "earlier").await;
    lease.unwrap().unwrap().release().await.unwrap();
}

/// Acquires the lease if it is free. A process waits until it is.
async fn acquired(place: &Place, service: &TableServiceClient, holder: &str) -> Result<Option<Lease>> {
    for _ in 0..ATTEMPTS {
        let lease = leases(service).acquire("p", "lease", holder).await?;
        if lease.is_some() || !place.has_crashes() {
            return Ok(lease);
        }
        sleep(TIME / 2).await;
    }
    panic!("the lease of {holder} is never free");
}

/// No token occurs twice.
async fn acquire(place: Place) {
    free_lease(&place).await;
    let acquire = |name: &'static str| {
        async move |service: TableServiceClient| {
            let lease = leases(&service).acquire("p", "lease", name).await.ok()??;
            let token = lease.token();
            count([&lease.release().await]);
            Some(token)
        }
    };
    let (a, b) = both(&place, acquire("a"), acquire("b")).await;
    assert!(a.is_none() || a != b, "both had the token {a:?}");
}

/// A released lease is free for the holder that requested it, and for no other.
async fn request(place: Place) {
    create(&place, &["lease"]).await;
    let [a, b, c] = ["a", "b", "c"].map(|name| leases(&place.client(name)));
    let Ok(Some(mut held)) = a.acquire("p", "lease", "a").await else {
        return;
    };
    let hand_over = async {
        let is_own = held.renew().await;
        assert!(!matches!(is_own, Ok(false)), "a request took the lease from its holder");
        count([&held.release().await]);
    };
    let request = async {
        let entries = b.list("p").await.ok()?;
        let is_requested = b.request(&entries[0], "b").await.ok()?;
        is_requested.then(|| entries[0].token())
    };
    let take = async {
        if let Ok(entries) = c.list("p").await {
            let _ = c.acquire_entry(&entries[0], "c").await;
        }
    };
    let ((), requested, ()) = join3(hand_over, request, take).await;
    let stored = &leases(&place.behind()).list("p").await.unwrap()[0];
    if let Some(token) = requested {
        assert_eq!(
            stored.token(),
            token,
            "another holder has the requested lease: {stored:?}"
        );
        assert_eq!(stored.next_holder(), Some("b"), "the request was lost: {stored:?}");
    }
}

/// Holders that share memory to notice each other, and work for a while.
async fn one_works(place: Place) {
    free_lease(&place).await;
    let working = Cell::new(0);
    let hold = |name: &'static str| {
        let (place, working) = (&place, &working);
        async move |service: TableServiceClient| -> Result<()> {
            let Some(mut lease) = acquired(place, &service, name).await? else {
                return Ok(());
            };
            let work = async {
                let _working = Working::begin(working);
                table::<DynamicEntity>(&service).exists(("p", "work")).await
            };
            if let Some(worked) = lease.run(work).await {
                assert!(worked.is_ok() || !place.has_crashes(), "{worked:?}");
                let released = lease.release().await;
                count([&released]);
                released?;
            }
            Ok(())
        }
    };
    let (a, b) = both(&place, hold("a"), hold("b")).await;
    assert!(!place.has_crashes() || a.is_ok() && b.is_ok(), "{a:?}, {b:?}");
    assert_eq!(working.get(), 0);
}

/// The token of a report never decreases, and no token occurs twice.
async fn fenced(place: Place) -> Result<()> {
    create(&place, &["lease"]).await;
    table(&place.behind())
        .insert(&Valued::new("g", "report", 0_i64))
        .await?;
    let (tokens, written) = ([RefCell::default(), RefCell::default()], [Cell::new(0), Cell::new(0)]);
    let live = |process: usize| {
        let (place, tokens, written): (_, &RefCell<Vec<i64>>, _) = (&place, &tokens[process], &written[process]);
        async move |service: TableServiceClient| -> Result<()> {
            let lease = acquired(place, &service, &process.to_string()).await?.unwrap();
            tokens.borrow_mut().push(lease.token());
            let reports = table::<Valued<i64>>(&service);
            while let Some(mut report) = reports.get(("g", "report")).versioned().await? {
                if report.value > lease.token() {
                    break;
                }
                report.value = lease.token();
                if unless_changed(reports.replace(&report).await)?.is_some() {
                    written.set(lease.token());
                    break;
                }
            }
            lease.release().await
        }
    };
    try_both(&place, live(0), live(1)).await?;
    let mut all = tokens.map(RefCell::into_inner).concat();
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0] < pair[1]),
        "a token occurs twice: {all:?}"
    );
    let report = stored::<Valued<i64>>(&place, "RowKey eq 'report'").await;
    let last = written.map(Cell::into_inner).into_iter().max();
    assert!(
        last.is_some_and(|last| report[0].value >= last),
        "{report:?} after {last:?}"
    );
    Ok(())
}

/// A lease whose holder died is free after its end, not before.
async fn holder_dies(place: Place) -> Result<()> {
    create(&place, &["lease"]).await;
    let held = Cell::new(None);
    let hold = async |service: TableServiceClient| -> Result<()> {
        let mut lease = acquired(&place, &service, "a").await?.unwrap();
        held.set(Some((lease.token(), Instant::now())));
        lease.renew().await?;
        // The release may be carried out although its process dies.
        held.set(None);
        lease.release().await
    };
    let acquire = async |service: TableServiceClient| -> Result<_> {
        let lease = acquired(&place, &service, "b").await?.unwrap();
        let acquired = (lease.token(), Instant::now());
        lease.release().await?;
        Ok(acquired)
    };
    let (held_to_the_end, acquired) = join(place.task_once("a", hold), place.task("b", acquire)).await;
    place.settle().await;
    held_to_the_end.unwrap_or(Ok(()))?;
    let (token, at) = acquired?;
    // The lease of a dead process with a lower token had ended.
    if let Some((_, since)) = held.get().filter(|(dead, _)| *dead < token) {
        assert!(at - since >= TIME, "acquired {:?} after the dead holder", at - since);
    }
    Ok(())
}

/// A lease that was requested from a holder that died is free for the one that requested it.
async fn requested_holder_dies(place: Place) -> Result<()> {
    create(&place, &["lease"]).await;
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
    let (held, token) = join(place.task_once("a", hold), place.task("b", request)).await;
    place.settle().await;
    held.unwrap_or(Ok(()))?;
    assert!(token? > 0);
    Ok(())
}

/// A process that begins again has its lease without waiting.
async fn resumed(place: Place) -> Result<()> {
    create(&place, &["a", "b"]).await;
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
    try_both(&place, live(0), live(1)).await?;
    assert_eq!(started.elapsed().as_secs(), 0, "a process waited for its own lease");
    for tokens in tokens.map(RefCell::into_inner) {
        assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "{tokens:?}");
    }
    Ok(())
}
