//! An expense and its items, as the post on composite keys has them.
//!
//! Source: "Composition in Windows Azure Table Storage: choosing the row key and simulating StartsWith" (2010).

use azure_table::{DateTime, Descending, TableEntity};
use serde::{Deserialize, Serialize};

/// RowKey: the inverted time of the expense, so that the newest comes first.
#[derive(TableEntity, Serialize, Deserialize, Clone, Debug)]
pub struct Expense {
    /// The user who spent the money.
    #[table(partition_key)]
    pub user: String,
    /// The time, which identifies the expense.
    #[table(row_key)]
    pub id: Descending<DateTime>,
    /// The purpose of the money.
    pub title: String,
}

/// RowKey: the expense, `_`, the number. All items of an expense are one range of keys.
#[derive(TableEntity, Serialize, Deserialize, Clone, Debug)]
#[table(row_key = "{expense}_{number:02}")]
pub struct ExpenseItem {
    /// The user of the expense.
    #[table(partition_key)]
    pub user: String,
    /// The RowKey of the expense.
    pub expense: Descending<DateTime>,
    /// The number of the item in its expense, from 1.
    pub number: u8,
    /// The price.
    pub cents: i64,
}

/// Creates an expense of two items, this many days after April 23, 2010.
pub fn expense(day: u8, title: &str) -> (Expense, Vec<ExpenseItem>) {
    let id = Descending(DateTime::from_unix_seconds(1_272_000_000 + 86_400 * i64::from(day)));
    let user = || "ada".to_owned();
    let item = |number| ExpenseItem {
        user: user(),
        expense: id,
        number,
        cents: 250 * i64::from(number),
    };
    let expense = Expense {
        user: user(),
        id,
        title: title.to_owned(),
    };
    (expense, vec![item(1), item(2)])
}
