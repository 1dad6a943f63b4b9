//! Expenses and their items in two tables, kept consistent by a log through a crash before any request.
//!
//! Sources: "Composition in Windows Azure Table Storage: choosing the row key and simulating StartsWith" (2010), its
//! tables; "Windows Azure Table" (2009), consistency across tables by recorded work. `composite_keys` reads them.
//!
//! `cargo run --example expenses` runs on an emulator inside of this process. With `AZURE_STORAGE_CONNECTION_STRING`
//! it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::testing::Faults;
use azure_table::{Guid, Key, NoRetry, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::crash::Crash;
use azure_table_examples::expense::{Expense, ExpenseItem, expense};
use azure_table_examples::{connect_with_faults, finish, on_own_tables};
use azure_table_patterns::Log;
use serde::{Deserialize, Serialize};

/// An event of the log.
#[derive(Serialize, Deserialize, Clone)]
struct Saved {
    /// Made by the caller of a save. A save that is repeated after an error has the same, a correction another.
    id: Guid,
    expense: Expense,
    items: Vec<ExpenseItem>,
}

/// The number of events that both tables have.
#[derive(TableEntity)]
#[table(partition_key = "expenses", row_key = "applied")]
struct Progress {
    applied: u64,
}

/// Expenses and items in two tables, and the log that keeps them consistent.
struct Store {
    expenses: TableClient<Expense>,
    items: TableClient<ExpenseItem>,
    log: TableClient,
    progress: TableClient<Progress>,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults) = connect_with_faults()?;
    // Without retries each fault ends the call, as a crash of the process would.
    on_own_tables(&service.retry(NoRetry), async |service| work(service, &faults).await).await
}

async fn work(service: &TableServiceClient, faults: &Faults) -> Result<(), Box<dyn Error>> {
    let tables = ["Expenses", "ExpenseItems", "Log", "Progress"];
    service.ensure_tables(tables).await?;
    let store = Store {
        expenses: service.table("Expenses")?,
        items: service.table("ExpenseItems")?,
        log: service.dynamic_table("Log")?,
        progress: service.table("Progress")?,
    };
    crashes(&store, faults).await
}

/// Saves an expense for each request that a save sends, and lets the process crash before that request.
async fn crashes(store: &Store, faults: &Faults) -> Result<(), Box<dyn Error>> {
    println!("\na crash before each request of a save:\n");
    println!("  before            logged  expense  items    after recovery  expense  items");
    for request in 1_u8.. {
        let (expense, items) = expense(10 + request, "train");
        let id = Guid::random();
        let saved = Saved { id, expense, items };
        let crash = Crash::before(request.into(), faults, store.save(&saved)).await?;
        let before = store.count(&saved).await?;

        // The next process begins with this. It needs to know nothing of the one that crashed.
        let recovered = store.catch_up().await?;
        let after = store.count(&saved).await?;
        let logged = if recovered > 0 || after.0 > 0 { "yes" } else { "no" };
        println!(
            "  {crash:<18}{logged:<6}  {:>7}  {:>5}    {:<14}  {:>7}  {:>5}",
            before.0, before.1, "", after.0, after.1
        );
        if !crash.has_happened() {
            break;
        }
    }
    Ok(())
}

impl Store {
    /// Saves an expense with its items: it is saved once the log has it.
    async fn save(&self, saved: &Saved) -> Result<()> {
        let mut log = Log::open(&self.log, "expenses").await?;
        log.append_once(&saved.id.to_string(), std::slice::from_ref(saved))
            .await?;
        self.catch_up().await?;
        Ok(())
    }

    /// Applies the events that the tables may lack, in their order. Returns their number.
    async fn catch_up(&self) -> Result<u64> {
        let log = Log::<Saved>::open(&self.log, "expenses").await?;
        let first = self.progress.get(()).await?.map_or(0, |progress| progress.applied);
        let mut applied = first;
        let mut events = log.read_from(first);
        while let Some((position, saved)) = events.try_next().await? {
            self.apply(&saved).await?;
            applied = position + 1;
            self.progress.insert_or_replace(&Progress { applied }).await?;
        }
        Ok(applied - first)
    }

    /// Writes an expense and its items. Upserts: applied twice, they leave the same rows.
    async fn apply(&self, saved: &Saved) -> Result<()> {
        self.expenses.insert_or_replace(&saved.expense).await?;
        // A bulk and no batch: an expense may have no item, or more than 100.
        let items = self.items.bulk().insert_or_replace(&saved.items).await?;
        items.ensure_no_leftovers()
    }

    /// Counts the stored rows of an expense, and of its items.
    async fn count(&self, saved: &Saved) -> Result<(usize, usize)> {
        let expense = self.expenses.exists(&saved.expense).await?;
        let items = Key::<ExpenseItem>::prefix((&saved.expense.user, saved.expense.id))?;
        Ok((
            usize::from(expense),
            self.items.query().key_prefix(items).count().await?,
        ))
    }
}
