//! A year of posts in partitions of a year, a month and a day, and in partitions that follow the season.
//!
//! Source: "Windows Azure Table" (2009), the case study on partition sizes and on a granularity that changes. Its range
//! for the year 2008 finds nothing of 2008: the prefix `Football_7991` is the right one.
//!
//! `cargo run --example partition_granularity` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::key::{Day, Month, Week, Year};
use azure_table::{DateTime, Descending, KeyPrefix, TableClient, TableEntity, TableKey, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};

const DAY: Duration = Duration::from_secs(86_400);

/// PartitionKey: `Football_` and the period, inverted. RowKey: the time, newest first.
#[derive(TableEntity, Clone)]
struct Post {
    #[table(partition_key)]
    period: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
}

/// The rule that finds the partition of a time.
type Rule = fn(DateTime) -> azure_table::Result<String>;

fn football<K: TableKey>(period: K) -> azure_table::Result<String> {
    let mut key = "Football_".to_owned();
    period.write_key(&mut key)?;
    Ok(key)
}

fn by_year(time: DateTime) -> azure_table::Result<String> {
    football(Descending(Year::from(time)))
}

fn by_month(time: DateTime) -> azure_table::Result<String> {
    football(Descending(Month::from(time)))
}

fn by_day(time: DateTime) -> azure_table::Result<String> {
    football(Descending(Day::from(time)))
}

/// A month, and in the season from August to February a week.
fn by_season(time: DateTime) -> azure_table::Result<String> {
    match Month::from(time).month() {
        3..=7 => by_month(time),
        _ => football(Descending(Week::from(time))),
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
    println!();
    println!(
        "{:<6}  {:>10}  {:>7}  {:<32}  {:<35}  2008",
        "period", "partitions", "largest", "7/3/2008", "10/3/2008"
    );
    let rules: [(&str, Rule); 4] = [
        ("year", by_year),
        ("month", by_month),
        ("day", by_day),
        ("season", by_season),
    ];
    for (name, rule) in rules {
        let posts = service.table::<Post>(&format!("By{name}"))?;
        posts.create_table().await?;
        let rows = year_2008(rule)?;
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        rows.iter()
            .for_each(|post| *sizes.entry(&post.period).or_default() += 1);
        posts.bulk().insert(&rows).await?.ensure_no_leftovers()?;
        let largest = sizes.values().max().copied().unwrap_or_default();
        let july = posts_of_a_day(&posts, rule, "2008-07-03T00:00:00Z").await?;
        let october = posts_of_a_day(&posts, rule, "2008-10-03T00:00:00Z").await?;
        let year = posts_of_2008(&posts).await?;
        println!(
            "{name:<6}  {:>10}  {largest:>7}  {july:<32}  {october:<35}  {year}",
            sizes.len()
        );
    }
    println!("\nA day is one request in each. The year is one range, also across the switch of the season.");
    println!("The largest partition limits what one server has to take; the number of partitions, what can be split.");
    Ok(())
}

/// Two posts a day, and twelve in the season; those of the years before and after are not of 2008.
fn year_2008(rule: Rule) -> Result<Vec<Post>, Box<dyn Error>> {
    let start: DateTime = "2007-12-31T00:00:00Z".parse()?;
    let mut posts = Vec::new();
    for day in 0..368 {
        let day = start + DAY * day;
        let count = if (3..=7).contains(&Month::from(day).month()) {
            2
        } else {
            12
        };
        for n in 0..count {
            let posted = day + DAY / count * n;
            posts.push(Post {
                period: rule(posted)?,
                posted: posted.into(),
            });
        }
    }
    Ok(posts)
}

/// All posts of a day: a range of rows in the partition that the rule names.
async fn posts_of_a_day(posts: &TableClient<Post>, rule: Rule, day: &str) -> Result<String, Box<dyn Error>> {
    let start: DateTime = day.parse()?;
    let period = rule(start)?;
    let of_the_day = Post::POSTED.ge(start) & Post::POSTED.lt(start + DAY);
    let query = posts.query().partition(&period).filter(of_the_day);
    let path = query.plan()?.path();
    Ok(format!("{} in {period}, {path:?}", query.count().await?))
}

/// All posts of the year: the partitions that begin with it, whatever follows.
async fn posts_of_2008(posts: &TableClient<Post>) -> Result<String, Box<dyn Error>> {
    let start: DateTime = "2008-01-01T00:00:00Z".parse()?;
    let query = posts.query().under(KeyPrefix::from_partition_text(by_year(start)?)?);
    let path = query.plan()?.path();
    Ok(format!("{}, {path:?}", query.count().await?))
}
