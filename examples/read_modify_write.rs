//! Rows that are read, changed and written back: several in one transaction, one by a merge.
//!
//! Sources: "How to get the most out of Windows Azure Tables" (2010), the favorite movies; "Windows Azure Storage
//! Client for Java Tables Deep Dive" (2012), the scores of gamers.
//!
//! `cargo run --example read_modify_write` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DynamicEntity, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};

/// The movie of the post. The row that it sends also has a revenue, which this program does not know.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Movie {
    #[table(partition_key)]
    category: String,
    #[table(row_key)]
    title: String,
    release_year: i32,
    rating: f64,
    /// A null value is not stored.
    language: Option<String>,
    favorite: bool,
}

/// The part of a gamer that this program knows. Rows have more properties.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Gamer {
    #[table(partition_key)]
    last_name: String,
    #[table(row_key)]
    first_name: String,
    score: i32,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Movies", "Gamers"]).await?;
    favorite_movies(&service.table("Movies")?).await?;
    scores(&service.table("Gamers")?).await
}

/// The action movies rated above 4 become favorites.
async fn favorite_movies(movies: &TableClient<Movie>) -> Result<(), Box<dyn Error>> {
    let any = movies.typed::<DynamicEntity>();
    for (category, title, release_year, rating, language) in [
        ("Action", "Cop Out", 2010, 4.5, Some("English")),
        ("Action", "Law Abiding Citizen", 2009, 4.2, Some("English")),
        ("Action", "Terminator", 1984, 4.8, None),
        ("Action", "White Water Rapids Survival", 2010, 3.9, Some("English")),
        ("Comedy", "The Hangover", 2009, 4.7, Some("English")),
    ] {
        let mut row = DynamicEntity::from_entity(&Movie {
            category: category.into(),
            title: title.into(),
            release_year,
            rating,
            language: language.map(str::to_owned),
            favorite: false,
        })?;
        row.insert("Revenue", 0.5);
        any.insert(&row).await?;
    }
    let favorites = movies.query().filter(Movie::FAVORITE.eq(true));

    // The updates of the post are merges under the ETags of the rows, in one transaction.
    let rated = movies.query().partition("Action").filter(Movie::RATING.gt(4.0));
    let mut batch = movies.batch();
    for mut movie in rated.versioned().all().await? {
        movie.favorite = true;
        batch.merge(&movie)?;
    }
    let rows = batch.submit().await?.len();
    let count = favorites.clone().count().await?;
    println!("movies     {rows} merged in one transaction: {count} favorites");
    for row in any.query().partition("Action").all().await? {
        let properties = row.properties.iter().map(|(name, value)| format!("{name} {value}"));
        println!(
            "           {:<28} {}",
            row.row_key,
            properties.collect::<Vec<_>>().join(", ")
        );
    }

    // The comedy is in another partition, and no transaction has two.
    let all = movies.query().filter(Movie::RATING.gt(4.0));
    let clears = movies.update_where(all, |movie| movie.favorite = false).atomic().await;
    let error = clears.err().ok_or("a transaction has two partitions")?;
    let count = favorites.count().await?;
    println!("movies     {:?}: {count} favorites", error.kind());
    Ok(())
}

/// Reads a gamer, adds 1 to the score and merges it, with a struct and without.
async fn scores(gamers: &TableClient<Gamer>) -> Result<(), Box<dyn Error>> {
    let any = gamers.typed::<DynamicEntity>();
    let mut jeff = DynamicEntity::new("Smith", "Jeff");
    jeff.insert("Score", 41);
    jeff.insert("Clan", "Contoso");
    any.insert(&jeff).await?;

    let mut player = gamers
        .get(("Smith", "Jeff"))
        .versioned()
        .await?
        .ok_or("no such gamer")?;
    player.score += 1;
    gamers.merge(&player).await?;
    println!("gamers     {} by a struct", player.score);

    let mut player = any.get(("Smith", "Jeff")).versioned().await?.ok_or("no such gamer")?;
    let score: i32 = player.property("Score")?;
    player.insert("Score", score + 1);
    any.merge(&player).await?;

    let stored = any.get(("Smith", "Jeff")).await?.ok_or("no such gamer")?;
    let (score, clan): (i32, String) = (stored.property("Score")?, stored.property("Clan")?);
    println!("gamers     {score} without one, of clan {clan}");
    Ok(())
}
