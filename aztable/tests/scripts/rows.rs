//! Random rows of all types, and their comparison.

use std::collections::BTreeMap;

use azure_table::{DateTime, DynamicEntity, EdmValue, Guid};
use fastrand::Rng;

pub(crate) type Key = (String, String);
pub(crate) type Table = BTreeMap<Key, DynamicEntity>;

/// The text that a server replaces by half of a surrogate pair.
pub(crate) const HALF: &str = "HALF";
/// The property that has it.
const HALF_PROPERTY: &str = "Half";

const PARTITIONS: [&str; 8] = ["p", "p", "p2", "it's", "päß \u{1F600}", "a b", "x\"y,z", "%41+0010"];
const TEXTS: [&str; 18] = [
    "",
    "\"",
    "\"\"",
    "\"\"\"",
    "a,b",
    "two\nlines\r\n",
    " x ",
    "\u{1F600}",
    "\u{10FFFF}\u{E000}",
    "null",
    "true",
    "1.10",
    "0010",
    "2020-01-01T00:00:00Z",
    "'",
    "tab\t\u{7f}",
    "\u{feff}x",
    "00112233-4455-6677-8899-aabbccddeeff",
];

pub(crate) fn key(row: &DynamicEntity) -> Key {
    (row.partition_key.clone(), row.row_key.clone())
}

/// Returns whether a response can hold the row: it has no half of a surrogate pair.
pub(crate) fn is_readable(row: &DynamicEntity) -> bool {
    !row.properties.contains_key(HALF_PROPERTY)
}

fn same_value(one: &EdmValue, other: &EdmValue) -> bool {
    match (one, other) {
        (EdmValue::Double(one), EdmValue::Double(other)) => {
            one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
        }
        _ => one == other,
    }
}

/// Returns whether two rows have the same properties with the same types and values.
pub(crate) fn same(one: &DynamicEntity, other: &DynamicEntity) -> bool {
    one.properties.len() == other.properties.len()
        && one
            .properties
            .iter()
            .zip(&other.properties)
            .all(|(one, other)| one.0 == other.0 && same_value(one.1, other.1))
}

/// Returns the row without ETag and Timestamp.
pub(crate) fn bare(row: &DynamicEntity) -> DynamicEntity {
    DynamicEntity {
        etag: None,
        timestamp: None,
        ..row.clone()
    }
}

pub(crate) fn json(row: &DynamicEntity) -> String {
    serde_json::to_string(&bare(row)).unwrap()
}

/// A random value of a type by its number, 0 to 7.
pub(crate) fn value(random: &mut Rng, kind: u8) -> EdmValue {
    match kind {
        0 => EdmValue::Int32(*random.choice(&[0, 5, -1, i32::MAX, i32::MIN, 49]).unwrap()),
        1 => EdmValue::Int64(*random.choice(&[0, 5, i64::MAX, i64::MIN, 1 << 53]).unwrap()),
        2 => {
            let numbers = [
                0.0,
                -0.0,
                5.0,
                1.5,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                1e300,
                5e-324,
                454.1,
            ];
            EdmValue::Double(*random.choice(&numbers).unwrap())
        }
        3 => EdmValue::Boolean(random.bool()),
        4 => {
            let first: DateTime = "1601-01-01T00:00:00Z".parse().unwrap();
            let last: DateTime = "9999-12-31T23:59:59.9999999Z".parse().unwrap();
            let ticks = [first.ticks(), last.ticks(), first.ticks() + 1, 638_000_000_000_000_000];
            let some = random.i64(first.ticks()..last.ticks());
            let ticks = random.choice(&ticks).copied().filter(|_| random.bool()).unwrap_or(some);
            EdmValue::DateTime(DateTime::from_ticks(ticks).unwrap())
        }
        5 => EdmValue::Guid(Guid(random.u128(..).to_be_bytes())),
        6 => EdmValue::Binary((0..random.usize(..6)).map(|_| random.u8(..)).collect()),
        _ => EdmValue::String((*random.choice(&TEXTS).unwrap()).into()),
    }
}

