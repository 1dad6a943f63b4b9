//! Copies a table between accounts, or between a table and a file of JSON lines, and compares the two.
//!
//! `cargo run -p azure-table-examples --example copy_table` copies between two emulators inside of this process, one
//! of Azure Storage and one of Cosmos DB, with an interruption. On accounts each side is a table, or a file `*.jsonl`:
//! `copy_table Quakes Quakes` copies, `copy_table Quakes q.jsonl` dumps, `copy_table q.jsonl Quakes` loads, and
//! `copy_table --diff Quakes q.jsonl` compares. `AZURE_STORAGE_CONNECTION_STRING` is the account of the first side,
//! `AZURE_TABLE_TARGET` that of the second, if it is another. After Ctrl-C the same command resumes.
//!
//! Source: AzCopy 7, which exported and imported tables.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::ExitCode;

use azure_table::query::PageStream;
use azure_table::{Continuation, DynamicEntity, EdmValue, Emulator, TableClient, TableServiceClient};
use azure_table_examples::arguments::Arguments;
use azure_table_examples::job::{Interrupt, PagePosition, PositionFile, append};
use azure_table_examples::{account_of, connect, finish, is_emulated};

const USAGE: &str = "usage: copy_table [--diff] FROM TO    each side a table, or a file *.jsonl";
const PAGE: usize = 1_000;

type Done<T> = Result<T, Box<dyn Error>>;

#[derive(Clone, Debug)]
enum Side {
    Table(TableClient<DynamicEntity>),
    File(PathBuf),
}

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
    let (from, to) = (side(&source, &from)?, side(&target, &to)?);
    let interrupt = Interrupt::listen();
    if arguments.option("diff").is_none() && !copy(&from, &to, &position, || interrupt.is_set()).await? {
        return Err("interrupted: the same command resumes".into());
    }
    diff(&from, &to).await
}

fn side(service: &TableServiceClient, name: &str) -> azure_table::Result<Side> {
    Ok(match name.ends_with(".jsonl") {
        true => Side::File(name.into()),
        false => Side::Table(service.dynamic_table(name)?),
    })
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
        position.bytes = write(to, rows, position.bytes).await?;
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

/// Writes a page. Returns the new length of the file.
async fn write(to: &Side, rows: Vec<DynamicEntity>, bytes: u64) -> Done<u64> {
    let path = match to {
        Side::Table(table) => {
            // An upsert may be sent again, after a crash before the position was saved.
            table.bulk().insert_or_replace(rows).await?.ensure_no_leftovers()?;
            return Ok(bytes);
        }
        Side::File(path) => path,
    };
    let mut lines = Vec::new();
    for row in &rows {
        serde_json::to_writer(&mut lines, row)?;
        lines.push(b'\n');
    }
    Ok(append(path, bytes, &lines)?)
}

/// The rows of a side, page by page, without what belongs to the stored row alone: ETag and Timestamp.
enum Pages {
    Table(PageStream<DynamicEntity>),
    File(Lines<BufReader<File>>),
}

impl Pages {
    fn open(side: &Side, position: &PagePosition) -> Done<Self> {
        Ok(match side {
            Side::Table(table) => Self::Table(table.query().resume_from(position.continuation.clone()).pages()),
            Side::File(path) => {
                let mut lines = BufReader::new(File::open(path)?).lines();
                for line in lines.by_ref().take(position.rows) {
                    line?;
                }
                Self::File(lines)
            }
        })
    }

    /// Returns the next rows, and the continuation after those of a table.
    async fn next(&mut self) -> Done<Option<(Vec<DynamicEntity>, Continuation)>> {
        let (mut rows, continuation) = match self {
            Self::Table(pages) => match pages.try_next().await? {
                Some(page) => {
                    let continuation = page.continuation().clone();
                    (page.into_items(), continuation)
                }
                None => return Ok(None),
            },
            Self::File(lines) => {
                let mut rows = Vec::new();
                for line in lines.take(PAGE) {
                    rows.push(serde_json::from_str(&line?)?);
                }
                if rows.is_empty() {
                    return Ok(None);
                }
                (rows, Continuation::default())
            }
        };
        for row in &mut rows {
            (row.etag, row.timestamp) = (None, None);
        }
        Ok(Some((rows, continuation)))
    }
}

/// Prints the rows that differ. It holds the keys and a hash of each row: Cosmos DB returns rows in no order.
async fn diff(from: &Side, to: &Side) -> Done<()> {
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
    Ok(())
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
    diff(&from, &to).await?;

    println!("\nafter an update, an insert and a delete in the copy:");
    let mut row = copied.get(("network0", "00007")).await?.ok_or("the row is gone")?;
    row.insert("Magnitude", EdmValue::Double(9.5));
    copied.replace(&row).await?;
    copied.insert(&DynamicEntity::new("network9", "00000")).await?;
    copied.delete(("network1", "00001")).await?;
    diff(&from, &to).await?;

    println!("\nto a file of JSON lines, and from the file to a table:");
    copy(&from, &dump, &position, || false).await?;
    copy(&dump, &loaded, &position, || false).await?;
    diff(&from, &loaded).await?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
