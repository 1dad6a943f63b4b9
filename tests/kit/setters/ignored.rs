//! Setters that a call would ignore: it is refused before any I/O, and the error names the setter.

use std::time::Duration;

use azure_table::testing::Spy;
use azure_table::{CallOptions, Emulator, Error, ErrorKind, LocationMode, TableClient, TableServiceClient};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::world::Thing;

fn change(thing: &mut Thing) {
    thing.count += 1;
}

/// Lists calls with a setter each, which its write over a query as one transaction ignores.
macro_rules! transactions {
    ($calls:ident, $position:ident, $($write:expr),+) => {$(
        $calls.push(("concurrency", async { $write.concurrency(4).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("partition_concurrency", async { $write.partition_concurrency(1).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("max_failures", async { $write.max_failures(0).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("max_rate", async { $write.max_rate(9).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("on_progress", async { $write.on_progress(|_| ()).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("resume_from", async { $write.resume_from($position.clone()).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("concurrency", async { $write.max_rate(9).concurrency(4).atomic().await.unwrap_err() }.boxed_local()));
        $calls.push(("concurrency", async { $write.concurrency(4).max_rate(9).atomic().await.unwrap_err() }.boxed_local()));
    )+};
}

#[azure_table::test]
async fn setter_that_a_call_ignores_is_refused_before_any_request() {
    let spy = Spy::new(Emulator::new());
    let service = TableServiceClient::from_transport(spy.clone());
    let things: TableClient<Thing> = service.table("Things").unwrap();
    let query = || things.query().partition("a");
    let ahead = || query().prefetch(1);
    let far = CallOptions::new().location_mode(LocationMode::SecondaryOnly);
    let both = far.clone().via_batch();
    let (far_things, batched_things) = (things.with(&far), things.with(&CallOptions::new().via_batch()));
    let position = things.delete_where(ahead()).await.unwrap_err().position();
    let mut calls: Vec<(&str, LocalBoxFuture<'_, Error>)> = vec![
        (
            "prefetch",
            async { ahead().fan_out().all().await.unwrap_err() }.boxed_local(),
        ),
        (
            "prefetch",
            async { ahead().fan_out().count().await.unwrap_err() }.boxed_local(),
        ),
        (
            "prefetch",
            async { ahead().scan().count().await.unwrap_err() }.boxed_local(),
        ),
        (
            "prefetch",
            async { ahead().scan().stream().try_next().await.unwrap_err() }.boxed_local(),
        ),
        (
            "prefetch",
            async { things.delete_where(ahead()).await.unwrap_err().into_error() }.boxed_local(),
        ),
        (
            "prefetch",
            async { things.update_where(ahead(), change).atomic().await.unwrap_err() }.boxed_local(),
        ),
        (
            "via_batch",
            async { things.get(("a", "1")).with(&both).await.unwrap_err() }.boxed_local(),
        ),
        (
            "via_batch",
            async { things.exists(("a", "1")).with(&both).await.unwrap_err() }.boxed_local(),
        ),
        (
            "via_batch",
            async { things.get_many([("a", "1")]).with(&both).all().await.unwrap_err() }.boxed_local(),
        ),
        (
            "via_batch",
            async { far_things.get(("a", "1")).with(&both).await.unwrap_err() }.boxed_local(),
        ),
        (
            "location_mode",
            async { batched_things.get(("a", "1")).with(&far).await.unwrap_err() }.boxed_local(),
        ),
    ];
    transactions!(
        calls,
        position,
        things.delete_where(query()),
        things.patch_where(query(), [Thing::COUNT.set(1)]),
        things.update_where(query(), change),
        things.upgrade_where(query())
    );
    for (setter, call) in calls {
        let error = call.await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(&format!("`{setter}`")), "{setter}: {error}");
    }
    assert_eq!(spy.requests(), 0);
}

/// Where the call has no use for a setter of its client, it runs.
#[azure_table::test]
async fn setter_of_a_client_applies_to_its_other_calls(service: TableServiceClient) {
    let options = CallOptions::new()
        .location_mode(LocationMode::SecondaryOnly)
        .via_batch();
    let things: TableClient<Thing> = service
        .with(&options.timeout(Duration::from_secs(60)))
        .table("Things")
        .unwrap();
    things.create_table().await.unwrap();
    let thing = Thing {
        shelf: "a".into(),
        id: "1".into(),
        count: 1,
    };
    things.insert(&thing).await.unwrap();
    // Depends on the primary in any mode.
    assert_eq!(things.modify(("a", "1"), change).await.unwrap().count, 2);
    assert_eq!(things.query().all().await.unwrap().len(), 1);
    assert_eq!(
        things
            .query()
            .partition("a")
            .prefetch(0)
            .fan_out()
            .count()
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        things.delete_where(things.query().prefetch(0)).await.unwrap().applied(),
        1
    );
}