/// Sets random properties: `Num` is always an `Int32`, `Any` may have any type.
pub(crate) fn fill(random: &mut Rng, row: &mut DynamicEntity) {
    row.properties.clear();
    let names = ["Num", "Long", "Double", "Flag", "At", "Guid", "Bin", "Text"];
    for (kind, name) in (0_u8..).zip(names) {
        if random.u8(..3) > 0 {
            row.insert(name, value(random, kind));
        }
    }
    if random.bool() {
        let kind = random.u8(..8);
        row.insert("Any", value(random, kind));
    }
}

/// A row with a key that `number` makes different from others.
pub(crate) fn row(random: &mut Rng, number: usize) -> DynamicEntity {
    let partition = *random.choice(&PARTITIONS).unwrap();
    let row_key = match random.u8(..8) {
        0 => format!("r{number:04}'s \u{1F600}"),
        1 => format!("{number:04}"),
        2 => format!("\u{E000}{number:04}\"é"),
        3 => format!("+{number:04},;"),
        _ => format!("r{number:04}"),
    };
    let mut row = DynamicEntity::new(partition, row_key);
    fill(random, &mut row);
    row
}

/// Makes a row unreadable for clients of a server.
pub(crate) fn halve(row: &mut DynamicEntity) {
    row.insert(HALF_PROPERTY, HALF);
}

/// The number of rows of a table: mostly few, sometimes several pages.
pub(crate) fn count(random: &mut Rng) -> usize {
    match random.u8(..60) {
        0..=2 => 0,
        3..=41 => random.usize(1..9),
        42..=54 => random.usize(10..130),
        55..=58 => random.usize(130..1_000),
        _ => random.usize(1_000..3_000),
    }
}

/// The rows of a table, each key once.
pub(crate) fn table(random: &mut Rng, halves: bool) -> Table {
    let count = count(random);
    sized(random, count, halves)
}

/// A table of so many rows.
pub(crate) fn sized(random: &mut Rng, count: usize, halves: bool) -> Table {
    let mut table = Table::new();
    for number in 0..count {
        let mut row = row(random, number);
        if halves && random.usize(..count.clamp(6, 60)) == 0 {
            row.row_key = format!("half{number:04}");
            halve(&mut row);
        }
        table.insert(key(&row), row);
    }
    table
}

/// Changes a property to what looks almost the same: another type, another zero, another absence.
fn change_slightly(row: &mut DynamicEntity) {
    let similar = match row.get("Any") {
        Some(EdmValue::Int32(number)) => EdmValue::Int64((*number).into()),
        Some(EdmValue::Int64(number)) => EdmValue::String(number.to_string().into()),
        Some(EdmValue::Double(number)) => EdmValue::Double(-number),
        Some(EdmValue::String(text)) => EdmValue::String(format!("{text} ").into()),
        Some(_) => return drop(row.remove("Any")),
        None => EdmValue::String("".into()),
    };
    row.insert("Any", similar);
}

/// Another version of a table: most rows are the same, some are changed, missing or new.
pub(crate) fn variant(random: &mut Rng, table: &Table, halves: bool) -> Table {
    let mut other = Table::new();
    for (key, row) in table {
        let mut row = bare(row);
        match random.u8(..8) {
            0 => continue,
            // A folder has no half pairs: its text would be whole.
            _ if !halves && !is_readable(&row) => fill(random, &mut row),
            1 => fill(random, &mut row),
            3 | 4 => change_slightly(&mut row),
            2 if halves => halve(&mut row),
            _ => {}
        }
        other.insert(key.clone(), row);
    }
    for number in 0..random.usize(..4) {
        let mut row = row(random, 5_000 + number);
        if halves && random.u8(..4) == 0 {
            row.row_key = format!("half{number:04}x");
            halve(&mut row);
        }
        other.insert(key(&row), row);
    }
    other
}
