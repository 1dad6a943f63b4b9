//! Writers of the older layout: they know the version row, and no boundary rows.

use azure_table::{DynamicEntity, EdmValue, ErrorKind, Result, TableClient};
use azure_table_tests::promises::Place;
use futures::future::join3;

use super::{CLUSTER, behind, cluster, members, silo, tally};
use crate::interruption::interrupted;
use crate::systems::membership::{Membership, Status};

/// The silo of a generation and the version row, as an older writer reads them.
async fn read(table: &TableClient, generation: u32) -> [DynamicEntity; 2] {
    let row_key = azure_table::Key::of(&silo(generation)).unwrap().row_key().to_owned();
    let silo = table.get((CLUSTER, row_key)).await.unwrap().unwrap();
    [silo, table.get((CLUSTER, "VersionRow")).await.unwrap().unwrap()]
}

/// Activates the silo and moves the version, both under the ETags that were read.
async fn update(table: &TableClient, [mut silo, mut version]: [DynamicEntity; 2]) -> Result<bool> {
    let Some(EdmValue::Int32(number)) = version.get("MembershipVersion").cloned() else {
        panic!("{version:?}")
    };
    version.insert("MembershipVersion", number + 1);
    silo.insert("Status", "Active");
    let mut batch = table.batch();
    batch.replace(&silo)?.replace(&version)?;
    match batch.submit().await {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::ConditionNotMet => Ok(false),
        Err(e) => Err(e),
    }
}

/// Three states of an upgrade, each with an update of an older writer between two pages.
pub(super) async fn one_read(place: Place) {
    let behind_table: TableClient = place.table_behind();
    cluster(&place, 2).await;

    // The version is ahead of both boundary rows, which differ: a newer writer came first.
    let (writer, table) = (behind(&place), behind_table.clone());
    let (between, reads) = interrupted(&place, move |_| {
        let (writer, table) = (writer.clone(), table.clone());
        Box::pin(async move {
            let view = writer.read_all().await.unwrap();
            if view.version.number() == 2 {
                assert!(writer.update(&view.silos[0], &view.version).await.unwrap());
                assert!(update(&table, read(&table, 2).await).await.unwrap());
            }
        })
    });
    let view = Membership::new(&between, CLUSTER)
        .page_size(3)
        .read_all()
        .await
        .unwrap();
    assert_eq!((view.version.number(), reads.number()), (4, 1));

    // The boundary rows are equal, and older than the version.
    let view = Membership::new(&between, CLUSTER)
        .page_size(3)
        .read_all()
        .await
        .unwrap();
    assert_eq!((view.version.number(), reads.number()), (4, 2));

    // The partition has no boundary rows.
    for bound in ["!Start", "~End"] {
        behind_table.delete((CLUSTER, bound)).await.unwrap();
    }
    let table = behind_table.clone();
    let (between, reads) = interrupted(&place, move |_| {
        let table = table.clone();
        Box::pin(async move {
            assert!(update(&table, read(&table, 1).await).await.unwrap());
        })
    });
    let view = Membership::new(&between, CLUSTER)
        .page_size(2)
        .read_all()
        .await
        .unwrap();
    assert_eq!((view.silos.len(), reads.number()), (2, 1));

    // The next update of a newer writer brings them.
    let writer = behind(&place);
    let view = writer.read_all().await.unwrap();
    assert!(writer.update(&view.silos[0], &view.version).await.unwrap());
    assert!(behind_table.exists((CLUSTER, "!Start")).await.unwrap());
}

/// An older writer, a newer one, and a reader of several pages.
pub(super) async fn available(place: Place) {
    let view = cluster(&place, 2).await;
    let table: TableClient = place.table_behind();
    for bound in ["!Start", "~End"] {
        table.delete((CLUSTER, bound)).await.unwrap();
    }
    let rows = read(&table, 1).await;
    let mut second = view.silos[1].clone();
    second.status = Status::Active;
    let old = place.table("old");
    let (new, reader) = (members(&place, "new"), members(&place, "reader").page_size(2));
    let (old, new, read) = join3(
        update(&old, rows),
        new.update(&second, &view.version),
        reader.read_all(),
    )
    .await;
    match read {
        Ok(view) => assert!(
            view.silos.len() == 2 && (2..=3).contains(&view.version.number()),
            "{view:?}"
        ),
        Err(e) => assert_ne!(e.kind(), ErrorKind::ConditionNotMet, "unavailable: {e}"),
    }
    let after = behind(&place).read_all().await.unwrap();
    let active = |at: usize| i64::from(after.silos[at].status == Status::Active);
    tally([new]).check(active(1));
    // The rows of an older writer have a write id only if a newer one wrote them before, so it may report a false
    // conflict.
    if !matches!(old, Ok(false)) {
        tally([old]).check(active(0));
    }
    assert_eq!(i64::from(after.version.number()), 2 + active(0) + active(1));
    assert!(after.version.number() <= 3, "both were based on version 2");
}
