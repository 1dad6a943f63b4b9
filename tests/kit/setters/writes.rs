//! Builders that write.

use std::fmt::Debug;
use std::time::Duration;

use azure_table::bulk::{BulkWrite, DeleteWhere, Interrupted, PatchWhere, UpdateWhere, UpgradeWhere, WriteReport};
use azure_table::operation::{Call, Conditional, ModifyEntity, RecreateTable};
use azure_table::{Bulk, CallOptions, DateTime, ETag, Error, Result, TableOperation, Versioned};
use futures::Stream;

use super::builder::{Builder, Line, Setter, Thing, World, set, unseen};
use super::queries::result;

const SHORT: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(9);

fn own() -> CallOptions {
    CallOptions::new().header("x-own", "1")
}

fn new_things() -> impl Iterator<Item = Thing> + Clone + Send {
    let shelves = ["m", "n"].into_iter();
    shelves.flat_map(|shelf| {
        (0..7).map(move |id| Thing {
            shelf: shelf.into(),
            id: id.to_string(),
            count: id,
        })
    })
}

pub(super) fn lines() -> Vec<Box<dyn Line>> {
    let bulk = |world: &World| world.things.bulk();
    vec![
        Builder::of("Call", replaced, call(), async |it, _| result(it.await)),
        Builder::of("ModifyEntity", modified, modify(), async |it, _| result(it.await)),
        Builder::of(
            "RecreateTable",
            |world| world.things.recreate_table(Duration::from_secs(60)),
            recreate(),
            async |it, _| result(it.await),
        ),
        Builder::changing(
            "Bulk",
            bulk,
            (settings(), |it| it.insert_or_replace(new_things()), written()),
            async |it, world| ended(it.await, &world),
        ),
        Builder::of(
            "BulkWrite",
            |world| world.things.bulk().insert_or_replace(new_things()),
            written(),
            async |it, world| ended(it.await, &world),
        ),
        Builder::of(
            "DeleteWhere",
            |world| world.things.delete_where(world.good().page_size(10)),
            delete_where(),
            async |it, world| written_where(it.await, &world),
        ),
        Builder::of(
            "PatchWhere",
            |world| {
                world
                    .things
                    .patch_where(world.good().page_size(10), [Thing::COUNT.set(1)])
            },
            patch_where(),
            async |it, world| written_where(it.await, &world),
        ),
        Builder::of(
            "UpdateWhere",
            |world| {
                world
                    .things
                    .update_where(world.good().page_size(10), clear as fn(&mut Thing))
            },
            update_where(),
            async |it, world| written_where(it.await, &world),
        ),
        Builder::of(
            "UpgradeWhere",
            |world| world.things.upgrade_where(world.good().page_size(10)),
            upgrade_where(),
            async |it, world| written_where(it.await, &world),
        ),
    ]
}

fn clear(thing: &mut Thing) {
    thing.count = 0;
}

fn replaced(world: &World) -> Call<ETag, Conditional> {
    let entity = Thing {
        shelf: "a".into(),
        id: "101".into(),
        count: 1,
    };
    let (etag, timestamp) = (ETag::new("W/\"old\""), DateTime::MIN);
    world.things.replace(&Versioned {
        entity,
        etag,
        timestamp,
    })
}

fn modified(world: &World) -> ModifyEntity<Thing, fn(&mut Thing), ()> {
    world.things.modify(("a", "101"), clear as fn(&mut Thing))
}

