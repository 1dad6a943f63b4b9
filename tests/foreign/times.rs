//! The types of chrono, jiff, time and uuid: as properties, as keys, as operands, and converted.

use std::time::{Duration, SystemTime};

use azure_table::filter::InKey;
use azure_table::key::ReadTableKey;
use azure_table::{
    Column, DateTime, Descending, DynamicEntity, EdmType, Guid, Key, Result, TableClient, TableEntity, TableKey,
    TableProperty,
};
use chrono::Utc;
use jiff::Timestamp;
use proptest::prelude::*;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Foreign {
    #[table(partition_key)]
    group: Uuid,
    #[table(row_key)]
    at: Descending<chrono::DateTime<Utc>>,
    chrono: chrono::DateTime<Utc>,
    jiff: Timestamp,
    time: OffsetDateTime,
    uuid: Uuid,
    maybe: Option<Timestamp>,
}

const TEXT: &str = "2026-01-02T03:04:05.1234567Z";

fn sample() -> (DateTime, Foreign) {
    let time: DateTime = TEXT.parse().unwrap();
    let entity = Foreign {
        group: Uuid::from_bytes([1; 16]),
        at: Descending(time.into()),
        chrono: time.into(),
        jiff: time.try_into().unwrap(),
        time: time.into(),
        uuid: Uuid::from_bytes([7; 16]),
        maybe: None,
    };
    (time, entity)
}

/// Clocks have a resolution of 1 ns, the service of 100 ns.
#[azure_table::test]
async fn truncated_times_are_read_as_they_were_written(table: TableClient<Foreign>) -> Result<()> {
    let (_, entity) = sample();
    let nanos = Duration::from_nanos(99);
    let entity = Foreign {
        at: Descending(DateTime::truncate(entity.chrono + nanos)),
        chrono: DateTime::truncate(entity.chrono + nanos),
        jiff: DateTime::truncate(entity.jiff + nanos),
        time: DateTime::truncate(entity.time + nanos),
        maybe: Some(DateTime::truncate(entity.jiff + nanos)),
        ..entity
    };
    table.insert(&entity).await?;
    assert_eq!(table.get((entity.group, entity.at)).await?, Some(entity));
    let far = chrono::DateTime::<Utc>::MAX_UTC;
    assert_eq!(DateTime::truncate(far), far);
    Ok(())
}

#[azure_table::test]
async fn foreign_types_survive_and_are_found(table: TableClient<Foreign>) -> Result<()> {
    let (time, entity) = sample();
    table.insert(&entity).await?;
    assert_eq!(table.get((entity.group, entity.at)).await?.unwrap(), entity);
    let versioned = table.get((Guid([1; 16]), *entity.at)).versioned().await?;
    assert_eq!(versioned.unwrap().entity, entity);
    let row = table.typed::<DynamicEntity>().query().first().await?.unwrap();
    for name in ["chrono", "jiff", "time"] {
        assert_eq!(row.properties[name].edm_type(), EdmType::DateTime, "{name}");
    }
    assert_eq!(row.properties["uuid"].edm_type(), EdmType::Guid);
    assert_eq!(row.partition_key, "01010101-0101-0101-0101-010101010101");

    let earlier = time - Duration::from_nanos(100);
    for (filter, rows) in [
        (Foreign::GROUP.eq(entity.group), 1),
        (Foreign::AT.gt(chrono::DateTime::from(earlier)), 1),
        (Foreign::CHRONO.gt(chrono::DateTime::from(earlier)), 1),
        (Foreign::JIFF.gt(Timestamp::try_from(earlier).unwrap()), 1),
        (Foreign::TIME.gt(OffsetDateTime::from(earlier)), 1),
        (Foreign::UUID.eq(entity.uuid), 1),
        (Foreign::UUID.eq(Guid([7; 16])), 1),
        (Foreign::TIME.gt(entity.time), 0),
    ] {
        let text = filter.to_string();
        let found = table.query().filter(filter).all().await?;
        assert_eq!(found, std::slice::from_ref(&entity)[..rows], "{text}");
    }
    Ok(())
}

