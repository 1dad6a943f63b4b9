//! Rows that come newest first or highest first, because their keys count backwards.
//!
//! Sources: "Windows Azure Table" (2009), retrieving the latest items, by rating and time too, and the home page of a
//! social network; the gamers of "Windows Azure Storage Client for Java Tables Deep Dive" (2012).
//!
//! `cargo run --example latest_first` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod gamers;
mod home_page;

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
    home_page::show(&service.table("Changes")?).await?;
    gamers::show(&service.table("Scores")?).await
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

fn print(blogs: &[Blog]) {
    for blog in blogs {
        println!("  {}  {}", blog.posted, blog.title);
    }
}
