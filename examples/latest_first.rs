//! Rows that come newest first or highest first, because their keys count backwards.
//!
//! Sources: "Windows Azure Table" (2009), retrieving the latest items, by rating and time too, and the home page of a
//! social network; the gamers of "Windows Azure Storage Client for Java Tables Deep Dive" (2012).
//!
//! `cargo run --example latest_first` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DateTime, Descending, Key, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};

/// The latest blog of a channel is its first row.
#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
    title: String,
}

/// The best gamer is the first row; of two gamers with the same score, the one who had it last.
#[derive(TableEntity)]
#[table(partition_key = "{game}", row_key = "{score}_{reached}_{gamer}")]
struct Score {
    game: String,
    score: Descending<u32>,
    reached: Descending<DateTime>,
    gamer: String,
}

/// A change by a user, of any kind. The time comes before the kind, since the home page shows all kinds.
#[derive(TableEntity)]
#[table(tag = "Kind")]
enum Change {
    Wrote(Post),
    Uploaded(Photo),
}

#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{created}_Blog")]
struct Post {
    user: String,
    created: Descending<DateTime>,
    text: String,
}

#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{created}_Photo")]
struct Photo {
    user: String,
    created: Descending<DateTime>,
    caption: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Blogs", "Changes", "Scores"]).await?;
    latest_blogs(&service.table("Blogs")?).await?;
    home_page(&service.table("Changes")?).await?;
    best_gamers(&service.table("Scores")?).await
}

async fn latest_blogs(blogs: &TableClient<Blog>) -> Result<(), Box<dyn Error>> {
    for (day, title) in [(1, "Kick-off"), (8, "A draw"), (15, "Extra time"), (22, "The final")] {
        let posted = format!("2008-10-{day:02}T10:00:00Z").parse::<DateTime>()?;
        let blog = Blog {
            channel: "Football".into(),
            posted: posted.into(),
            title: title.into(),
        };
        println!("{posted}  {:<12}  RowKey {}", blog.title, Key::of(&blog)?.row_key());
        blogs.insert(&blog).await?;
    }

    println!("\nthe latest two:");
    print(&blogs.query().partition("Football").limit(2).all().await?);

    // A condition on the field thinks in times: newer is greater, though the text of the key is less.
    let since: DateTime = "2008-10-08T10:00:00Z".parse()?;
    let newer = blogs.query().partition("Football").filter(Blog::POSTED.gt(since));
    println!("\nnewer than {since}, {:?}:", newer.plan()?.path());
    print(&newer.all().await?);
    Ok(())
}

/// The latest changes of a user, of all kinds and of one.
async fn home_page(changes: &TableClient<Change>) -> Result<(), Box<dyn Error>> {
    let mut batch = changes.batch();
    for (day, text) in [
        (3, "hello"),
        (4, "photo of a boat"),
        (9, "on a boat"),
        (11, "photo of a gull"),
    ] {
        let created = format!("2009-05-{day:02}T12:00:00Z").parse::<DateTime>()?.into();
        let (user, text) = ("joe".to_owned(), text.to_owned());
        if let Some(caption) = text.strip_prefix("photo of ").map(str::to_owned) {
            let photo = Photo { user, created, caption };
            batch.insert(&Change::Uploaded(photo))?;
        } else {
            batch.insert(&Change::Wrote(Post { user, created, text }))?;
        }
    }
    batch.submit().await?;

    println!("\nthe home page of joe, the latest three:");
    for change in changes.query().partition("joe").limit(3).all().await? {
        match change {
            Change::Wrote(Post { created, text, .. }) => println!("  {created}  Blog   {text}"),
            Change::Uploaded(Photo { created, caption, .. }) => println!("  {created}  Photo  {caption}"),
        }
    }
    // A range from `…_Photo` to `…_Photo`, as the paper has it, is one of times alone: the kind is a filter.
    let photos = changes.variant::<Photo>().query().partition("joe");
    println!("\nphotos only, {:?}:", photos.plan()?.path());
    for Photo { created, caption, .. } in photos.all().await? {
        println!("  {created}  Photo  {caption}");
    }
    Ok(())
}

async fn best_gamers(scores: &TableClient<Score>) -> Result<(), Box<dyn Error>> {
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

fn print(blogs: &[Blog]) {
    for blog in blogs {
        println!("  {}  {}", blog.posted, blog.title);
    }
}
