//! The claims of `membership`, from Orleans' membership table and its tests.

pub(crate) mod history;
mod pages;
mod upgrade;

use azure_table::testing::Spy;
use azure_table::{DateTime, DynamicEntity, Emulator, ErrorKind, Key, Profile, Result, TableServiceClient};
use azure_table_tests::explorations::Tally;
use azure_table_tests::promises::Place;
use futures::future::{join, join_all};

use crate::kit::{Claim, check, claim};
use crate::systems::membership::{Membership, Silo, Status, View};

const CLUSTER: &str = "c";

/// A claim whose body has no orders and meets no faults: its clients have neither gate nor faults.
const fn certain(claim: Claim) -> Claim {
    claim.callers(1).explored(0, "1").without_faults()
}

pub(crate) const CLAIMS: [Claim; 19] = [
    claim!("a new table has version 0 and no silos, whoever creates it", init).explored(2, "2 / 40"),
    claim!("an insert adds one silo and moves the version by one", insert).explored(4, "4 / 97"),
    claim!(
        "an insert under an old version, or of a known silo, is rejected",
        insert_under_an_old_version
    )
    .explored(2, "2 / 40"),
    claim!(
        "an update under an old version is rejected",
        update_under_an_old_version
    )
    .explored(2, "2 / 36"),
    claim!(
        "an update of a silo that has changed is rejected, and changes no ETag",
        update_of_an_old_row
    )
    .explored(2, "2 / 40"),
    claim!("two silos in parallel give version 2", parallel_of_2).explored(4, "2 / 64"),
    claim!("20 silos in parallel give version 20", parallel_of_20)
        .callers(20)
        .explored(64, "100+")
        .bound(100),
    claim!("a heartbeat keeps the version, and loses no update", heartbeat).explored(2, "2 / 35"),
    claim!("a silo is read with the version of the same moment", one_silo).explored(12, "8 / 213"),
    claim!("gateways are active silos with a proxy port", gateways).explored(2, "2 / 15"),
    claim!("a cleanup leaves active silos and the version", cleanup).explored(4, "3 / 84"),
    claim!("a deleted cluster leaves others", delete).explored(3, "2 / 36"),
    certain(claim!(
        "silos sort between the boundary rows, and keep their address",
        keys
    )),
    claim!("a view of several pages is from one moment", pages::one_moment).explored(13, "16 / 1,077"),
    certain(claim!("a torn view is read again", pages::torn_once)),
    certain(claim!(
        "perpetual updates end a view with an error that has both versions",
        pages::always_torn
    )),
    certain(claim!("heartbeats tear no view", pages::heartbeats)),
    certain(claim!(
        "views beside writers of the older layout need one read",
        upgrade::one_read
    )),
    claim!("a rolling upgrade stays available", upgrade::available)
        .callers(3)
        .explored(7, "16 / 1,018"),
];

check!(CLAIMS);

fn members(place: &Place, caller: &str) -> Membership {
    Membership::new(&place.table::<DynamicEntity>(caller), CLUSTER)
}

fn behind(place: &Place) -> Membership {
    Membership::new(&place.table_behind::<DynamicEntity>(), CLUSTER)
}

fn silo(generation: u32) -> Silo {
    Silo::new(CLUSTER, "10.0.0.7", 11_111, generation)
}

/// Creates a cluster with this number of silos, of the generations from 1 on. Its version is their number.
async fn cluster(place: &Place, silos: u32) -> View {
    let members = behind(place);
    assert!(members.init().await.unwrap());
    let mut view = members.read_all().await.unwrap();
    for generation in 1..=silos {
        assert!(members.insert(&silo(generation), &view.version).await.unwrap());
        view = members.read_all().await.unwrap();
    }
    view
}

/// Counts the writes that were applied, and those that may have been.
fn tally(results: impl IntoIterator<Item = Result<bool>>) -> Tally {
    let applied = |result: Result<bool>| match result {
        Ok(false) => Err(azure_table::Error::condition_not_met("rejected")),
        Err(e) if e.kind() == ErrorKind::InvalidInput => panic!("{e}"),
        other => other,
    };
    Tally::of(results.into_iter().map(applied))
}

