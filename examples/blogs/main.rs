//! The table `Blogs` in the seven steps of the paper, an author's blogs by date and category, and blogs with comments.
//!
//! Sources: "Windows Azure Table" (2009), section 4 and "Deserializing the Different Entity Kinds"; "How to get the
//! most out of Windows Azure Tables" (2010), Table 4.
//!
//! `cargo run --example blogs` runs on an emulator inside of this process. With `AZURE_STORAGE_CONNECTION_STRING` it
//! runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod author;
mod comments;

use std::error::Error;
use std::process::ExitCode;

use azure_table::{DateTime, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};

/// Step 1, the schema. The service does not know it.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: DateTime,
    text: String,
    rating: i32,
}

impl Blog {
    /// A method is not stored.
    fn rating_as_string(&self) -> String {
        "*".repeat(self.rating.try_into().unwrap_or_default())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    seven_steps(&service.table("Blogs")?).await?;
    author::show(&service.table("Authors")?.create_missing_table()).await?;
    comments::show(&service.table("Entries")?.create_missing_table()).await
}

async fn seven_steps(blogs: &TableClient<Blog>) -> Result<(), Box<dyn Error>> {
    blogs.create_table().await?;
    println!("2 create   the table Blogs");

    let hello = blog("Channel9", "29T09:00", "Hello", 3)?;
    blogs.insert(&hello).await?;
    println!("3 insert   a blog into {}", hello.channel);

    for (day, text) in [("29T10:00", "a"), ("29T11:00", "b"), ("30T08:00", "c")] {
        blogs.insert(&blog("Channel_19", day, text, 4)?).await?;
    }
    // A rating is no key: the service reads all blogs of all channels. The paper's query does so.
    let rated_3 = blogs.query().filter(Blog::RATING.eq(3));
    println!(
        "4 query    rated 3, {:?}: {}",
        rated_3.plan()?.path(),
        rated_3.count().await?
    );
    // What a user reads each day: the new blogs of the channels that the user subscribes to, one query for each.
    let since: DateTime = "2008-10-29T09:30:00Z".parse()?;
    let new = blogs
        .query()
        .filter(Blog::POSTED.gt(since))
        .fan_out()
        .partitions(["Channel9", "Channel_19"]);
    println!(
        "4 query    new blogs of 2 channels, {:?} in each: {}",
        new.plan()?.path(),
        new.all().await?.len()
    );

    let mut read = blogs.get(&hello).versioned().await?.ok_or("no such blog")?;
    read.text = "Hi there".into();
    blogs.save(&mut read).await?;
    println!("5 update   {:?}", read.text);

    blogs.delete(&read).await?;
    println!("6 delete   that blog, {} are left", blogs.query().count().await?);

    // Inserts, updates and deletes in one channel are one transaction, under the ETags of the rows that were read.
    let mut stored = blogs.query().partition("Channel_19").versioned().all().await?;
    let [updated, deleted, ..] = stored.as_mut_slice() else {
        return Err("Channel_19 has too few blogs".into());
    };
    updated.rating += 1;
    let mut batch = blogs.batch();
    batch.insert(&blog("Channel_19", "30T09:00", "d", 1)?)?;
    batch.replace(&*updated)?.delete(&*deleted)?;
    println!("7 batch    {} operations, all or none", batch.submit().await?.len());
    for blog in blogs.query().partition("Channel_19").all().await? {
        println!("           {} {} {}", blog.posted, blog.text, blog.rating_as_string());
    }
    Ok(())
}

fn blog(channel: &str, posted: &str, text: &str, rating: i32) -> azure_table::Result<Blog> {
    Ok(Blog {
        channel: channel.into(),
        posted: format!("2008-10-{posted}:00Z").parse::<DateTime>()?,
        text: text.into(),
        rating,
    })
}
