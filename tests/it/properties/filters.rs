//! A filter that was rendered, sent, parsed and evaluated selects the rows of a simple model. So do its parts together,
//! sent one by one.

use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, ErrorKind, Filter, Guid, Key, TableClient, TableEntity, TableQuery,
    TableServiceClient,
};
use futures::TryStreamExt;
use proptest::prelude::*;

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Item {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    n: u32,
    text: Option<String>,
    small: Option<i32>,
    large: Option<i64>,
    ratio: Option<f64>,
    flag: Option<bool>,
    time: Option<DateTime>,
    id: Option<Guid>,
    bytes: Option<Vec<u8>>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Post {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    n: Descending<u32>,
}

/// A filter, and its meaning.
#[derive(Clone, Debug)]
enum Naive {
    Text(u8, String),
    Small(u8, i32),
    Large(u8, i64),
    Ratio(u8, f64),
    Flag(u8, bool),
    Time(u8, DateTime),
    /// Equal or not: the order of GUIDs is not confirmed.
    Id(bool, Guid),
    Bytes(u8, Vec<u8>),
    Starts(String),
    Number(u8, u32),
    Group(u8, String),
    And(Box<Naive>, Box<Naive>),
    Or(Box<Naive>, Box<Naive>),
    Not(Box<Naive>),
}

fn compare<T: PartialOrd>(operator: u8, stored: Option<T>, value: T) -> bool {
    let Some(stored) = stored else { return false };
    match operator {
        0 => stored == value,
        1 => stored != value,
        2 => stored > value,
        3 => stored >= value,
        4 => stored < value,
        _ => stored <= value,
    }
}

macro_rules! column {
    ($column:expr, $operator:expr, $value:expr) => {
        match $operator {
            0 => $column.eq($value),
            1 => $column.ne($value),
            2 => $column.gt($value),
            3 => $column.ge($value),
            4 => $column.lt($value),
            _ => $column.le($value),
        }
    };
}

impl Naive {
    fn matches(&self, item: &Item) -> bool {
        match self {
            Self::Text(op, v) => compare(*op, item.text.as_ref(), v),
            Self::Small(op, v) => compare(*op, item.small, *v),
            Self::Large(op, v) => compare(*op, item.large, *v),
            Self::Ratio(op, v) => compare(*op, item.ratio, *v),
            Self::Flag(op, v) => compare(*op, item.flag, *v),
            Self::Time(op, v) => compare(*op, item.time, *v),
            Self::Id(is_equal, v) => item.id.is_some_and(|id| (id == *v) == *is_equal),
            Self::Bytes(op, v) => compare(*op, item.bytes.as_ref(), v),
            Self::Starts(v) => item.text.as_ref().is_some_and(|text| text.starts_with(v)),
            Self::Number(op, v) => compare(*op, Some(item.n), *v),
            Self::Group(op, v) => compare(*op, Some(&item.group), v),
            Self::And(a, b) => a.matches(item) && b.matches(item),
            Self::Or(a, b) => a.matches(item) || b.matches(item),
            Self::Not(a) => !a.matches(item),
        }
    }

    fn filter(&self) -> Filter<Item> {
        match self {
            Self::Text(op, v) => column!(Item::TEXT, op, v),
            Self::Small(op, v) => column!(Item::SMALL, op, v),
            Self::Large(op, v) => column!(Item::LARGE, op, v),
            Self::Ratio(op, v) => column!(Item::RATIO, op, v),
            Self::Flag(op, v) => column!(Item::FLAG, op, v),
            Self::Time(op, v) => column!(Item::TIME, op, *v),
            Self::Id(true, v) => Item::ID.eq(*v),
            Self::Id(false, v) => Item::ID.ne(*v),
            Self::Bytes(op, v) => column!(Item::BYTES, op, &v[..]),
            Self::Starts(v) => Item::TEXT.starts_with(v),
            Self::Number(op, v) => column!(Item::N, op, v),
            Self::Group(op, v) => column!(Item::GROUP, op, v),
            Self::And(a, b) => a.filter() & b.filter(),
            Self::Or(a, b) => a.filter() | b.filter(),
            Self::Not(a) => !a.filter(),
        }
    }
}

/// Few values, so that they are often equal, with quotes and a character beyond ASCII among the texts. (Beyond U+FFFF
/// the orders of Rust and of the service differ.)
fn some_text() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", "a", "A", "b'", "''", "ü", "x y", "and", "漢"]).prop_map(String::from)
}

