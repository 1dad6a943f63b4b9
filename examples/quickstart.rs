//! A week of earthquakes: load 1,707 events, read one, change one, stream a query.
//!
//! `cargo run --example quickstart` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account: Azure, Cosmos DB or Azurite.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DateTime, Descending, TableClient, TableEntity, Versioned};
use azure_table_examples::earthquakes;
use azure_table_examples::steps::{Steps, thousands};
use azure_table_examples::{connect, finish};
use indicatif::ProgressBar;
use serde::Deserialize;

/// PartitionKey: the seismic network. RowKey: inverted time, `_`, event id, so that the latest quake comes first.
#[derive(TableEntity, Deserialize, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase", row_key = "{time}_{id}")]
struct Quake {
    #[table(partition_key)]
    #[serde(rename = "net")]
    network: String,
    #[serde(deserialize_with = "earthquakes::milliseconds")]
    time: Descending<DateTime>,
    id: String,
    #[serde(rename = "mag")]
    magnitude: Option<f64>,
    place: String,
    longitude: f64,
    latitude: f64,
    /// In kilometres.
    depth: f64,
    /// The number of people who reported it; absent for most.
    felt: Option<i32>,
    status: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let service = connect()?;
    // A name of its own: a dropped table's name is not free again for a while.
    let table = format!("Quakes{}", DateTime::now().unix_millis());
    let quakes = service.table::<Quake>(&table)?;
    let mut step = Steps::start();
    quakes.create_table_if_not_exists().await?;
    step.done(format!("created    table {table}"));

    let result = work(&quakes, &mut step).await;
    let dropped = quakes.delete_table().await;
    result?;
    dropped?;
    step.done(format!("dropped    table {table}"));
    Ok(())
}

async fn work(quakes: &TableClient<Quake>, step: &mut Steps) -> Result<(), Box<dyn Error>> {
    let events: Vec<Quake> = earthquakes::read()?;
    step.done(format!(
        "read       {} events from the file",
        thousands(events.len() as u64)
    ));

    // Grouped by partition, up to 100 rows per batch, 32 batches at the same time.
    let progress = ProgressBar::new(events.len() as u64);
    let report = quakes
        .bulk()
        .insert_or_replace(&events)
        .on_progress(|so_far| progress.set_position(so_far.applied()))
        .await?;
    progress.finish_and_clear();
    report.ensure_no_leftovers()?;
    step.done(format!("loaded     {} events", thousands(report.applied())));

    let strength = |quake: &Quake| quake.magnitude.unwrap_or(f64::MIN);
    let strongest = events
        .iter()
        .max_by(|a, b| strength(a).total_cmp(&strength(b)))
        .ok_or("no events")?;
    let key = (&strongest.network, strongest.time, &strongest.id);
    let quake = quakes.get(key).await?.ok_or("the strongest quake is not there")?;
    step.done(format!("got        {} {}", magnitude(&quake), quake.place));

    let mut quake: Versioned<Quake> = quakes.get(&quake).versioned().await?.ok_or("the quake is gone")?;
    quake.status = "reviewed twice".into();
    quake.etag = quakes.replace(&quake).await?;
    step.done(format!("changed    {} under its ETag", quake.id));

    // The constants come from the derive: wrong names and wrong types do not compile.
    let strong = quakes
        .query()
        .partition("us")
        .filter(Quake::MAGNITUDE.ge(4.5))
        .page_size(25);
    let mut pages = strong.pages();
    let mut newest: Vec<Quake> = Vec::new();
    let (mut found, mut page_count) = (0, 0);
    while let Some(page) = pages.try_next().await? {
        page_count += 1;
        found += page.items().len();
        newest.extend(page.into_items().into_iter().take(5 - newest.len().min(5)));
    }
    step.done(format!(
        "streamed   {found} events of network us with magnitude >= 4.5 in {page_count} pages"
    ));

    println!("\n           magnitude  time (UTC)                place");
    for quake in &newest {
        println!(
            "           {:>9}  {:<24}  {}",
            magnitude(quake),
            quake.time.to_string(),
            quake.place
        );
    }
    println!("           … and {} older ones\n", found - newest.len());
    Ok(())
}

fn magnitude(quake: &Quake) -> String {
    quake
        .magnitude
        .map_or("?".into(), |magnitude| format!("{magnitude:.1}"))
}
