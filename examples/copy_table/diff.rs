//! The comparison of two sides.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use azure_table::DynamicEntity;
use azure_table_examples::Done;
use azure_table_examples::job::PagePosition;

use crate::side::{Pages, Side};

/// Prints the rows that differ, and returns their number. It holds the keys and a hash of each row: Cosmos DB returns
/// rows in no order.
pub(crate) async fn diff(from: &Side, to: &Side) -> Done<usize> {
    let mut expected = BTreeMap::new();
    let mut pages = Pages::open(from, &PagePosition::default())?;
    while let Some((rows, _)) = pages.next().await? {
        expected.extend(rows.iter().map(|row| (key(row), hash(row))));
    }
    let (mut equal, mut changed, mut extra) = (0, 0, 0);
    let mut pages = Pages::open(to, &PagePosition::default())?;
    while let Some((rows, _)) = pages.next().await? {
        for row in rows {
            let (count, mark) = match expected.remove(&key(&row)) {
                Some(known) if known == hash(&row) => (&mut equal, None),
                Some(_) => (&mut changed, Some('~')),
                None => (&mut extra, Some('+')),
            };
            *count += 1;
            if let (Some(mark), 1..=10) = (mark, *count) {
                println!("         {mark} {} {}", row.partition_key, row.row_key);
            }
        }
    }
    for (partition, row) in expected.keys().take(10) {
        println!("         - {partition} {row}");
    }
    println!(
        "diff       {equal} equal, {changed} changed, {} missing, {extra} extra",
        expected.len()
    );
    Ok(changed + expected.len() + extra)
}

fn key(row: &DynamicEntity) -> (String, String) {
    (row.partition_key.clone(), row.row_key.clone())
}

fn hash(row: &DynamicEntity) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, value) in &row.properties {
        (name, value.edm_type().name(), value.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}