#[test]
fn foreign_values_are_operands_of_our_own_types() {
    let (time, entity) = sample();
    let text = format!("N lt datetime'{TEXT}'");
    let column = Column::<DynamicEntity, DateTime>::property("N");
    assert_eq!(column.lt(entity.chrono).to_string(), text);
    assert_eq!(column.lt(entity.jiff).to_string(), text);
    assert_eq!(column.lt(entity.time).to_string(), text);
    let key = Column::<DynamicEntity, Descending<DateTime>, InKey>::row_key();
    assert_eq!(key.lt(entity.chrono), key.lt(time));
    assert_eq!(key.lt(entity.jiff), key.lt(time));
    assert_eq!(key.lt(entity.time), key.lt(time));
    let column = Column::<DynamicEntity, Guid>::property("N");
    assert_eq!(column.eq(entity.uuid), column.eq(Guid([7; 16])));
    // A value that cannot be stored is beyond the limit of the range.
    let column = Column::<DynamicEntity, DateTime>::property("N");
    assert_eq!(column.lt(chrono::DateTime::<Utc>::MAX_UTC), column.le(DateTime::MAX));
    assert_eq!(column.ge(chrono::DateTime::<Utc>::MAX_UTC), column.gt(DateTime::MAX));
    assert_eq!(column.le(Timestamp::MIN), column.lt(DateTime::MIN));
    assert_eq!(column.gt(Timestamp::MIN), column.ge(DateTime::MIN));
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Log {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    at: DateTime,
    read: Option<DateTime>,
}

/// Only a comparison may use the nearest time: a key or a patch would name or store another one.
#[azure_table::test]
async fn time_that_cannot_be_stored_is_an_error_in_keys_and_patches(table: TableClient<Log>) -> Result<()> {
    let last = Log {
        channel: "c".into(),
        at: DateTime::MAX,
        read: None,
    };
    table.insert(&last).await?;
    let far = chrono::DateTime::<Utc>::MAX_UTC;
    let deleted = table.delete(("c", far)).await.unwrap_err().to_string();
    assert!(deleted.contains(&format!("RowKey, field `at`: {OUTSIDE}")), "{deleted}");
    let patched = table.patch(("c", DateTime::MAX), [Log::READ.set(far)]).await;
    let patched = patched.unwrap_err().to_string();
    assert!(patched.contains(&format!("property `read`: {OUTSIDE}")), "{patched}");
    assert_eq!(table.query().filter(Log::AT.lt(far)).all().await?, [last]);
    Ok(())
}

const OUTSIDE: &str = "the time is outside of the years 1 to 9999";

#[azure_table::test]
async fn a_time_that_cannot_be_stored_names_its_property(table: TableClient<Foreign>) -> Result<()> {
    let (_, entity) = sample();
    let (mut far, mut old) = (entity.clone(), entity.clone());
    far.chrono = chrono::DateTime::<Utc>::MAX_UTC;
    old.jiff = Timestamp::MIN;
    for (wrong, name) in [(far, "chrono"), (old, "jiff")] {
        let error = table.insert(&wrong).await.unwrap_err().to_string();
        assert!(error.ends_with(&format!("property `{name}`: {OUTSIDE}")), "{error}");
    }
    // In reverse: a date that a jiff::Timestamp cannot represent.
    let mut last = entity;
    last.time = DateTime::MAX.into();
    table.insert(&last).await?;
    let key = Key::<Foreign>::of(&last)?;
    let mut row = DynamicEntity::new(key.partition_key(), key.row_key());
    row.insert("maybe", DateTime::MAX);
    table.typed::<DynamicEntity>().merge(&row).await?;
    let error = table.get(&key).await.unwrap_err().to_string();
    let why = "property `maybe`: 9999-12-31T23:59:59.9999999Z is beyond the range of the field's type (request";
    assert!(error.contains(why), "{error}");
    Ok(())
}

fn text(key: &impl TableKey) -> String {
    let mut text = String::new();
    key.write_key(&mut text).unwrap();
    text
}

/// Texts and order equal our own types'.
fn has_the_texts_of<T, U>(value: T, own: U) -> Result<(), TestCaseError>
where
    T: ReadTableKey + PartialEq + std::fmt::Debug,
    U: TableKey,
{
    prop_assert_eq!(text(&value), text(&own));
    prop_assert_eq!(T::read_key(&text(&own)).unwrap(), value);
    Ok(())
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq, PartialOrd)]
#[table(key)]
struct Length(Duration);

