//! Views of several pages, and what may happen between two of them.

use azure_table::transport::BoxFuture;
use azure_table::{DateTime, ErrorKind, Result};
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{CLUSTER, behind, cluster, members, silo};
use crate::interruption::interrupted;
use crate::systems::membership::{Membership, Status};

/// A writer makes one silo active, then the other. No view has the second without the first.
pub(super) async fn one_moment(place: Place) {
    let view = cluster(&place, 2).await;
    let write = async {
        let members = members(&place, "a");
        let mut view = view.clone();
        for at in 0..2 {
            view.silos[at].status = Status::Active;
            members.update(&view.silos[at], &view.version).await?;
            view = members.read_all().await?;
        }
        Result::<()>::Ok(())
    };
    let (_, read) = join(write, members(&place, "b").page_size(2).read_all()).await;
    if let Ok(view) = read {
        let active = |at: usize| view.silos[at].status == Status::Active;
        let expected = match view.version.number() {
            2 => (false, false),
            3 => (true, false),
            4 => (true, true),
            other => panic!("version {other}"),
        };
        assert_eq!(
            (active(0), active(1)),
            expected,
            "torn at version {}",
            view.version.number()
        );
    }
}

/// Updates the first silo, as it is stored now.
async fn update(members: Membership) {
    let mut view = members.read_all().await.unwrap();
    view.silos[0].status = Status::Active;
    assert!(members.update(&view.silos[0], &view.version).await.unwrap());
}

pub(super) async fn torn_once(place: Place) {
    cluster(&place, 2).await;
    let writer = behind(&place);
    let (table, reads) = interrupted(&place, move |read| -> BoxFuture<'static, ()> {
        let writer = writer.clone();
        Box::pin(async move {
            if read == 1 {
                update(writer).await;
            }
        })
    });
    let view = Membership::new(&table, CLUSTER).page_size(3).read_all().await.unwrap();
    assert_eq!((view.version.number(), reads.number()), (3, 2));
    assert_eq!(view.silos[0].status, Status::Active, "from the second read");
}

pub(super) async fn always_torn(place: Place) {
    cluster(&place, 2).await;
    let writer = behind(&place);
    let (table, reads) = interrupted(&place, move |_| Box::pin(update(writer.clone())));
    let error = Membership::new(&table, CLUSTER)
        .page_size(3)
        .read_all()
        .await
        .unwrap_err();
    assert_eq!((error.kind(), reads.number()), (ErrorKind::Contention, 5));
    assert!(error.to_string().contains("the last from version 6 to 7"), "{error}");
}

pub(super) async fn heartbeats(place: Place) {
    let before = cluster(&place, 2).await;
    let writer = behind(&place);
    let (table, reads) = interrupted(&place, move |_| {
        let writer = writer.clone();
        Box::pin(async move {
            let now = DateTime::from_unix_seconds(1_000);
            writer.report_alive(&silo(2), now).await.unwrap();
        })
    });
    let view = Membership::new(&table, CLUSTER).page_size(2).read_all().await.unwrap();
    assert_eq!(reads.number(), 1);
    assert_eq!(view.version, before.version);
    assert_eq!(view.silos[0], before.silos[0]);
    assert_ne!(view.silos[1].etag, before.silos[1].etag);
}
