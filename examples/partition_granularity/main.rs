//! The case study of the paper: a year of blogs in partitions of five sizes, judged by the paper's queries.
//!
//! Source: "Windows Azure Table" (2009), the micro blogging case study: a few large partitions, many small ones, an
//! intermediate size, and a granularity that changes. Its range for 2008 finds nothing of 2008: use prefixes.
//!
//! `cargo run --example partition_granularity` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod year;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::emulator::PageEnds;
use azure_table::key::{Month, Week};
use azure_table::telemetry::CostMeter;
use azure_table::{
    DateTime, Descending, Emulator, KeyPrefix, Result, TableClient, TableEntity, TableKey, TableQuery,
    TableServiceClient,
};
use azure_table_examples::columns::Columns;
use azure_table_examples::{connect, finish, is_emulated, on_own_tables};

use crate::year::{blogs_of_a_year, is_season, midnight};

const SECOND: Duration = Duration::from_secs(1);

/// PartitionKey: the channel, alone or with a time. RowKey: the time, newest first.
#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
}

/// Names the partition of a blog by its channel and time.
type Rule = fn(&str, DateTime) -> Result<String>;

/// The tables and their rules, from the largest partitions to one for each blog.
const SIZES: [(&str, Rule); 5] = [
    ("Channel", |channel, _| Ok(channel.to_owned())),
    ("ChannelMonth", |channel, time| {
        key(channel, Descending(Month::from(time)))
    }),
    ("ChannelSeason", by_season),
    ("ChannelWeek", |channel, time| {
        key(channel, Descending(Week::from(time)))
    }),
    ("ChannelTime", |channel, time| key(channel, Descending(time))),
];

/// A week in the season, or else a month.
fn by_season(channel: &str, time: DateTime) -> Result<String> {
    if is_season(time) {
        key(channel, Descending(Week::from(time)))
    } else {
        key(channel, Descending(Month::from(time)))
    }
}

fn key<K: TableKey>(channel: &str, period: K) -> Result<String> {
    let mut key = format!("{channel}_");
    period.write_key(&mut key)?;
    Ok(key)
}

/// The queries of the paper, at the first midnight of January 2, 2009.
fn queries(blogs: &TableClient<Blog>, rule: Rule) -> Result<[(&'static str, TableQuery<Blog>); 8]> {
    let prefix = |text: &str| KeyPrefix::from_partition_text(text);
    let days = |first: &str, end: &str| -> Result<TableQuery<Blog>> {
        let (first, end) = (midnight(first)?, midnight(end)?);
        // The newest partition comes first.
        let (from, to) = (rule("Football", end - SECOND)?, rule("Football", first)?);
        let query = if from == to {
            blogs.query().partition(&from)
        } else {
            blogs.query().between(prefix(&from)?, prefix(&to)?)
        };
        Ok(query.filter(Blog::POSTED.ge(first) & Blog::POSTED.lt(end)))
    };
    let all = if rule("Football", midnight("2009-01-01")?)?.contains('_') {
        blogs.query().key_prefix(prefix("Football_")?)
    } else {
        blogs.query().partition("Football")
    };
    Ok([
        ("10 most recent", all.clone().limit(10)),
        ("all", all),
        ("past day", days("2009-01-01", "2009-01-02")?),
        ("past week", days("2008-12-26", "2009-01-02")?),
        ("October 2008", days("2008-10-01", "2008-11-01")?),
        ("2008", days("2008-01-01", "2009-01-01")?),
        ("7/3/2008", days("2008-07-03", "2008-07-04")?),
        ("10/3/2008", days("2008-10-03", "2008-10-04")?),
    ])
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let service = connect()?;
    println!("\nThe access path of each query, and its requests:\n");
    on_own_tables(&service, work).await?;
    if is_emulated() {
        println!("\nThe same with each partition on a server of its own, where a page ends:\n");
        let spread = Emulator::new().page_ends(PageEnds::new().at_partitions());
        work(&TableServiceClient::from_transport(spread)).await?;
    }
    Ok(())
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let (cost, mut columns, mut found) = (CostMeter::new(), Columns::default(), BTreeMap::new());
    let service = service.clone().observer(cost.clone());
    for (name, rule) in SIZES {
        let blogs = service.table::<Blog>(name)?;
        blogs.create_table().await?;
        let rows = blogs_of_a_year(rule)?;
        blogs.bulk().insert(&rows).await?.ensure_no_leftovers()?;
        let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
        for blog in rows {
            *sizes.entry(blog.partition).or_default() += 1;
        }
        columns.add("key of 10/3/2008", rule("Football", midnight("2008-10-03")?)?);
        columns.add("partitions", sizes.len());
        columns.add("largest", sizes.values().max().unwrap_or(&0));
        for (name, query) in queries(&blogs, rule)? {
            let (path, before) = (query.plan()?.path(), cost.total().requests);
            let times: Vec<_> = query.all().await?.iter().map(|blog| blog.posted).collect();
            let cell = format!("{path:?} {}", cost.total().requests - before);
            columns.add(format!("{name:<14}  {:>4}", times.len()), cell);
            if *found.entry(name).or_insert_with(|| times.clone()) != times {
                return Err(format!("{name}: two sizes return different blogs").into());
            }
        }
    }
    columns.print();
    Ok(())
}
