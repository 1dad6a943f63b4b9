//! Prefixes, ranges and index queries over keys of every type read the rows that a check of all rows finds.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use azure_table::key::{Base64Url, Bucket, Day, Escaped, Month, PercentEscaped, ReadTableKey, Week, Year};
use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, ErrorKind, Filter, Guid, Key, KeyPrefix, ReadEntity, Result,
    TableClient, TableEntity, TableProperty, TableQuery, TableServiceClient,
};
use azure_table_patterns::Indexed;
use azure_table_tests::key_order::fresh_table;
use azure_table_tests::texts::percent_decoded;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::run;

#[derive(TableProperty, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[table(key)]
enum State {
    Open,
    Closed,
    #[table(rename = "Öde")]
    Empty,
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[table(key)]
struct Number(u16);

/// A row whose RowKey begins with a field of any type.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{field}|{number:02}")]
struct Row<T> {
    #[table(partition_key)]
    partition: String,
    field: T,
    number: u8,
}

/// A row whose PartitionKey begins with a field of any type.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{field}|{partition}", row_key = "{number:02}")]
struct Partitioned<T> {
    field: T,
    partition: String,
    number: u8,
}

/// Texts of partitions, some of which are longer than the text of a field, and some the beginning of another.
fn partition() -> impl Strategy<Value = String> {
    let texts = ["", "a", "ab", "Channel9", "Channel9-of-contoso-ltd", "é", "漢字かな"];
    select(texts.to_vec()).prop_map(str::to_owned)
}

/// Text of few characters, so that one is often the beginning of another.
fn near_text() -> impl Strategy<Value = String> {
    "[a-b0 é~😀]{0,3}"
}

fn time() -> impl Strategy<Value = DateTime> {
    prop_oneof![0..3_i64, -11_000_000_000..200_000_000_000_i64].prop_map(DateTime::from_unix_seconds)
}

/// A third of the cases, since each test has several types.
fn some_cases() -> ProptestConfig {
    let all = ProptestConfig::with_cases(256);
    super::cases(ProptestConfig {
        cases: all.cases.div_ceil(3),
        failure_persistence: None,
        ..all
    })
}

/// Compares prefixes and ranges with a check of all rows. A type whose texts have one width and sort as its values do
/// has an order: a range has the rows between the values.
fn ranges<T>(values: impl Strategy<Value = T>, order: Option<fn(&T, &T) -> Ordering>)
where
    T: ReadTableKey + Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let rows = vec((partition(), values, 0..3_u8), 1..12);
    let (config, has_order) = (some_cases(), order.is_some());
    proptest!(config, |(rows in rows, picked in any::<[prop::sample::Index; 2]>(), fields in (1..4_usize, 1..4_usize))| {
        let [from, to] = picked.map(|index| index.get(&rows).clone());
        let of_row: Vec<_> = rows.iter().map(|(partition, field, number)| Row {
            partition: partition.clone(), field: field.clone(), number: *number,
        }).collect();
        let prefix = |(partition, field, number): &(String, T, u8), fields| match fields {
            1 => Key::<Row<T>>::prefix((partition,)),
            2 => Key::<Row<T>>::prefix((partition, field)),
            _ => Key::<Row<T>>::prefix((partition, field, *number)),
        }.unwrap();
        let is_under = |row: &Row<T>, of: &(String, T, u8), fields| {
            row.partition == of.0 && (fields < 2 || row.field == of.1) && (fields < 3 || row.number == of.2)
        };
        let order = order.unwrap_or(|_, _| Ordering::Equal);
        // None of the partitions has a character beyond U+FFFF, so they sort as the service sorts them.
        let compare = |row: &Row<T>, end: &(String, T, u8), fields| {
            let by_field = if fields > 1 { order(&row.field, &end.1) } else { Ordering::Equal };
            let by_number = if fields > 2 { row.number.cmp(&end.2) } else { Ordering::Equal };
            row.partition.cmp(&end.0).then(by_field).then(by_number)
        };
        let is_between = |row: &Row<T>| compare(row, &from, fields.0).is_ge() && compare(row, &to, fields.1).is_le();
        let is_sorted = T::SORTED || match fields {
            (1, 1) => true,
            (1, _) | (_, 1) => false,
            _ => (&from.0, &from.1) == (&to.0, &to.1),
        };
        let prefixes = (prefix(&from, fields.0), prefix(&to, fields.1));
        run(check(Case::new(&of_row, prefixes, &|row| is_under(row, &from, fields.0), &|row| is_under(row, &to, fields.1),
            has_order.then_some(&is_between as _), is_sorted)))?;

        let partitioned: Vec<_> = rows.iter().map(|(partition, field, number)| Partitioned {
            partition: partition.clone(), field: field.clone(), number: *number,
        }).collect();
        let prefix = |(partition, field, number): &(String, T, u8), fields| match fields {
            1 => Key::<Partitioned<T>>::prefix((field,)),
            2 => Key::<Partitioned<T>>::prefix((field, partition)),
            _ => Key::<Partitioned<T>>::prefix((field, partition, *number)),
        }.unwrap();
        let is_under = |row: &Partitioned<T>, of: &(String, T, u8), fields| {
            row.field == of.1 && (fields < 2 || row.partition == of.0) && (fields < 3 || row.number == of.2)
        };
        let (prefixes, is_sorted) = ((prefix(&from, fields.0), prefix(&to, fields.1)), T::SORTED || from.1 == to.1);
        run(check(Case::new(&partitioned, prefixes, &|row| is_under(row, &from, fields.0),
            &|row| is_under(row, &to, fields.1), None, is_sorted)))?;
    });
}