fn some_double() -> impl Strategy<Value = f64> {
    proptest::sample::select(vec![0.0, 1.0, -1.5, 1e300, 0.1, f64::MAX, 5e-324])
}

fn some_time() -> impl Strategy<Value = DateTime> {
    let times = [
        "1601-01-01T00:00:00Z",
        "2026-11-20T10:00:00.1234567Z",
        "2026-11-20T10:00:00.1234568Z",
    ];
    proptest::sample::select(times.map(|time| time.parse().unwrap()).to_vec())
}

fn some_id() -> impl Strategy<Value = Guid> {
    proptest::sample::select(vec![Guid([0; 16]), Guid([7; 16]), Guid([255; 16])])
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::sample::select(vec![vec![], vec![0], vec![0, 1], vec![255]])
}

fn some_group() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", "a", "b", "b'", "c"]).prop_map(String::from)
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let options = (
        some_group(),
        proptest::option::of(some_text()),
        proptest::option::of(-2..3),
        proptest::option::of(prop_oneof![Just(1_i64 << 40), -2..3_i64]),
        proptest::option::of(some_double()),
        any::<Option<bool>>(),
        (
            proptest::option::of(some_time()),
            proptest::option::of(some_id()),
            proptest::option::of(some_bytes()),
        ),
    );
    proptest::collection::vec(options, 1..14).prop_map(|rows| {
        rows.into_iter()
            .enumerate()
            .map(
                |(n, (group, text, small, large, ratio, flag, (time, id, bytes)))| Item {
                    group,
                    n: n as u32,
                    text,
                    small,
                    large,
                    ratio,
                    flag,
                    time,
                    id,
                    bytes,
                },
            )
            .collect()
    })
}

fn naive() -> impl Strategy<Value = Naive> {
    let leaf = prop_oneof![
        (0..6_u8, some_text()).prop_map(|(op, v)| Naive::Text(op, v)),
        (0..6_u8, -2..3).prop_map(|(op, v)| Naive::Small(op, v)),
        (0..6_u8, prop_oneof![Just(1_i64 << 40), -2..3_i64]).prop_map(|(op, v)| Naive::Large(op, v)),
        (0..6_u8, some_double()).prop_map(|(op, v)| Naive::Ratio(op, v)),
        (0..6_u8, any::<bool>()).prop_map(|(op, v)| Naive::Flag(op, v)),
        (0..6_u8, some_time()).prop_map(|(op, v)| Naive::Time(op, v)),
        (any::<bool>(), some_id()).prop_map(|(is_equal, v)| Naive::Id(is_equal, v)),
        (0..6_u8, some_bytes()).prop_map(|(op, v)| Naive::Bytes(op, v)),
        some_text().prop_map(Naive::Starts),
        (0..6_u8, 0..14_u32).prop_map(|(op, v)| Naive::Number(op, v)),
        (0..6_u8, some_group()).prop_map(|(op, v)| Naive::Group(op, v)),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Naive::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Naive::Or(Box::new(a), Box::new(b))),
            inner.prop_map(|a| Naive::Not(Box::new(a))),
        ]
    })
}

/// One of these groups and one of these numbers, and another condition.
fn sets() -> impl Strategy<Value = Naive> {
    let any_of = |conditions: Vec<Naive>| {
        conditions
            .into_iter()
            .reduce(|a, b| Naive::Or(Box::new(a), Box::new(b)))
            .unwrap()
    };
    let both = |a, b| Naive::And(Box::new(a), Box::new(b));
    let groups = proptest::collection::vec((0..6_u8, some_group()).prop_map(|(op, v)| Naive::Group(op, v)), 1..4);
    let equal = proptest::collection::vec(some_group().prop_map(|v| Naive::Group(0, v)), 1..4);
    let numbers = proptest::collection::vec((0..6_u8, 0..14_u32).prop_map(|(op, v)| Naive::Number(op, v)), 1..4);
    // Whole keys too: a group and a number each.
    let keys = proptest::collection::vec(
        (some_group(), 0..14_u32).prop_map(move |(g, n)| both(Naive::Group(0, g), Naive::Number(0, n))),
        1..4,
    );
    let set = prop_oneof![groups, equal, numbers, keys].prop_map(any_of);
    (set.clone(), proptest::option::of(set), proptest::option::of(naive()))
        .prop_map(move |(first, second, third)| [second, third].into_iter().flatten().fold(first, both))
}

