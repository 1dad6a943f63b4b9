//! Rows with a version: old ones are read at once, and rewritten on access, or by a worker while the program serves.
//!
//! Source: "Windows Azure Table" (2009), "Upgrade and Versioning": a version property, upgrade on access and in the
//! background. See the attributes `alias`, `default` and `upgrade` in the guide on entities.
//!
//! `cargo run --example schema_upgrade` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod film;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{DynamicEntity, Result, TableClient, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, is_emulated, on_own_tables};

use crate::film::{Film, FilmV1, VERSION};

// The clock of a runtime with one thread can be paused.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults) = connect_with_faults()?;
    if is_emulated() {
        // Delays end when no task has anything else to do.
        tokio::time::pause();
    }
    on_own_tables(&service, async |service| work(service, &faults).await).await
}

async fn work(service: &TableServiceClient, faults: &Faults) -> Result<(), Box<dyn Error>> {
    let films = service.table::<Film>("Films")?;
    films.create_table().await?;
    let old = films.typed::<FilmV1>();
    let mut batch = old.batch();
    for (title, stars, euros) in [
        ("M", 5, 9.99),
        ("Metropolis", 4, 12.5),
        ("Nosferatu", 4, 7.0),
        ("Vampyr", 2, 4.25),
    ] {
        batch.insert(&FilmV1 {
            genre: "classic".into(),
            title: title.into(),
            version: 1,
            stars,
            euros,
        })?;
    }
    batch.submit().await?;
    show(&films, "written by version 1").await?;

    println!("\nread by version 2:");
    for film in films.query().partition("classic").all().await? {
        println!(
            "  {:<12} rating {}  {:>5} cents  {}",
            film.title, film.rating, film.cents, film.language
        );
    }

    // A filter is sent to the service, which knows the stored names alone.
    let good = films.query().partition("classic").filter(Film::RATING.ge(4));
    println!("\nfilms with {}: {}", Film::RATING.ge(4), good.clone().count().await?);

    films.modify(("classic", "M"), |film| film.rating = 5).await?;
    show(&films, "after a change of one by version 2").await?;

    println!("\nfilms of version 1: {}", of_version_1(&films).await?);
    in_background(&films, faults).await?;
    show(&films, "after upgrade_where").await?;
    println!("\nfilms with {}: {}", Film::RATING.ge(4), good.count().await?);
    println!(
        "films of version 1: {}, so that alias, default and upgrade can go",
        of_version_1(&films).await?
    );
    Ok(())
}

/// A worker upgrades the rows of the older version, while two programs go on to edit films that it has read.
async fn in_background(films: &TableClient<Film>, faults: &Faults) -> Result<(), Box<dyn Error>> {
    // The worker has read its rows when it sends its first batch. The batch arrives after both edits.
    let delay = Fault::DelayRequest(Duration::from_millis(500));
    let delay = faults.add(FaultRule::new(delay).on(OperationKind::Batch).first(1));
    let worker = tokio::spawn(upgrade_all(films.clone()));
    while delay.hits() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    films.modify(("classic", "Metropolis"), |film| film.rating = 1).await?;
    println!("\nedited by version 2 meanwhile: Metropolis, rating 1");
    let old = films.typed::<FilmV1>();
    old.modify(("classic", "Nosferatu"), |film| film.stars = 5).await?;
    println!("edited by version 1 meanwhile: Nosferatu, stars 5");
    worker.await??;
    faults.remove(&delay);
    Ok(())
}

/// Upgrades the rows of the older version. A row that was edited after it was read is left over: the next run reads it.
///
/// `stars` and `euros` go, because the alias and the function replace them. Any other property that the struct does not
/// know would stay.
async fn upgrade_all(films: TableClient<Film>) -> Result<()> {
    loop {
        let report = films.upgrade_where(Film::VERSION.lt(VERSION)).await?;
        println!("upgrade_where: {report}");
        if report.changed() == 0 {
            return report.ensure_no_leftovers();
        }
    }
}

async fn of_version_1(films: &TableClient<Film>) -> Result<usize> {
    films.query().filter(Film::VERSION.lt(VERSION)).count().await
}

/// The rows as they are stored.
async fn show(films: &TableClient<Film>, when: &str) -> Result<()> {
    println!("\nstored, {when}:");
    for row in films.typed::<DynamicEntity>().query().all().await? {
        let properties: Vec<String> = row
            .properties
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        println!("  {:<12} {}", row.row_key, properties.join(", "));
    }
    Ok(())
}
