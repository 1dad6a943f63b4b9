//! An expense with its items by two queries over two tables, and by one range read of composite keys.
//!
//! Source: "Composition in Windows Azure Table Storage: choosing the row key and simulating StartsWith" (2010) and its
//! method `GetExpenseById`.
//!
//! | row | PartitionKey | RowKey |
//! |---|---|---|
//! | `Expense` | the user | `{id}`: its inverted time, so that the newest comes first |
//! | `ExpenseItem` | the user | `{expense}_{number:02}`: the expense, `_`, the number |
//!
//! `cargo run --example composite_keys` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::query::Families;
use azure_table::{DateTime, Descending, Key, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::expense::{Expense, ExpenseItem, expense};
use azure_table_examples::{connect, finish, on_own_tables};

/// Both kinds in one table: an expense is followed by its items.
#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Row {
    Expense(Expense),
    Item(ExpenseItem),
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Expenses", "ExpenseItems", "Composite"]).await?;
    let (expenses, items) = (service.table("Expenses")?, service.table("ExpenseItems")?);
    let rows = service.table("Composite")?;
    for (day, title) in [(1, "taxi"), (2, "hotel")] {
        let (expense, its_items) = expense(day, title);
        insert_in_two_tables(&expenses, &items, &expense, &its_items).await?;
        insert_in_one_table(&rows, expense, its_items).await?;
    }
    let (taxi, _) = expense(1, "taxi");
    get_expense_by_id(&expenses, &items, taxi.id).await?;
    get_by_composite_keys(&rows, &taxi.user, taxi.id).await
}

/// The query of the post: the expense by its RowKey alone, then its items.
async fn get_expense_by_id(
    expenses: &TableClient<Expense>,
    items: &TableClient<ExpenseItem>,
    id: Descending<DateTime>,
) -> Result<(), Box<dyn Error>> {
    let query = expenses.query().filter(Expense::ID.eq(id));
    println!("\ntwo tables, two queries:");
    println!("  the expense   {:?}, as no partition is given", query.plan()?.path());
    let expense = query.allow_table_scan().first().await?.ok_or("no such expense")?;

    // The prefix ends with the field: the post adds one to the character behind it.
    let prefix = Key::<ExpenseItem>::prefix((&expense.user, id))?;
    let query = items.query().key_prefix(prefix.clone());
    println!("  its items     {:?}, {prefix}", query.plan()?.path());
    print(&expense, &query.all().await?);
    Ok(())
}

/// The same in one table: the expense and its items are one range of keys.
async fn get_by_composite_keys(
    rows: &TableClient<Row>,
    user: &str,
    id: Descending<DateTime>,
) -> Result<(), Box<dyn Error>> {
    let expense = Key::<Expense>::prefix((user, id))?.into_enum();
    let items = Key::<ExpenseItem>::prefix((user, id))?.into_enum();
    let query = rows.query().key_prefixes([expense, items]);
    println!("\none table, one query:");
    println!("  both          {:?}", query.plan()?.path());
    let read: Families<Expense, ExpenseItem> = query.gather().await?;
    for (expense, items) in read.iter() {
        print(expense, items);
    }
    Ok(())
}

/// Two tables have no transaction in common: a crash in between leaves an expense without items. See `expenses`.
async fn insert_in_two_tables(
    expenses: &TableClient<Expense>,
    items: &TableClient<ExpenseItem>,
    expense: &Expense,
    its_items: &[ExpenseItem],
) -> Result<()> {
    expenses.insert(expense).await?;
    let mut batch = items.batch();
    for item in its_items {
        batch.insert(item)?;
    }
    batch.submit().await?;
    Ok(())
}

/// One table, one partition, one transaction.
async fn insert_in_one_table(rows: &TableClient<Row>, expense: Expense, items: Vec<ExpenseItem>) -> Result<()> {
    let mut batch = rows.batch();
    batch.insert(&Row::Expense(expense))?;
    for item in items {
        batch.insert(&Row::Item(item))?;
    }
    batch.submit().await?;
    Ok(())
}

fn print(expense: &Expense, items: &[ExpenseItem]) {
    println!("    {} of {}, {}", expense.title, expense.user, expense.id);
    for item in items {
        println!("      {:02}  {:>4} cents", item.number, item.cents);
    }
}