/// Text that a program reads from its user, of parts of filters. Many are none, or more than one condition.
fn raw_text() -> impl Strategy<Value = String> {
    let condition = || naive().prop_map(|naive| naive.filter().to_string());
    let piece = || {
        let pieces = [
            ") or (",
            ") or not (",
            ")or(",
            "(",
            ")",
            "'",
            "' or '",
            "') or ('",
            " and ",
            " or ",
            "not (",
            "flag",
            "true",
        ];
        proptest::sample::select(pieces.to_vec()).prop_map(String::from)
    };
    prop_oneof![
        2 => (condition(), piece(), condition()).prop_map(|(a, piece, b)| a + &piece + &b),
        1 => proptest::collection::vec(prop_oneof![piece(), condition()], 1..6).prop_map(|pieces| pieces.concat()),
        1 => condition(),
    ]
}

/// A table of small pages, so that parts have several.
async fn table_of(items: &[Item]) -> TableClient<Item> {
    let service = TableServiceClient::from_transport(Emulator::new().page_size(2));
    let table = service.table::<Item>("Things").unwrap();
    table.create_table().await.unwrap();
    for item in items {
        table.insert(item).await.unwrap();
    }
    table
}

/// Returns the rows that the simple model selects, in the order of their keys.
fn selected(items: &[Item], is_selected: impl Fn(&Item) -> bool) -> Vec<Item> {
    let mut expected: Vec<_> = items.iter().filter(|item| is_selected(item)).cloned().collect();
    expected.sort_by_key(|item| (item.group.clone(), item.n));
    expected
}

/// The texts that were a condition on their own.
static RAW_CONDITIONS: AtomicUsize = AtomicUsize::new(0);

/// Returns the rows, or `None` if the client or the service rejects the filter.
async fn accepted(query: TableQuery<Item>) -> Option<Vec<Item>> {
    match query.allow_table_scan().all().await {
        Err(e) if e.kind() == ErrorKind::InvalidInput || matches!(e.status(), Some(400 | 501)) => None,
        found => Some(found.unwrap()),
    }
}

#[test]
fn raw_text_neither_widens_nor_narrows_the_conditions_beside_it() {
    raw_text_is_one_condition();
    let conditions = RAW_CONDITIONS.load(Ordering::Relaxed);
    assert!(conditions >= 5, "{conditions} texts were conditions");
}

fn on_runtime<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test)
}