/// The conditions of the queries, and the rows that they should read, without the type of the row: a client of each type
/// would take long to compile.
struct Case {
    rows: BTreeMap<Keys, (DynamicEntity, Selected)>,
    from: String,
    to: String,
    both: String,
    between: Result<String>,
    is_sorted: bool,
}

/// A PartitionKey and a RowKey.
type Keys = (String, String);

/// The queries that should read a row.
#[derive(Clone, Copy)]
struct Selected {
    from: bool,
    to: bool,
    between: Option<bool>,
}

impl Case {
    fn new<E>(
        rows: &[E],
        (from, to): (KeyPrefix<E>, KeyPrefix<E>),
        is_under_from: &dyn Fn(&E) -> bool,
        is_under_to: &dyn Fn(&E) -> bool,
        is_between: Option<&dyn Fn(&E) -> bool>,
        is_sorted: bool,
    ) -> Self
    where
        E: TableEntity + ReadEntity + Debug + PartialEq,
    {
        let service = TableServiceClient::from_transport(Emulator::new());
        let query = || service.table::<E>("Things").unwrap().query();
        let rows = rows.iter().map(|row| {
            let dynamic = DynamicEntity::from_entity(row).unwrap();
            assert_eq!(dynamic.to_entity::<E>().unwrap(), *row);
            let keys = (dynamic.partition_key.clone(), dynamic.row_key.clone());
            let selected = Selected {
                from: is_under_from(row),
                to: is_under_to(row),
                between: is_between.map(|is_between| is_between(row)),
            };
            (keys, (dynamic, selected))
        });
        Self {
            rows: rows.collect(),
            from: condition(query().key_prefix(from.clone())).unwrap(),
            to: condition(query().key_prefix(to.clone())).unwrap(),
            both: condition(query().key_prefixes([from.clone(), to.clone()])).unwrap(),
            between: condition(query().between(from, to)),
            is_sorted,
        }
    }
}

/// The filter of a query.
fn condition<E: TableEntity + ReadEntity>(query: TableQuery<E>) -> Result<String> {
    let text = query.request_text()?;
    let (_, rest) = text.split_once("$filter=").unwrap();
    Ok(percent_decoded(rest.split(['&', ' ', '\n']).next().unwrap()))
}