async fn init(place: Place) {
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    let (a, b) = join(a.init(), b.init()).await;
    if let (Ok(a), Ok(b)) = (&a, &b) {
        assert!(a ^ b, "exactly one creates it");
    }
    let mut rows: Vec<DynamicEntity> = place.table_behind().query().partition(CLUSTER).all().await.unwrap();
    // Cosmos DB returns them in the order of their insertion.
    rows.sort_by(|a, b| a.row_key.cmp(&b.row_key));
    tally([a, b]).check(rows.len() as i64 / 3);
    if !rows.is_empty() {
        let view = behind(&place).read_all().await.unwrap();
        assert_eq!((view.version.number(), view.silos.len()), (0, 0));
        let [start, _, end] = &rows[..] else { panic!("{rows:?}") };
        for bound in [start, end] {
            let stored = (bound.get("MembershipVersion"), bound.get("Status"));
            assert_eq!(stored, (Some(&0.into()), Some(&"Active".into())), "{bound:?}");
        }
    }
}

async fn insert(place: Place) {
    let before = cluster(&place, 0).await;
    let add = async |caller, generation| {
        let members = members(&place, caller);
        let view = members.read_all().await?;
        members.insert(&silo(generation), &view.version).await
    };
    let (a, b) = join(add("a", 1), add("b", 2)).await;
    let view = behind(&place).read_all().await.unwrap();
    assert_eq!(view.version.number() as usize, view.silos.len());
    if view.version.number() > 0 {
        assert_ne!(view.version, before.version);
    }
    let inserted = |generation| view.silos.iter().any(|found| found.entity == silo(generation));
    tally([a]).check(inserted(1).into());
    tally([b]).check(inserted(2).into());
}

async fn insert_under_an_old_version(place: Place) {
    let old = cluster(&place, 0).await.version;
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    let (first, second) = (silo(1), silo(2));
    let (a, b) = join(a.insert(&first, &old), b.insert(&second, &old)).await;
    if let (Ok(a), Ok(b)) = (&a, &b) {
        assert!(a ^ b, "exactly one was based on the version");
    }
    let members = behind(&place);
    let view = members.read_all().await.unwrap();
    tally([a, b]).check(view.silos.len() as i64);
    assert!(view.silos.len() < 2, "both were based on version 0");
    if let Some(known) = view.silos.first() {
        assert!(
            !members.insert(known, &old).await.unwrap(),
            "the same silo, an old version"
        );
        assert!(
            !members.insert(&silo(3), &old).await.unwrap(),
            "a new silo, an old version"
        );
        assert!(!members.insert(known, &view.version).await.unwrap(), "a known silo");
        assert_eq!(members.read_all().await.unwrap().version, view.version);
    }
}

async fn update_under_an_old_version(place: Place) {
    let old = cluster(&place, 1).await.version;
    let members = behind(&place);
    assert!(members.insert(&silo(2), &old).await.unwrap());
    let view = members.read_all().await.unwrap();
    let update = async |caller, at: usize, version| {
        let mut silo = view.silos[at].clone();
        silo.status = Status::Active;
        self::members(&place, caller).update(&silo, version).await
    };
    let (current, late) = join(update("a", 0, &view.version), update("b", 1, &old)).await;
    assert!(!matches!(late, Ok(true)), "accepted under an old version");
    let after = members.read_all().await.unwrap();
    assert_eq!(after.silos[1], view.silos[1], "changed under an old version");
    tally([current]).check((after.silos[0].status == Status::Active).into());
    assert_eq!(after.version.number() == 3, after.silos[0] != view.silos[0]);
}

async fn update_of_an_old_row(place: Place) {
    let view = cluster(&place, 1).await;
    let mut suspect = view.silos[0].clone();
    let second = |seconds| DateTime::from_unix_seconds(seconds);
    suspect.suspicions = vec![("10.0.0.8".into(), second(1)), ("10.0.0.9".into(), second(2))];
    let mut active = view.silos[0].clone();
    active.status = Status::Active;
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    let (a, b) = join(a.update(&suspect, &view.version), b.update(&active, &view.version)).await;
    let members = behind(&place);
    let after = members.read_all().await.unwrap();
    let stored = &after.silos[0];
    tally([a]).check((stored.entity == suspect.entity).into());
    tally([b]).check((stored.entity == active.entity).into());
    if stored.etag != suspect.etag {
        let rejected = [
            members.update(&suspect, &view.version).await,
            members.update(&suspect, &after.version).await,
            members.update(stored, &view.version).await,
        ];
        assert!(
            rejected.iter().all(|result| matches!(result, Ok(false))),
            "{rejected:?}"
        );
        assert_eq!(members.read_all().await.unwrap().silos, after.silos);
    }
}

async fn parallel_of_2(place: Place) {
    parallel(place, 2).await;
}

async fn parallel_of_20(place: Place) {
    parallel(place, 20).await;
}

