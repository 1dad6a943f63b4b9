//! Builders that write.

use std::fmt::Debug;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::bulk::{BulkWrite, DeleteWhere, Interrupted, PatchWhere, UpdateWhere, UpgradeWhere, WriteReport};
use azure_table::operation::{Call, Conditional, ModifyEntity, OperationKind, RecreateTable};
use azure_table::testing::{FaultRule, ResponseTemplate};
use azure_table::{Bulk, CallOptions, DateTime, ETag, Error, Result, TableOperation, Versioned};
use futures::Stream;

use super::builder::{Builder, Change, Line, Setter, change, set, unseen_here};
use super::queries::result;
use super::world::{Thing, World};

const SHORT: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(9);

fn own() -> CallOptions {
    CallOptions::new().header("x-own", "1")
}

/// Returns six things of one shelf, then six of each of three in turn, and counts those that are taken.
fn new_things(world: &World) -> impl Iterator<Item = Thing> + Send + use<> {
    let read = Arc::clone(&world.read);
    let first = (0..6).map(|id| ("m", id));
    let others = (0..6).flat_map(|id| ["n", "o", "p"].map(move |shelf| (shelf, id)));
    first.chain(others).map(move |(shelf, id)| {
        read.fetch_add(1, Ordering::Relaxed);
        Thing {
            shelf: shelf.into(),
            id: id.to_string(),
            count: id,
        }
    })
}

/// Returns six large things, of which two are stored already.
fn stored_things(world: &World) -> impl Iterator<Item = Thing> + Send + use<> {
    let things = ["f", "g"].into_iter().flat_map(|shelf| {
        (0..3).map(move |id| Thing {
            shelf: shelf.into(),
            id: format!("{id}{}", "-".repeat(900)),
            count: id,
        })
    });
    let stored: Vec<Thing> = things.clone().filter(|thing| thing.count == 1).collect();
    azure_table::emulator::SeedEntities::seed(&world.emulator, "Things", stored).unwrap();
    things
}

/// Setters without an effect on a few large things.
const OF_FLOW: [&str; 5] = [
    "batch_size",
    "concurrency",
    "partition_concurrency",
    "max_rate",
    "max_pending",
];
/// Setters without an effect on things that are stored without a failure.
const OF_FAILURES: [&str; 3] = ["batch_bytes", "max_failures", "fail_whole_batches"];

/// Setters without an effect on a few rows.
const OF_MANY_ROWS: [&str; 6] = [
    "concurrency",
    "partition_concurrency",
    "max_failures",
    "max_rate",
    "repeatable",
    "drop_unknown",
];

/// Adds the lines of a write over a query. The first writes two rows under outdated ETags. The second resumes a run that
/// ended after `$done` of 20 rows, with smaller pages.
macro_rules! where_lines {
    ($lines:ident, $name:literal, $setters:ident, $done:literal, |$table:ident, $query:ident| $new:expr) => {
        $lines.push(Builder::of(
            $name,
            |world| {
                let $table = world.many();
                let $query = $table.query().allow_table_scan();
                $new
            },
            {
                let mut setters = $setters();
                setters.retain(|setter| setter.name() != "resume_from");
                setters
            },
            async |it, world| written_where(it.await, &world),
        ));
        $lines.push(Builder::resuming(
            $name,
            |world| {
                let $table = world.few();
                let page = if world.is_resumed() { 3 } else { 15 };
                let $query = $table.query().allow_table_scan().page_size(page);
                $new
            },
            unseen_here(&OF_MANY_ROWS, $setters()),
            async |it, world| written_where(it.await, &world),
            async |world| {
                let $table = world.few();
                let $query = $table.query().allow_table_scan().page_size(15);
                let found = Arc::<Mutex<String>>::default();
                let note = Arc::clone(&found);
                let run = $new.concurrency(1).on_progress(move |report| {
                    let mut found = note.lock().unwrap();
                    // The rows of a delete are gone: its position shows at the end of a page.
                    if report.applied() == $done && (found.is_empty() || $done == 15) {
                        *found = report.position().unwrap().to_string();
                    }
                });
                let _ = run.await.unwrap();
                found.lock().unwrap().clone()
            },
        ));
    };
}

