//! A property added, one renamed and one of another type: old rows are read at once, and rewritten on access or all.
//!
//! Source: "Windows Azure Table" (2009), "Upgrade and Versioning": on access and in the background. See the attributes
//! `alias`, `default` and `upgrade` in the guide on entities.
//!
//! `cargo run --example schema_upgrade` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DynamicEntity, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};

/// The first version of the program.
#[derive(TableEntity, Clone)]
struct FilmV1 {
    #[table(partition_key)]
    genre: String,
    #[table(row_key)]
    title: String,
    stars: i32,
    euros: f64,
}

/// The present version. A row of the first one lacks `cents`, so it is given to `from_version_1`.
#[derive(TableEntity, Debug)]
#[table(upgrade = "from_version_1")]
struct Film {
    #[table(partition_key)]
    genre: String,
    #[table(row_key)]
    title: String,
    /// Renamed: it was `stars`.
    #[table(alias = "stars")]
    rating: i32,
    /// Of another type: it was `euros`, a double.
    cents: i64,
    /// Added.
    #[table(default = "english")]
    language: String,
}

fn english() -> String {
    "en".into()
}

/// Takes the price of the first version, which `upgrade_where` then removes from the stored row.
fn from_version_1(row: &mut DynamicEntity) -> Result<Film> {
    let euros: f64 = row.take_property("euros")?;
    row.insert("cents", (euros * 100.0).round() as i64);
    row.to_entity()
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
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

    // The rest in the background. `stars` and `euros` go, because the alias and the function replace them. Any other
    // property that the struct does not know would stay.
    let background = tokio::spawn({
        let films = films.clone();
        async move { films.upgrade_where(films.query()).await }
    });
    let report = background.await??;
    println!("\nupgrade_where: {report}");
    show(&films, "after upgrade_where").await?;
    println!("\nfilms with {}: {}", Film::RATING.ge(4), good.count().await?);
    let again = films.upgrade_where(films.query()).await?;
    println!("upgrade_where again: {again}, so that alias, default and upgrade can go");
    Ok(())
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