/// A range without a model has the rows between the first key under `from` and the last under `to`.
async fn check(case: Case) -> std::result::Result<(), TestCaseError> {
    let table = fresh_table::<DynamicEntity>().await;
    for (row, _) in case.rows.values() {
        table.insert(row).await.unwrap();
    }
    let all = read(&table, None).await;
    let selected = |keys: &Keys| case.rows[keys].1;
    let expected = |is_selected: &dyn Fn(Selected) -> bool| {
        all.iter()
            .filter(|keys| is_selected(selected(keys)))
            .cloned()
            .collect::<Vec<_>>()
    };
    prop_assert_eq!(read(&table, Some(&case.from)).await, expected(&|row| row.from));
    prop_assert_eq!(read(&table, Some(&case.to)).await, expected(&|row| row.to));
    prop_assert_eq!(
        read(&table, Some(&case.both)).await,
        expected(&|row| row.from || row.to)
    );

    let first = all.iter().position(|keys| selected(keys).from);
    let last = all.iter().rposition(|keys| selected(keys).to);
    match case.between {
        Ok(range) => {
            let read = read(&table, Some(&range)).await;
            let ends = first.zip(last).filter(|(first, last)| first <= last);
            prop_assert_eq!(&read[..], ends.map_or(&[][..], |(first, last)| &all[first..=last]));
            if all.iter().all(|keys| selected(keys).between.is_some()) {
                prop_assert_eq!(read, expected(&|row| row.between == Some(true)));
            }
        }
        // Each end is a stored row, so a range that is not reversed has one.
        Err(e) => {
            prop_assert_eq!(e.kind(), ErrorKind::InvalidInput);
            prop_assert!(!case.is_sorted || first > last, "{}", e);
        }
    }
    Ok(())
}

/// Returns the keys of the rows that a filter selects, in their order.
async fn read(table: &TableClient, filter: Option<&str>) -> Vec<Keys> {
    let query = match filter {
        None => table.query(),
        Some(filter) => table.query().filter(Filter::raw(filter)),
    };
    let rows = query.all().await.unwrap().into_iter();
    rows.map(|row| (row.partition_key, row.row_key)).collect()
}

#[test]
fn ranges_of_text_are_exact() {
    ranges(near_text(), None);
    ranges(near_text().prop_map(String::into_boxed_str), None);
    ranges(select(vec!['a', 'b', 'é', '漢']), None);
    ranges("[a/?#\\\\ !\n]{0,3}".prop_map(Escaped), None);
    ranges("[a/%$\n]{0,3}".prop_map(PercentEscaped), None);
    ranges(("[ab]{0,2}", 0..3_u8), None);
    let several = (time(), near_text().prop_map(Escaped), (0..4_u8).prop_map(Descending));
    ranges(several, None);
    ranges(vec(any::<u8>(), 0..3).prop_map(Base64Url), None);
}

#[test]
fn ranges_of_numbers_are_exact() {
    ranges(0..4_u8, Some(Ord::cmp));
    ranges(any::<u16>(), Some(Ord::cmp));
    ranges(any::<u32>().prop_map(Descending), Some(Ord::cmp));
    ranges(any::<u64>(), Some(Ord::cmp));
    ranges(-2..2_i8, Some(Ord::cmp));
    ranges((-2..2_i16).prop_map(Descending), Some(Ord::cmp));
    ranges(any::<i32>(), Some(Ord::cmp));
    ranges(any::<i64>(), Some(Ord::cmp));
    ranges((0..4_u16).prop_map(Number), Some(Ord::cmp));
    ranges(any::<u8>().prop_map(|byte| Bucket::<7>::of([byte])), Some(Ord::cmp));
    ranges(any::<bool>(), None);
}

#[test]
fn ranges_of_times_are_exact() {
    ranges(time(), Some(Ord::cmp));
    ranges(time().prop_map(Descending), Some(Ord::cmp));
    let systems = time().prop_map(|time| SystemTime::try_from(time).unwrap());
    ranges(systems, Some(Ord::cmp));
    ranges((0..4_u64).prop_map(Duration::from_secs), Some(Ord::cmp));
    ranges(time().prop_map(Year::from), Some(Ord::cmp));
    ranges(time().prop_map(|time| Descending(Month::from(time))), Some(Ord::cmp));
    ranges(time().prop_map(Week::from), Some(Ord::cmp));
    ranges(time().prop_map(Day::from), Some(Ord::cmp));
    ranges(any::<[u8; 16]>().prop_map(Guid), Some(Ord::cmp));
}