pub(super) fn lines() -> Vec<Box<dyn Line>> {
    let bulk = |world: &World| world.things.bulk();
    let mut lines = vec![
        Builder::of("Call", replaced, call(), async |it, _| result(it.await)),
        Builder::of("ModifyEntity", overtaken, modify(), async |it, _| result(it.await)),
        Builder::changing(
            "ModifyEntity",
            missing,
            (
                modify(),
                change(
                    "or_insert",
                    |it: Modify| it.or_insert(new_thing as fn() -> Thing),
                    |seen| seen.contains("POST"),
                ),
                modify(),
            ),
            async |it, _| result(it.await),
        ),
        Builder::of(
            "RecreateTable",
            |world| {
                let things = world.things.with(&CallOptions::new().timeout(Duration::from_secs(3)));
                things.recreate_table(Duration::from_secs(60))
            },
            recreate(),
            async |it, _| result(it.await),
        ),
        Builder::changing(
            "BulkWrite",
            bulk,
            (
                unseen_here(&OF_FAILURES, settings()),
                Change {
                    name: "",
                    set: Box::new(|it: Bulk<Thing>, world: &World| it.insert_or_replace(new_things(world))),
                    shows: |_| true,
                },
                unseen_here(&OF_FAILURES, written()),
            ),
            async |it, world| ended(it.await, &world),
        ),
        Builder::of(
            "BulkWrite",
            |world| world.things.bulk().insert(stored_things(world)),
            unseen_here(&OF_FLOW, written()),
            async |it, world| ended(it.await, &world),
        ),
        Builder::of(
            "Bulk",
            bulk,
            unseen_here(&OF_FAILURES, settings()),
            async |it, world| ended(it.insert_or_replace(new_things(&world)).await, &world),
        ),
        Builder::of("Bulk", bulk, unseen_here(&OF_FLOW, settings()), async |it, world| {
            ended(it.insert(stored_things(&world)).await, &world)
        }),
    ];
    where_lines!(lines, "DeleteWhere", delete_where, 15, |table, query| table
        .delete_where(query));
    where_lines!(lines, "PatchWhere", patch_where, 10, |table, query| table
        .patch_where(query, [Thing::COUNT.set(0)]));
    where_lines!(lines, "UpdateWhere", update_where, 10, |table, query| table
        .update_where(query, clear as fn(&mut Thing)));
    where_lines!(lines, "UpgradeWhere", upgrade_where, 10, |table, query| table
        .upgrade_where(query));
    lines
}

fn clear(thing: &mut Thing) {
    thing.count = 0;
}

fn new_thing() -> Thing {
    Thing {
        shelf: "a".into(),
        id: "999".into(),
        count: 1,
    }
}

fn replaced(world: &World) -> Call<ETag, Conditional> {
    let (entity, etag, timestamp) = (new_thing(), ETag::new("W/\"old\""), DateTime::MIN);
    world.things.replace(&Versioned {
        entity,
        etag,
        timestamp,
    })
}

type Modify = ModifyEntity<Thing, fn(&mut Thing), ()>;

/// Changes an entity that other writers change all the time.
fn overtaken(world: &World) -> Modify {
    let conflict = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    world.faults.add(FaultRule::new(conflict).on(OperationKind::Replace));
    world.things.modify(("a", "101"), clear as fn(&mut Thing))
}

