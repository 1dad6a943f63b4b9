//! Copies a table between accounts, or between a table and a file of JSON lines, and compares the two.
//!
//! `cargo run -p azure-table-examples --example copy_table` copies between two emulators inside of this process, one
//! of Azure Storage and one of Cosmos DB, with an interruption. On accounts each side is a table, or a file `*.jsonl`:
//! `copy_table Quakes Quakes` copies, `copy_table Quakes q.jsonl` dumps, `copy_table q.jsonl Quakes` loads, and
//! `copy_table --diff Quakes q.jsonl` compares and fails if rows differ. `AZURE_STORAGE_CONNECTION_STRING` is the
//! account of the first side.
//! `AZURE_TABLE_TARGET` is the second side's account, if it differs. After Ctrl-C the same command resumes.
//!
//! Source: AzCopy 7, which exported and imported tables.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod diff;
mod side;

use std::process::ExitCode;

use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, EdmValue, Emulator, TableServiceClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::job::{Interrupt, PagePosition, PositionFile};
use azure_table_examples::{Done, account_of, connect, finish, is_emulated};

use crate::diff::diff;
use crate::side::{Pages, Side};

const USAGE: &str = "usage: copy_table [--diff] FROM TO    each side a table, or a file *.jsonl";

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    let arguments = Arguments::parse(USAGE, &["diff"])?;
    if arguments.is_empty() && is_emulated() {
        return demonstration().await;
    }
    let [from, to] = arguments.values()?;
    let source = connect()?;
    let target = account_of("AZURE_TABLE_TARGET")?.unwrap_or_else(|| source.clone());
    let place = |service: &TableServiceClient, side: &str| {
        let account = service.account().unwrap_or_default();
        format!("{account}-{}", side.replace(['/', '.'], "-"))
    };
    let position = format!("{}-to-{}.position", place(&source, &from), place(&target, &to));
    let position = PositionFile::new(position);
    let is_same = place(&source, &from).eq_ignore_ascii_case(&place(&target, &to));
    let (from, to) = (Side::named(&from, &source)?, Side::named(&to, &target)?);
    if is_same || from.is_same_file(&to) {
        return Err("both sides are the same: set AZURE_TABLE_TARGET, or name another table or file".into());
    }
    let interrupt = Interrupt::listen();
    if arguments.option("diff").is_none() && !copy(&from, &to, &position, || interrupt.is_set()).await? {
        return Err("interrupted: the same command resumes".into());
    }
    match diff(&from, &to).await? {
        0 => Ok(()),
        differences => Err(format!("{differences} rows differ").into()),
    }
}

/// Copies from the stored position on. Returns whether the whole is copied, or `stop` ended it.
async fn copy(from: &Side, to: &Side, file: &PositionFile, mut stop: impl FnMut() -> bool) -> Done<bool> {
    let mut position: PagePosition = file.load()?.unwrap_or_default();
    if position.rows > 0 {
        println!("resume     after {} rows", position.rows);
    }
    if let Side::Table(table) = to {
        table.create_table_if_not_exists().await?;
    }
    let mut pages = Pages::open(from, &position)?;
    while let Some((rows, continuation)) = pages.next().await? {
        position.rows += rows.len();
        position.bytes = to.write(rows, position.bytes).await?;
        position.continuation = continuation;
        file.save(&position)?;
        // The continuation of a file is never finished.
        if !position.continuation.is_finished() && stop() {
            println!("stopped    after {} rows", position.rows);
            return Ok(false);
        }
    }
    println!("copied     {} rows", position.rows);
    file.delete()?;
    Ok(true)
}

async fn demonstration() -> Done<()> {
    let storage = Emulator::new();
    storage.seed(
        "Quakes",
        (0..3_500_i64).map(|n| {
            let mut row = DynamicEntity::new(format!("network{}", n % 7), format!("{n:05}"));
            row.insert("Felt", n * 1_000_000_000);
            row.insert("Magnitude", EdmValue::Double(n as f64 / 1_000.0));
            row
        }),
    )?;
    let quakes = TableServiceClient::from_transport(storage).dynamic_table("Quakes")?;
    let cosmos = TableServiceClient::from_transport(Emulator::cosmos());
    let folder = std::env::temp_dir().join(format!("copy_table-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let position = PositionFile::new(folder.join("position"));
    let copied = cosmos.dynamic_table("Quakes")?;
    let loaded = Side::Table(cosmos.dynamic_table("Loaded")?);
    let dump = Side::File(folder.join("quakes.jsonl"));
    let (from, to) = (Side::Table(quakes), Side::Table(copied.clone()));

    println!("\nfrom an emulator of Azure Storage to one of Cosmos DB, interrupted after its second page:");
    let mut pages = 0;
    copy(&from, &to, &position, || {
        pages += 1;
        pages == 2
    })
    .await?;
    copy(&from, &to, &position, || false).await?;
    assert_eq!(diff(&from, &to).await?, 0);

    println!("\nafter an update, an insert and a delete in the copy:");
    let mut row = copied.get(("network0", "00007")).await?.ok_or("the row is gone")?;
    row.insert("Magnitude", EdmValue::Double(9.5));
    copied.replace(&row).await?;
    copied.insert(&DynamicEntity::new("network9", "00000")).await?;
    copied.delete(("network1", "00001")).await?;
    assert_eq!(diff(&from, &to).await?, 3);

    println!("\nto a file of JSON lines, and from the file to a table:");
    copy(&from, &dump, &position, || false).await?;
    copy(&dump, &loaded, &position, || false).await?;
    assert_eq!(diff(&from, &loaded).await?, 0);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