/// The types whose values have more digits than the service stores.
#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Precise {
    #[table(partition_key)]
    from: Length,
    #[table(row_key)]
    at: Descending<SystemTime>,
    time: DateTime,
    system: SystemTime,
    chrono: chrono::DateTime<Utc>,
    jiff: Option<Timestamp>,
    offset: OffsetDateTime,
    length: Length,
}

/// Returns the filters of the six operators, and what Rust's comparison of the exact values says.
macro_rules! six {
    ($column:expr, $stored:expr, $operand:expr) => {{
        let (stored, operand) = ($stored, $operand);
        [
            ($column.eq(operand), stored == operand),
            ($column.ne(operand), stored != operand),
            ($column.lt(operand), stored < operand),
            ($column.le(operand), stored <= operand),
            ($column.gt(operand), stored > operand),
            ($column.ge(operand), stored >= operand),
        ]
    }};
}

proptest! {
    #[test]
    fn filters_compare_exact_values(
        ticks in 0..10_u64,
        nanos in 0..1_000_u64,
        second in prop_oneof![Just(0), 0..200_000_000_000_u64],
    ) {
        let (stored, operand) = (Duration::from_nanos(ticks * 100), Duration::from_nanos(nanos));
        let (stored, operand) = (stored + Duration::from_secs(second), operand + Duration::from_secs(second));
        let [system, other] = [stored, operand].map(|since| SystemTime::UNIX_EPOCH + since);
        let since = |at: Duration| (at.as_secs() as i64, at.subsec_nanos());
        let [chrono, chrono_operand] = [stored, operand].map(since).map(|(seconds, nanos)| {
            chrono::DateTime::<Utc>::from_timestamp(seconds, nanos).unwrap()
        });
        let [jiff, jiff_operand] = [stored, operand].map(since).map(|(seconds, nanos)| {
            Timestamp::new(seconds, nanos as i32).unwrap()
        });
        let [offset, offset_operand] = [system, other].map(OffsetDateTime::from);
        let [length, length_operand] = [stored, operand].map(Length);
        let time = DateTime::try_from(system).unwrap();
        let row = Precise { from: length, at: Descending(system), time, system, chrono, jiff: Some(jiff), offset, length };
        for (filter, expected) in [
            six!(Precise::FROM, length, length_operand),
            six!(Precise::AT, system, other),
            six!(Precise::TIME, system, other),
            six!(Precise::TIME, chrono, chrono_operand),
            six!(Precise::SYSTEM, system, other),
            six!(Precise::CHRONO, chrono, chrono_operand),
            six!(Precise::JIFF, jiff, jiff_operand),
            six!(Precise::OFFSET, offset, offset_operand),
            six!(Precise::LENGTH, length, length_operand),
        ].into_iter().flatten() {
            prop_assert_eq!(filter.matches(&row).unwrap(), expected, "{} of {:?}", filter, row);
        }
    }

    #[test]
    fn foreign_keys_have_the_text_of_our_own(
        ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks() - 26 * 36_000_000_000,
        id in any::<[u8; 16]>(),
    ) {
        let own = DateTime::from_ticks(ticks).unwrap();
        has_the_texts_of(chrono::DateTime::<Utc>::from(own), own)?;
        has_the_texts_of(Descending(chrono::DateTime::<Utc>::from(own)), Descending(own))?;
        has_the_texts_of(Timestamp::try_from(own).unwrap(), own)?;
        has_the_texts_of(Descending(Timestamp::try_from(own).unwrap()), Descending(own))?;
        has_the_texts_of(OffsetDateTime::from(own), own)?;
        has_the_texts_of(Descending(OffsetDateTime::from(own)), Descending(own))?;
        has_the_texts_of(Uuid::from_bytes(id), Guid(id))?;
    }
}