#[test]
fn ranges_of_names_are_exact_or_rejected() {
    ranges(select(vec![State::Open, State::Closed, State::Empty]), None);
    ranges(select(vec![State::Open, State::Empty]).prop_map(Escaped), None);
    ranges((0..3_u8, select(vec![State::Open, State::Closed])), None);
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_state = (state)))]
#[table(index(by_state_since = (state, since), covers))]
#[table(index(by_letter = (letter, count)))]
#[table(index(by_name = (name, state), covers))]
#[table(index(by_part = (part)))]
#[table(index(by_number = (number, guid), unique))]
struct Job {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    state: State,
    since: DateTime,
    letter: char,
    count: i64,
    name: Option<String>,
    part: bool,
    number: i32,
    guid: Guid,
}

prop_compose! {
    fn job()(
        tenant in partition(),
        state in select(vec![State::Open, State::Closed, State::Empty]),
        since in time(),
        letter in select(vec!['a', 'b', ' ', '漢']),
        count in -1..2_i64,
        name in prop::option::of(near_text()),
        part in any::<bool>(),
        number in -1..2_i32,
        guid in any::<[u8; 16]>(),
    ) -> Job {
        Job { tenant, id: 0, state, since, letter, count, name, part, number, guid: Guid(guid) }
    }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn queries_by_an_index_are_exact(mut jobs in vec(job(), 1..12), picked in any::<prop::sample::Index>()) {
        jobs.iter_mut().zip(0..).for_each(|(job, id)| job.id = id);
        let of = picked.get(&jobs);
        run(async {
            let table = fresh_table::<Job>().await;
            let indexed = Indexed::open(&table).await.unwrap();
            macro_rules! build {
                ($($index:ident)*) => {$(
                    indexed.build(Job::$index).await.unwrap().ensure_none_taken().unwrap();
                )*};
            }
            build! { BY_STATE BY_STATE_SINCE BY_LETTER BY_NAME BY_PART BY_NUMBER }
            for job in &jobs {
                indexed.insert(job).await.unwrap();
            }
            macro_rules! check {
                ($(($($field:ident),*) by $index:ident $(and $name:ident)?;)*) => {$(
                    let found = indexed.by(Job::$index, (&of.tenant, $(&of.$field,)* $($name,)?)).unwrap();
                    let mut found = found.all().await.unwrap();
                    found.sort_by_key(|job| job.id);
                    let is_same = |job: &&Job| job.tenant == of.tenant $(&& job.$field == of.$field)*
                        $(&& job.$name.as_ref() == Some($name))?;
                    let expected: Vec<Job> = jobs.iter().filter(is_same).cloned().collect();
                    prop_assert_eq!(found, expected, "{}", stringify!($index));
                )*};
            }
            check! {
                () by BY_STATE;
                (state) by BY_STATE;
                (state) by BY_STATE_SINCE;
                (state, since) by BY_STATE_SINCE;
                (letter) by BY_LETTER;
                (letter, count) by BY_LETTER;
                (part) by BY_PART;
                (number) by BY_NUMBER;
                (number, guid) by BY_NUMBER;
            }
            if let Some(name) = &of.name {
                check! { () by BY_NAME and name; }
            }
            Ok(())
        })?;
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_up = (open, up)))]
#[table(index(by_down = (open, down), covers))]
#[table(index(by_time = (time)))]
#[table(index(by_maybe = (maybe), covers))]
#[table(index(by_text = (text)))]
#[table(index(by_one = (one), unique))]
struct Event {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    open: bool,
    up: i64,
    down: Descending<i64>,
    time: DateTime,
    maybe: Option<Descending<DateTime>>,
    text: String,
    one: Option<Descending<u32>>,
}