/// Changes an entity that is missing whenever it is read, and that other writers insert all the time.
fn missing(world: &World) -> Modify {
    let conflict = ResponseTemplate::new(409).code("EntityAlreadyExists");
    world.faults.add(FaultRule::new(conflict).on(OperationKind::Insert));
    world.things.modify(("a", "999"), clear as fn(&mut Thing))
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

#[rustfmt::skip] // a line each
fn modify() -> Vec<Setter<Modify>> {
    vec![
        set("max_conflicts", |it: Modify, _| it.max_conflicts(3), |seen| seen.contains("4 conflicting writes, more than the limit of 3")),
        set("with", |it: Modify, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: Modify, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
    ]
}

#[rustfmt::skip] // a line each
fn recreate() -> Vec<Setter<RecreateTable>> {
    vec![
        set("on_progress", |it: RecreateTable, world| it.on_progress({ let note = world.noted("progress was made"); move |progress| note(&progress) }), |seen| seen.contains("progress was made")),
        set("with", |it: RecreateTable, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
        set("timeout", |it: RecreateTable, _| it.timeout(Duration::from_secs(70)), |seen| !seen.contains("?timeout=3")),
    ]
}

/// The setters of a bulk, before and after its source.
macro_rules! bulk_setters {
    ($of:ty) => {
        vec![
            set(
                "batch_size",
                |it: $of, _| it.batch_size(3),
                |seen| {
                    [4, 5, 6]
                        .iter()
                        .all(|size| !prompt(seen).contains(&format!(" {size}]")))
                },
            ),
            set(
                "batch_bytes",
                |it: $of, _| it.batch_bytes(4_000),
                |seen| prompt(seen).contains("sizes [1, 1, 2, 2]"),
            ),
            set(
                "concurrency",
                |it: $of, _| it.concurrency(3),
                |seen| !seen.contains("at most 4 in flight"),
            ),
            set(
                "partition_concurrency",
                |it: $of, _| it.partition_concurrency(1),
                |seen| !seen.contains(", 2 of one partition"),
            ),
            set(
                "max_rate",
                |it: $of, _| it.max_rate(50),
                |seen| millis(prompt(seen)) > 200,
            ),
            set(
                "max_pending",
                |it: $of, _| it.max_pending(4),
                |seen| !prompt(seen).contains("sizes [3, 3, 3, 3, 3, 3, 3, 3]"),
            ),
            set(
                "max_failures",
                |it: $of, _| it.max_failures(1),
                |seen| seen.contains("`.max_failures(..)` allows 1"),
            ),
            set(
                "fail_whole_batches",
                |it: $of, _| it.fail_whole_batches(),
                |seen| prompt(seen).contains("rejected: 4"),
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
    type Write<S> = BulkWrite<'static, S, Error>;
    let mut setters = bulk_setters!(Write<S>);
    setters.push(set("on_progress", |it: Write<S>, world| it.on_progress({ let note = world.noted("progress was made"); move |report| note(report) }), |seen| seen.contains("progress was made")));
    setters
}

/// The setters of the writes over a query.
macro_rules! where_setters {
    ($name:ident, $of:ty, $left:literal $(, $own:expr)*) => {
        #[rustfmt::skip] // a line each
        fn $name() -> Vec<Setter<$of>> {
            vec![
                set("concurrency", |it: $of, _| it.concurrency(3), |seen| !seen.contains("at most 4 in flight")),
                set("partition_concurrency", |it: $of, _| it.partition_concurrency(2), |seen| seen.contains(", 2 of one partition")),
                set("max_failures", |it: $of, _| it.max_failures(1), |seen| seen.contains("`.max_failures(..)` allows 1")),
                set("max_rate", |it: $of, _| it.max_rate(100), |seen| millis(prompt(seen)) > 200),
                set("on_progress", |it: $of, world| it.on_progress({ let note = world.noted("progress was made"); move |progress| note(progress) }), |seen| seen.contains("progress was made")),
                set("resume_from", |it: $of, world| it.resume_from(world.position().unwrap()), |seen| prompt(seen).contains($left)),
                set("with", |it: $of, _| it.with(&own()), |seen| seen.contains("x-own: (hidden)")),
                set("timeout", |it: $of, _| it.timeout(SHORT), |seen| seen.contains("`timeout` of 7s")),
                set("total_timeout", |it: $of, _| it.total_timeout(TOTAL), |seen| seen.contains("`total_timeout` of 9s")),
                $($own,)*
            ]
        }
    };
}
type Update = UpdateWhere<'static, Thing, Thing, fn(&mut Thing), ()>;
type Upgrade = UpgradeWhere<'static, Thing>;
where_setters!(delete_where, DeleteWhere<'static, Thing>, "applied: 5,");
where_setters!(patch_where, PatchWhere<'static, Thing>, "applied: 10,");
where_setters!(
    update_where,
    Update,
    "applied: 10,",
    set(
        "repeatable",
        |it: Update, _| it.repeatable(),
        |seen| slow(seen).contains("done: {}")
    )
);
where_setters!(
    upgrade_where,
    Upgrade,
    "applied: 10,",
    set(
        "drop_unknown",
        |it: Upgrade, _| it.drop_unknown(),
        |seen| !seen.contains("\"unknown\":true")
    )
);

/// Returns what was seen on the prompt network.
fn prompt(seen: &str) -> &str {
    seen.split("\nSlow\n").next().unwrap_or(seen)
}

fn slow(seen: &str) -> &str {
    let (_, rest) = seen.split_once("\nSlow\n").unwrap();
    rest.split("\nHanging\n").next().unwrap_or(rest)
}

/// Returns the time of a run.
fn millis(seen: &str) -> u64 {
    let (_, time) = seen.rsplit_once("after ").unwrap();
    time.split(' ').next().unwrap().parse().unwrap()
}

/// Returns the sizes of the batches, and the result.
fn ended<T: Debug, R: Debug>(ended: std::result::Result<T, Interrupted<R>>, world: &World) -> String {
    let exchanges = world.spy.exchanges();
    let batches = exchanges.iter().filter(|it| it.method() != "GET");
    let mut sizes: Vec<usize> = batches
        .map(|it| it.body().matches("HTTP/1.1\r\n").count().max(1))
        .collect();
    sizes.sort_unstable();
    let ended = ended.map_or_else(
        |interrupted| format!("{interrupted}\n{:?}", interrupted.report()),
        |report| format!("{report:?}"),
    );
    format!(
        "sizes {sizes:?}\n{ended}\n{} items read",
        world.read.load(Ordering::Relaxed)
    )
}

fn written_where<E: Debug>(
    done: std::result::Result<WriteReport<E>, Interrupted<WriteReport<E>>>,
    world: &World,
) -> String {
    let position = done.as_ref().err().map(Interrupted::position);
    format!("left at {position:?}\n{}", ended(done, world))
}