/// All insert the same silo under version 0. Then all but one update it once, each as often as it must.
async fn parallel(place: Place, callers: usize) {
    const TRIES: usize = 60;
    let first = cluster(&place, 0).await.version;
    let callers: Vec<Membership> = (0..callers).map(|n| members(&place, &n.to_string())).collect();
    let inserted = join_all(
        callers
            .iter()
            .map(|members| async { members.insert(&silo(1), &first).await }),
    )
    .await;
    let inserts = tally(inserted);
    assert!(inserts.certain <= 1, "inserted {} times", inserts.certain);
    let update = async |members: &Membership| {
        for _ in 0..TRIES {
            let view = members.read_all().await?;
            let Some(silo) = view.silos.first() else { continue };
            if members.update(silo, &view.version).await? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let updated = join_all(callers.iter().skip(1).map(|members| async { update(members).await })).await;
    if place.recovers && updated.iter().all(Result::is_ok) && inserts.certain == 1 {
        assert!(
            updated.iter().all(|result| matches!(result, Ok(true))),
            "starved: {updated:?}"
        );
    }
    let updates = tally(updated);
    let view = behind(&place).read_all().await.unwrap();
    let number = view.version.number();
    assert_eq!(view.silos.len(), usize::from(number > 0));
    let sum = Tally {
        certain: inserts.certain + updates.certain,
        perhaps: inserts.perhaps + updates.perhaps,
    };
    sum.check(number.into());
}

async fn heartbeat(place: Place) {
    let view = cluster(&place, 1).await;
    let alive = DateTime::from_unix_seconds(1_000);
    let mut active = view.silos[0].clone();
    active.status = Status::Active;
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    let (beat, updated) = join(a.report_alive(&active, alive), b.update(&active, &view.version)).await;
    let after = behind(&place).read_all().await.unwrap();
    let stored = &after.silos[0];
    Tally::of([beat]).check((stored.i_am_alive_time == Some(alive)).into());
    let is_updated = stored.status == Status::Active;
    tally([updated]).check(is_updated.into());
    assert_eq!(after.version.number(), 1 + i32::from(is_updated));
    assert_ne!(is_updated, after.version == view.version);
}

async fn one_silo(place: Place) {
    let view = cluster(&place, 2).await;
    let mut active = view.silos[0].clone();
    active.status = Status::Active;
    let (a, b) = (members(&place, "a").page_size(1), members(&place, "b"));
    let read = async { Ok::<_, azure_table::Error>((a.read(&active).await?, a.read(&silo(9)).await?)) };
    let (read, _) = join(read, b.update(&active, &view.version)).await;
    if let Ok((one, none)) = read {
        let [silo] = &one.silos[..] else { panic!("{one:?}") };
        assert_eq!(
            silo.status == Status::Active,
            one.version.number() == 3,
            "torn: {one:?}"
        );
        assert!(none.silos.is_empty() && none.version.number() >= one.version.number());
    }
}

async fn gateways(place: Place) {
    let members = behind(&place);
    let mut view = cluster(&place, 4).await;
    for (at, (status, proxy_port)) in [
        (Status::Joining, 30_000),
        (Status::Active, 0),
        (Status::Active, 30_000),
        (Status::Active, 30_000),
    ]
    .into_iter()
    .enumerate()
    {
        (view.silos[at].status, view.silos[at].proxy_port) = (status, proxy_port);
        assert!(members.update(&view.silos[at], &view.version).await.unwrap());
        view = members.read_all().await.unwrap();
    }
    let mut dead = view.silos[3].clone();
    dead.status = Status::Dead;
    let (a, b) = (self::members(&place, "a"), self::members(&place, "b"));
    let (found, _) = join(a.gateways(), b.update(&dead, &view.version)).await;
    if let Ok(found) = found {
        let generations: Vec<u32> = found.iter().map(|silo| silo.generation).collect();
        assert!([&[3, 4][..], &[3]].contains(&&generations[..]), "{generations:?}");
    }
}

async fn cleanup(place: Place) {
    let members = behind(&place);
    let mut view = cluster(&place, 6).await;
    let statuses = [
        Status::Created,
        Status::Joining,
        Status::Active,
        Status::ShuttingDown,
        Status::Stopping,
    ];
    for (at, status) in statuses.into_iter().enumerate() {
        view.silos[at].status = status;
        assert!(members.update(&view.silos[at], &view.version).await.unwrap());
        view = members.read_all().await.unwrap();
    }
    match members.remove_defunct(DateTime::from_unix_seconds(0)).await {
        Ok(removed) => assert_eq!(removed, 0, "all are newer"),
        Err(e) => {
            let is_cosmos = place.behind().profile() == Profile::Cosmos;
            assert!(is_cosmos && e.kind() == ErrorKind::Unsupported, "{e}");
            return;
        }
    }
    let (a, b) = (self::members(&place, "a"), self::members(&place, "b"));
    let later = DateTime::from_unix_seconds(4_000_000_000);
    let (removed, beat) = join(a.remove_defunct(later), b.report_alive(&view.silos[0], later)).await;
    let after = members.read_all().await.unwrap();
    assert_eq!(after.version, view.version);
    assert!(after.silos.contains(&view.silos[2]), "an active silo was deleted");
    let gone = 6 - after.silos.len() as u64;
    assert!(gone <= 5, "more than the defunct ones");
    if let Ok(removed) = removed {
        // The heartbeat may keep one, and a lost response may hide one that is gone.
        assert!((4..=5).contains(&gone) && removed <= gone, "{removed} of {gone}");
        let is_kept = after.silos[0].generation == 1;
        assert!(!is_kept || after.silos[0].i_am_alive_time == Some(later), "{beat:?}");
    }
    let bounds = place.table_behind::<DynamicEntity>();
    for bound in ["!Start", "~End"] {
        assert!(bounds.exists((CLUSTER, bound)).await.unwrap(), "{bound} was deleted");
    }
}

async fn delete(place: Place) {
    cluster(&place, 2).await;
    let other = Membership::new(&place.table_behind::<DynamicEntity>(), "other");
    assert!(other.init().await.unwrap());
    let (a, b) = (members(&place, "a"), members(&place, "b"));
    let (a, _) = join(a.delete(), b.read_all()).await;
    match a {
        Ok(deleted) => {
            // A lost response may hide rows that are gone.
            assert!(deleted == 5 || (deleted < 5 && !place.is_faultless), "{deleted} rows");
            let rows = place.table_behind::<DynamicEntity>().query().partition(CLUSTER);
            assert_eq!(rows.count().await.unwrap(), 0);
            let error = behind(&place).read_all().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        Err(e) => assert!(!place.retries_succeed, "{e}"),
    }
    assert_eq!(other.read_all().await.unwrap().version.number(), 0);
}

async fn keys(place: Place) {
    let mut view = cluster(&place, 0).await;
    let members = behind(&place);
    for address in ["127.0.0.1", "::1", "fe80::1", "255.255.255.255"] {
        let silo = Silo::new(CLUSTER, address, u16::MAX, u32::MAX);
        let key = Key::of(&silo).unwrap();
        assert!("!Start" < key.row_key() && key.row_key() < "~End", "{key}");
        assert!(members.insert(&silo, &view.version).await.unwrap());
        view = members.read_all().await.unwrap();
        assert_eq!(members.read(&silo).await.unwrap().silos[0].entity, silo);
    }
    assert_eq!(view.silos.len(), 4);
    let stray = Silo::new("other", "127.0.0.1", 1, 1);
    let error = members.insert(&stray, &view.version).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

/// The column "requests" of the module's page.
#[tokio::test]
async fn calls_have_the_documented_cost() -> Result<()> {
    let spy = Spy::new(Emulator::new());
    let table = TableServiceClient::from_transport(spy.clone()).dynamic_table("Silos")?;
    table.create_table().await?;
    let cost = || {
        let requests = spy.requests();
        spy.clear();
        requests
    };
    cost();
    let members = Membership::new(&table, CLUSTER);
    assert!(members.init().await?);
    assert_eq!(cost(), 1, "init");
    let mut view = members.read_all().await?;
    assert_eq!(cost(), 1, "read_all");
    assert!(members.insert(&silo(1), &view.version).await?);
    assert_eq!(cost(), 1, "insert");
    view = members.read(&silo(1)).await?;
    assert_eq!(cost(), 1, "read");
    assert!(members.update(&view.silos[0], &view.version).await?);
    assert_eq!(cost(), 1, "update");
    members.report_alive(&silo(1), DateTime::from_unix_seconds(0)).await?;
    assert_eq!(cost(), 1, "report_alive");
    members.clone().page_size(2).read_all().await?;
    assert_eq!(cost(), 2, "read_all, 4 rows in pages of 2");
    members.gateways().await?;
    assert_eq!(cost(), 1, "gateways");
    assert_eq!(
        members
            .remove_defunct(DateTime::from_unix_seconds(4_000_000_000))
            .await?,
        1
    );
    assert_eq!(cost(), 2, "remove_defunct");
    assert_eq!(members.delete().await?, 3);
    assert_eq!(cost(), 2, "delete");
    Ok(())
}