prop_compose! {
    fn event()(
        tenant in select(vec!["a", "ab"]),
        open in any::<bool>(),
        up in -2..3_i64,
        down in prop_oneof![-2..3_i64, any::<i64>()],
        time in time(),
        maybe in prop::option::of(time()),
        text in near_text(),
    ) -> Event {
        let (down, maybe) = (Descending(down), maybe.map(Descending));
        Event { tenant: tenant.into(), id: 0, open, up, down, time, maybe, text, one: None }
    }
}

proptest! {
    #![proptest_config(some_cases())]

    /// With the ends in the other order, a range of several values is rejected.
    #[test]
    fn range_of_an_index_has_the_entities_that_a_filter_selects(
        mut events in vec(event(), 1..12),
        picked in any::<[prop::sample::Index; 2]>(),
    ) {
        events.iter_mut().zip(0..).for_each(|(event, id)| {
            (event.id, event.one) = (id, Some(Descending(id)).filter(|_| id % 3 > 0));
        });
        let [from, to] = picked.map(|index| index.get(&events));
        run(async {
            let table = fresh_table::<Event>().await;
            let indexed = Indexed::open(&table).await.unwrap();
            macro_rules! build {
                ($($index:ident)*) => {$(
                    indexed.build(Event::$index).await.unwrap().ensure_none_taken().unwrap();
                )*};
            }
            build! { BY_UP BY_DOWN BY_TIME BY_MAYBE BY_TEXT BY_ONE }
            for event in &events {
                indexed.insert(event).await.unwrap();
            }
            let (tenant, open) = (&from.tenant, from.open);
            let selected = async |filter| {
                let found = indexed.query().partition(tenant).filter(filter).all().await.unwrap();
                found.iter().map(|event| event.id).collect::<Vec<_>>()
            };
            macro_rules! check {
                ($(($($open:ident)?) $index:ident: $column:ident $field:ident, $is_descending:literal, $one:expr, $other:expr;)*) => {$(
                    let all = || ($(Event::OPEN.eq($open) &)? Event::ID.ge(0));
                    let (least, greatest) = ($one.min($other), $one.max($other));
                    let (first, last) = if $is_descending { (greatest, least) } else { (least, greatest) };
                    let (first_key, last_key) = ((tenant, $($open,)? first), (tenant, $($open,)? last));
                    let part = (tenant, $($open,)?);
                    let (ge, le) = (Event::$column.ge(least), Event::$column.le(greatest));
                    let (to_last, from_first) = if $is_descending { (ge, le) } else { (le, ge) };
                    for (range, filter) in [
                        (indexed.between(Event::$index, first_key, last_key), to_last.clone() & from_first.clone()),
                        (indexed.between(Event::$index, part, last_key), to_last),
                        (indexed.between(Event::$index, first_key, part), from_first),
                    ] {
                        let count = indexed.between(Event::$index, part, part).unwrap().count().await.unwrap();
                        let found = range.unwrap().all().await.unwrap();
                        prop_assert!(found.is_sorted_by_key(|event| (event.$field.clone(), event.id)), "{:?}", found);
                        prop_assert!(found.len() <= count);
                        let mut found: Vec<u32> = found.iter().map(|event| event.id).collect();
                        found.sort_unstable();
                        let text = format!("{}: {filter}", stringify!($index));
                        prop_assert_eq!(found, selected(filter & all()).await, "{}", text);
                    }
                    match indexed.between(Event::$index, last_key, first_key) {
                        Ok(_) => prop_assert_eq!(first, last),
                        Err(e) => prop_assert_eq!(e.kind(), ErrorKind::InvalidInput),
                    }
                )*};
            }
            check! {
                (open) BY_UP: UP up, false, from.up, to.up;
                (open) BY_DOWN: DOWN down, true, from.down.0, to.down.0;
                () BY_TIME: TIME time, false, from.time, to.time;
                () BY_TEXT: TEXT text, false, from.text.as_str(), to.text.as_str();
                () BY_ONE: ONE one, true, from.id, to.id;
            }
            if let (Some(one), Some(other)) = (from.maybe, to.maybe) {
                check! { () BY_MAYBE: MAYBE maybe, true, one.0, other.0; }
            }
            Ok(())
        })?;
    }
}
