//! The best gamers of a game, whose keys begin with an inverted score.

use std::error::Error;

use azure_table::{DateTime, Descending, Key, TableClient, TableEntity};

/// The best gamer is the first row; of two gamers with the same score, the one who had it last.
#[derive(TableEntity)]
#[table(partition_key = "{game}", row_key = "{score}_{reached}_{gamer}")]
pub(crate) struct Score {
    game: String,
    score: Descending<u32>,
    reached: Descending<DateTime>,
    gamer: String,
}

/// Prints the best gamers, and the number of gamers with the highest score.
pub(crate) async fn show(scores: &TableClient<Score>) -> Result<(), Box<dyn Error>> {
    let start: DateTime = "2012-03-05T00:00:00Z".parse()?;
    let mut batch = scores.batch();
    for (minute, gamer, score) in [
        (1, "Jeff", 980),
        (2, "Ben", 10_000),
        (3, "Ada", 7_150),
        (4, "Walter", 99),
        (5, "Kim", 10_000),
    ] {
        batch.insert(&Score {
            game: "chess".into(),
            score: Descending(score),
            reached: (start + std::time::Duration::from_secs(60 * minute)).into(),
            gamer: gamer.into(),
        })?;
    }
    batch.submit().await?;

    println!("\nthe best three:");
    for score in scores.query().partition("chess").limit(3).all().await? {
        println!("  {:>6}  {:<6} at {}", score.score.0, score.gamer, score.reached);
    }
    // The leading field names a range: all with this score.
    let ten_thousand = Key::<Score>::prefix(("chess", 10_000))?;
    println!(
        "{} gamers have 10000",
        scores.query().key_prefix(ten_thousand).count().await?
    );
    Ok(())
}