#[rustfmt::skip] // a line each
fn call() -> Vec<Setter<Call<ETag, Conditional>>> {
    vec![
        set("if_match", |it: Call<ETag, Conditional>, _| it.if_match(ETag::new("W/\"own\"")), |seen| seen.contains("if-match: W/\"own\"")).one_of("condition"),
        set("unconditionally", |it: Call<ETag, Conditional>, _| it.unconditionally(), |seen| seen.contains("if-match: *")).one_of("condition"),
        set("with", |it: Call<ETag, Conditional>, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Call<ETag, Conditional>, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
    ]
}

type Modify = ModifyEntity<Thing, fn(&mut Thing), ()>;

#[rustfmt::skip] // a line each
fn modify() -> Vec<Setter<Modify>> {
    vec![
        unseen("max_conflicts", |it: Modify, _| it.max_conflicts(3)),
        set("with", |it: Modify, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Modify, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
    ]
}

#[rustfmt::skip] // a line each
fn recreate() -> Vec<Setter<RecreateTable>> {
    vec![
        set("on_progress", |it: RecreateTable, world| it.on_progress({ let note = world.noted("progress was made"); move |progress| note(&progress) }), |seen| seen.contains("progress was made")),
        set("with", |it: RecreateTable, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        unseen("timeout", |it: RecreateTable, _| it.timeout(Duration::from_secs(70))),
    ]
}

/// The setters of a bulk, before and after its source.
macro_rules! bulk_setters {
    ($of:ty) => {
        vec![
            set(
                "batch_size",
                |it: $of, _| it.batch_size(3),
                |seen| seen.contains("sizes [1, 1, 3, 3, 3, 3]"),
            ),
            unseen("batch_bytes", |it: $of, _| it.batch_bytes(100_000)),
            set(
                "concurrency",
                |it: $of, _| it.concurrency(1),
                |seen| seen.contains("after 75ms\nSlow"),
            ),
            unseen("partition_concurrency", |it: $of, _| it.partition_concurrency(1)),
            unseen("max_rate", |it: $of, _| it.max_rate(1_000_000)),
            unseen("max_pending", |it: $of, _| it.max_pending(1_000)),
            unseen("max_failures", |it: $of, _| it.max_failures(7)),
            unseen("fail_whole_batches", |it: $of, _| it.fail_whole_batches()),
            set(
                "on_progress",
                |it: $of, world| {
                    it.on_progress({
                        let note = world.noted("progress was made");
                        move |report| note(report)
                    })
                },
                |seen| seen.contains("progress was made"),
            ),
            set(
                "with",
                |it: $of, _| it.with(&own()),
                |seen| seen.contains("x-own: (hidden)"),
            ),
            set(
                "timeout",
                |it: $of, _| it.timeout(SHORT),
                |seen| seen.contains("`timeout` of 7s"),
            ),
            set(
                "total_timeout",
                |it: $of, _| it.total_timeout(TOTAL),
                |seen| seen.contains("`total_timeout` of 9s"),
            ),
        ]
    };
}

#[rustfmt::skip] // a line each
fn settings() -> Vec<Setter<Bulk<Thing>>> {
    bulk_setters!(Bulk<Thing>)
}

#[rustfmt::skip] // a line each
fn written<S: Stream<Item = Result<TableOperation>> + Send + 'static>() -> Vec<Setter<BulkWrite<'static, S, Error>>> {
    bulk_setters!(BulkWrite<'static, S, Error>)
}

/// The setters of the writes over a query.
macro_rules! where_setters {
    ($name:ident, $of:ty $(, $own:expr)*) => {
        #[rustfmt::skip] // a line each
        fn $name() -> Vec<Setter<$of>> {
            vec![
                unseen("concurrency", |it: $of, _| it.concurrency(4)),
                unseen("partition_concurrency", |it: $of, _| it.partition_concurrency(1)),
                unseen("max_failures", |it: $of, _| it.max_failures(7)),
                unseen("max_rate", |it: $of, _| it.max_rate(1_000_000)),
                set("on_progress", |it: $of, world| it.on_progress({ let note = world.noted("progress was made"); move |progress| note(progress) }), |seen| seen.contains("progress was made")),
                set("with", |it: $of, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
                set("timeout", |it: $of, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
                set("total_timeout", |it: $of, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
                $($own,)*
            ]
        }
    };
}
where_setters!(delete_where, DeleteWhere<'static, Thing>);
where_setters!(patch_where, PatchWhere<'static, Thing>);
where_setters!(
    update_where,
    UpdateWhere<'static, Thing, Thing, fn(&mut Thing), ()>,
    unseen(
        "repeatable",
        |it: UpdateWhere<'static, Thing, Thing, fn(&mut Thing), ()>, _| it.repeatable()
    )
);
where_setters!(
    upgrade_where,
    UpgradeWhere<'static, Thing>,
    unseen("drop_unknown", |it: UpgradeWhere<'static, Thing>, _| it.drop_unknown())
);

/// Returns the sizes of the batches, and the result.
fn ended<T: Debug, R: Debug>(ended: std::result::Result<T, Interrupted<R>>, world: &World) -> String {
    let exchanges = world.spy.exchanges();
    let mut sizes: Vec<usize> = exchanges
        .iter()
        .map(|it| it.body().matches("HTTP/1.1\r\n").count().max(1))
        .collect();
    sizes.sort_unstable();
    format!(
        "sizes {sizes:?}\n{}",
        ended.map_or_else(|interrupted| interrupted.to_string(), |report| format!("{report:?}"))
    )
}

fn written_where<E: Debug>(
    done: std::result::Result<WriteReport<E>, Interrupted<WriteReport<E>>>,
    world: &World,
) -> String {
    ended(done, world)
}
