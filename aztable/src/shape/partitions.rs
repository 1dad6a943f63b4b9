//! The partitions of a table, and the largest of them, from rows in the order of their keys.

use serde::Serialize;

/// The partitions that are shown.
const SHOWN: usize = 10;

/// The rows of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Partition {
    pub(crate) partition_key: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// The partitions so far.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    pub(crate) count: u64,
    /// The last partition, which may go on.
    last: Partition,
    by_rows: Vec<Partition>,
    by_bytes: Vec<Partition>,
}

impl Partitions {
    /// Adds a row. The rows of a partition follow each other.
    pub(crate) fn add(&mut self, partition_key: &str, bytes: u64) {
        if self.count == 0 || self.last.partition_key != partition_key {
            self.end_last();
            self.count += 1;
            self.last.partition_key = partition_key.to_owned();
        }
        self.last.rows += 1;
        self.last.bytes += bytes;
    }

    /// Returns the partitions with the most rows and those with the most bytes, the largest first.
    pub(crate) fn largest(mut self) -> [Vec<Partition>; 2] {
        self.end_last();
        [self.by_rows, self.by_bytes]
    }

    fn end_last(&mut self) {
        let last = std::mem::take(&mut self.last);
        keep(&mut self.by_bytes, last.clone(), |partition| partition.bytes);
        keep(&mut self.by_rows, last, |partition| partition.rows);
    }
}

/// Keeps a partition if it is one of the largest.
fn keep(largest: &mut Vec<Partition>, partition: Partition, size: fn(&Partition) -> u64) {
    if partition.rows > 0 {
        let place = largest.partition_point(|larger| size(larger) >= size(&partition));
        largest.insert(place, partition);
        largest.truncate(SHOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_partitions_are_kept() {
        let mut partitions = Partitions::default();
        // Partition `n` has `n` rows of `1,000 - n` bytes.
        for n in 1..=900 {
            (0..n).for_each(|_| partitions.add(&format!("{n:04}"), 1_000 - n));
        }
        assert_eq!(partitions.count, 900);
        let [by_rows, by_bytes] = partitions.largest();
        let rows: Vec<_> = by_rows.iter().map(|partition| partition.rows).collect();
        assert_eq!(rows, (891..=900).rev().collect::<Vec<_>>());
        let bytes: Vec<_> = by_bytes
            .iter()
            .map(|partition| (partition.rows, partition.bytes))
            .collect();
        assert_eq!(bytes[..3], [(500, 250_000), (499, 249_999), (501, 249_999)]);
    }
}
