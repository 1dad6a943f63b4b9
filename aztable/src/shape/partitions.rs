//! The partitions of a table, and the largest of them.
//!
//! Azure Storage returns rows in the order of their keys: a partition ends where the next begins, and only the largest
//! ones are kept. Rows of Cosmos DB have no order: the partitions are kept up to a limit.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

/// The partitions that are kept.
const MOST: usize = 100_000;
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
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    most: usize,
    kept: HashMap<String, (u64, u64)>,
    current: String,
    /// The partitions that ended, and are too small to be shown.
    ended: u64,
    /// The rows of a partition follow each other.
    are_in_order: bool,
    is_exact: bool,
}

impl Partitions {
    pub(crate) fn new(are_in_order: bool) -> Self {
        Self {
            most: MOST,
            kept: HashMap::new(),
            current: String::new(),
            ended: 0,
            are_in_order,
            is_exact: true,
        }
    }

    pub(crate) fn add(&mut self, partition_key: &str, bytes: u64) {
        let is_next = self.current != partition_key;
        if is_next {
            partition_key.clone_into(&mut self.current);
        }
        if let Some((rows, sum)) = self.kept.get_mut(partition_key) {
            *rows += 1;
            *sum += bytes;
            self.are_in_order &= !is_next;
            // A partition that was counted as ended may go on too.
            self.is_exact &= self.are_in_order || self.ended == 0;
            return;
        }
        if self.kept.len() >= self.most {
            if !self.are_in_order {
                self.is_exact = false;
                return;
            }
            let largest = [
                self.largest(|partition| partition.rows),
                self.largest(|partition| partition.bytes),
            ];
            let before = self.kept.len();
            self.kept = largest
                .into_iter()
                .flatten()
                .map(|partition| (partition.partition_key, (partition.rows, partition.bytes)))
                .collect();
            self.ended += (before - self.kept.len()) as u64;
        }
        self.kept.insert(partition_key.to_owned(), (1, bytes));
    }

    /// Returns the number of partitions.
    pub(crate) fn count(&self) -> u64 {
        self.ended + self.kept.len() as u64
    }

    /// Returns `false` if there are more partitions than are kept, and rows in no order: there may be others.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the largest partitions, the largest first.
    pub(crate) fn largest(&self, size: impl Fn(&Partition) -> u64) -> Vec<Partition> {
        let kept = self.kept.iter().map(|(key, (rows, bytes))| Partition {
            partition_key: key.clone(),
            rows: *rows,
            bytes: *bytes,
        });
        let mut largest: Vec<Partition> = kept.collect();
        largest.sort_by_cached_key(|partition| (Reverse(size(partition)), partition.partition_key.clone()));
        largest.truncate(SHOWN);
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partition `n` has `n` rows of `1,000 - n` bytes.
    fn keys(n: u64) -> (String, u64) {
        (format!("{n:04}"), 1_000 - n)
    }

    fn partitions(are_in_order: bool) -> Partitions {
        Partitions {
            most: 40,
            ..Partitions::new(are_in_order)
        }
    }

    #[test]
    fn few_partitions_are_kept_and_the_largest_are_exact() {
        let mut partitions = partitions(true);
        for n in 1..=200 {
            let (key, bytes) = keys(n);
            (0..n).for_each(|_| partitions.add(&key, bytes));
            assert!(partitions.kept.len() <= 40);
        }
        assert_eq!((partitions.count(), partitions.is_exact()), (200, true));
        let largest = partitions.largest(|partition| partition.rows);
        let rows: Vec<u64> = largest.iter().map(|partition| partition.rows).collect();
        assert_eq!(rows, (191..=200).rev().collect::<Vec<_>>());
        assert_eq!(largest.first().map(|partition| partition.bytes), Some(200 * 800));
    }

    #[test]
    fn rows_without_order_are_counted_or_the_result_says_so() {
        let mut few = partitions(false);
        let mut many = partitions(false);
        for _ in 0..3 {
            (1..=40).for_each(|n| few.add(&keys(n).0, 1));
            (1..=41).for_each(|n| many.add(&keys(n).0, 1));
        }
        assert_eq!((few.count(), few.is_exact()), (40, true));
        assert!(
            few.largest(|partition| partition.rows)
                .iter()
                .all(|partition| partition.rows == 3)
        );
        assert_eq!((many.count(), many.is_exact()), (40, false));
    }

    #[test]
    fn a_partition_that_goes_on_later_shows_that_there_is_no_order() {
        let mut partitions = partitions(true);
        (1..=41).for_each(|n| partitions.add(&keys(n).0, 1));
        assert!(partitions.is_exact());
        partitions.add(&keys(1).0, 1);
        assert!(!partitions.is_exact());
    }
}