proptest! {
    #![proptest_config(super::cases(ProptestConfig::with_cases(256)))]

    #[test]
    fn service_selects_the_rows_of_the_filter(items in items(), naive in prop_oneof![naive(), sets()]) {
        on_runtime(async {
            let table = table_of(&items).await;
            let filter = naive.filter();
            let expected = selected(&items, |item| naive.matches(item));
            let text = filter.to_string();
            let query = table.query().filter(filter).allow_table_scan();
            let found = query.clone().all().await.unwrap();
            prop_assert_eq!(&found, &expected, "{}", text);
            let raw = table.typed::<DynamicEntity>().query().filter(Filter::raw(text.clone())).all().await.unwrap();
            prop_assert_eq!(raw.len(), expected.len(), "{}", text);

            let in_parts = query.clone().fan_out().concurrency(3);
            let plan = in_parts.plan().unwrap();
            let found = in_parts.clone().all().await.unwrap();
            prop_assert_eq!(&found, &expected, "{}\n{}", text, plan);
            let mut found = in_parts.unordered().all().await.unwrap();
            found.sort_by_key(|item| (item.group.clone(), item.n));
            prop_assert_eq!(&found, &expected, "{}\n{}", text, plan);

            let mut found: Vec<_> = query.scan().ranges(["a", "b", "bb"]).concurrency(2).stream().try_collect().await.unwrap();
            found.sort_by_key(|item: &Item| (item.group.clone(), item.n));
            prop_assert_eq!(&found, &expected, "{}", text);
            Ok(())
        })?;
    }

    /// No text ends the parentheses around it, whatever the service makes of it.
    fn raw_text_is_one_condition(
        items in items(), group in some_group(), naive in naive(), text in raw_text(),
    ) {
        on_runtime(async {
            let table = table_of(&items).await;
            let (typed, raw) = (naive.filter(), Filter::raw(text.clone()));
            let is_condition = accepted(table.query().filter(raw.clone())).await.is_some();
            RAW_CONDITIONS.fetch_add(usize::from(is_condition), Ordering::Relaxed);
            for filter in [typed.clone() & raw.clone(), raw.clone() & typed.clone(), typed.clone() & !raw.clone()] {
                let found = accepted(table.query().partition(&group).filter(filter)).await;
                prop_assert_eq!(found.is_some(), is_condition, "{:?}", text);
                let is_selected = |item: &Item| item.group == group && naive.matches(item);
                prop_assert!(found.iter().flatten().all(is_selected), "{:?}: {:?}", text, found);
            }
            for filter in [typed.clone() | raw.clone(), raw | typed] {
                let found = accepted(table.query().filter(filter)).await;
                prop_assert_eq!(found.is_some(), is_condition, "{:?}", text);
                let Some(found) = found else { continue };
                let mut typed = items.iter().filter(|item| naive.matches(item));
                prop_assert!(typed.all(|item| found.contains(item)), "{:?}: {:?}", text, found);
            }
            Ok(())
        })?;
    }

    /// A reversed key compares in the order of its value, alone or in parts.
    #[test]
    fn reversed_keys_are_compared_as_their_values(
        stored in proptest::collection::btree_set(0..30_u32, 1..12),
        conditions in proptest::collection::vec((0..6_u8, 0..30_u32), 1..4),
    ) {
        on_runtime(async {
            let service = TableServiceClient::from_transport(Emulator::new().page_size(3));
            let table = service.table::<Post>("Posts").unwrap();
            table.create_table().await.unwrap();
            for n in &stored {
                table.insert(&Post { group: "g".into(), n: Descending(*n) }).await.unwrap();
            }
            let filter = conditions.iter().map(|(op, v)| column!(Post::N, op, *v)).reduce(|a, b| a | b).unwrap();
            let expected: Vec<u32> = stored
                .iter()
                .rev()
                .filter(|n| conditions.iter().any(|(op, v)| compare(*op, Some(**n), *v)))
                .copied()
                .collect();
            let text = filter.to_string();
            let query = table.query().partition("g").filter(filter);
            let one: Vec<u32> = query.clone().all().await.unwrap().into_iter().map(|post| post.n.0).collect();
            prop_assert_eq!(&one, &expected, "{}", text);
            let parts: Vec<u32> = query.fan_out().all().await.unwrap().into_iter().map(|post| post.n.0).collect();
            prop_assert_eq!(parts, expected, "{}", text);
            Ok(())
        })?;
    }

    /// Prefixes of keys may overlap; whole partitions and rows are among them.
    #[test]
    fn prefixes_of_keys_yield_each_row_once(
        items in items(),
        prefixes in proptest::collection::vec((some_group(), proptest::option::of(0..14_u32)), 0..6),
    ) {
        on_runtime(async {
            let table = table_of(&items).await;
            let expected = selected(&items, |item| {
                prefixes.iter().any(|(group, n)| *group == item.group && n.is_none_or(|n| n == item.n))
            });
            let keys = prefixes.iter().map(|(group, n)| match n {
                Some(n) => Key::<Item>::prefix((group, *n)).unwrap(),
                None => Key::prefix((group,)).unwrap(),
            });
            let found = table.query().fan_out().each_prefix(keys).concurrency(2).all().await.unwrap();
            prop_assert_eq!(found, expected);
            Ok(())
        })?;
    }

    #[test]
    fn partitions_that_are_named_are_read_once(
        items in items(),
        groups in proptest::collection::vec(some_group(), 0..5),
        naive in naive(),
        limit in proptest::option::of(0..6_usize),
    ) {
        on_runtime(async {
            let table = table_of(&items).await;
            let mut expected = selected(&items, |item| groups.contains(&item.group) && naive.matches(item));
            let mut query = table.query().filter(naive.filter());
            if let Some(limit) = limit {
                expected.truncate(limit);
                query = query.limit(limit);
            }
            let in_parts = query.fan_out().partitions(&groups).concurrency(2);
                prop_assert_eq!(in_parts.all().await.unwrap(), expected);
            Ok(())
        })?;
    }
}
