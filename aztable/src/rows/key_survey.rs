//! The keys of a file: whether two rows have the same one, how many are empty, and whether numbers have the digits of a
//! Rust struct.
//!
//! They take up to 40 bytes of memory for each row.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use crate::failure::Done;
use crate::rows::row_source::{ColumnOptions, is_digits};

/// The keys of the rows so far.
#[derive(Default)]
pub(crate) struct KeySurvey {
    /// Halves of their hashes.
    keys: HashSet<[u8; 16]>,
    /// The columns of keys, with the least and the greatest length of their cells, while all are digits, and the number
    /// of empty cells.
    columns: Vec<(String, Option<[usize; 2]>, u64)>,
}

impl KeySurvey {
    /// Begins a file with columns.
    ///
    /// # Errors
    /// Those of [`ColumnOptions::key_names`].
    pub(crate) fn new(options: &ColumnOptions) -> Done<Self> {
        let names = options.key_names()?;
        let columns = names.map(|name| (name.to_owned(), Some([usize::MAX, 0]), 0)).into();
        let keys = HashSet::new();
        Ok(Self { keys, columns })
    }

    /// Adds the key of a row. Returns `false` if an earlier row has it.
    pub(crate) fn add(&mut self, key: (&str, &str)) -> bool {
        for ((_, digits, empty), cell) in self.columns.iter_mut().zip([key.0, key.1]) {
            *empty += u64::from(cell.is_empty());
            let lengths = digits.filter(|_| is_digits(cell));
            *digits = lengths.map(|[least, most]| [least.min(cell.len()), most.max(cell.len())]);
        }
        let hash = Sha256::digest(format!("{key:?}"));
        let mut half = [0; 16];
        half.copy_from_slice(&hash[..16]);
        self.keys.insert(half)
    }

    /// Returns lines for the columns with empty cells, and for those whose numbers have different lengths: a struct would
    /// not find them.
    pub(crate) fn warnings(&self) -> String {
        let warning = |(name, digits, empty): &(String, Option<[usize; 2]>, u64)| {
            let text = "has digits of different lengths, and a number of a Rust struct has zeros before them";
            let uneven = digits.filter(|[least, most]| least < most);
            let uneven = uneven.map(|_| format!("\n  warning: {name} {text}: --pad {name}=10 for u32, 20 for u64"));
            let empty = (*empty > 0).then(|| format!("\n  warning: rows with an empty {name}: {empty}"));
            empty.or(uneven)
        };
        self.columns.iter().filter_map(warning).collect()
    }
}
