//! Keys of the posts: release dates that sort newest first, weeks of a year, and keys with a percent sign.
//!
//! Sources: "Windows Azure Table" (2009), an intermediate partition size; "How to get the most out of Windows Azure
//! Tables" (2010), Tables 1 and 2; "PartitionKey or RowKey containing the percent '%' character causes
//! some Windows Azure Tables APIs to fail" (2012).

use azure_table::filter::AccessPath;
use azure_table::key::{Day, Week};
use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, EmulatorServer, TableEntity, TableKey, TableServiceClient,
};

#[derive(TableEntity)]
struct RecentMovie {
    #[table(partition_key)]
    released: Descending<Day>,
    #[table(row_key)]
    title: String,
}

#[tokio::test]
async fn recent_movies_are_sorted_as_in_table_2() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let movies = service.table::<RecentMovie>("RecentMovies").unwrap();
    movies.create_table().await.unwrap();
    for (released, title) in [
        ("2009-01-20", "Movie1"),
        ("2009-05-01", "Movie2"),
        ("2010-01-31", "Movie3"),
        ("2010-06-20", "Movie4"),
        ("2010-10-23", "Movie5"),
    ] {
        let released = Descending(released.parse().unwrap());
        let title = title.into();
        movies.insert(&RecentMovie { released, title }).await.unwrap();
    }
    let keys = movies.query().keys().all().await.unwrap();
    let keys: Vec<_> = keys.iter().map(|key| (key.partition_key(), key.row_key())).collect();
    assert_eq!(
        keys,
        [
            ("7989-02-08", "Movie5"),
            ("7989-06-11", "Movie4"),
            ("7989-11-00", "Movie3"),
            ("7990-07-30", "Movie2"),
            ("7990-11-11", "Movie1"),
        ]
    );
}

/// `<Channel_Name>_<9999 - Year>_<5 - Week#>`, without the month.
#[derive(TableEntity)]
#[table(partition_key = "{channel}_{year:04}_{week:02}")]
struct WeeklyBlog {
    channel: String,
    /// 9999 - year.
    year: u32,
    /// 5 - week of the month.
    week: u32,
    #[table(row_key)]
    posted: Descending<DateTime>,
}

/// The first weeks of all months share a partition, so the times limit the rows. With the month, the key is the one
/// that the paper uses in the season, and a week is a partition.
#[tokio::test]
async fn weekly_key_without_the_month_has_a_partition_for_the_same_week_of_each_month() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let blogs = service.table::<WeeklyBlog>("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let time = |day: &str| format!("{day}T00:00:00Z").parse::<DateTime>().unwrap();
    for (day, week) in [
        ("2008-09-03", 1),
        ("2008-10-03", 1),
        ("2008-10-08", 2),
        ("2008-10-31", 5),
    ] {
        let posted = Descending(time(day));
        let (channel, year, week) = ("Football".into(), 9_999 - 2_008, 5 - week);
        let blog = WeeklyBlog {
            channel,
            year,
            week,
            posted,
        };
        blogs.insert(&blog).await.unwrap();
    }
    let stored = blogs.query().keys().all().await.unwrap();
    let partitions: Vec<_> = stored.iter().map(|key| key.partition_key()).collect();
    let first = "Football_7991_04";
    assert_eq!(partitions, ["Football_7991_00", "Football_7991_03", first, first]);

    let week = blogs.query().partition(("Football", 7_991, 4));
    let days: Vec<_> = week
        .clone()
        .all()
        .await
        .unwrap()
        .iter()
        .map(|blog| blog.posted.0)
        .collect();
    assert_eq!(days, [time("2008-10-03"), time("2008-09-03")]);
    let (day, next) = (time("2008-10-03"), time("2008-10-04"));
    let october = week.filter(WeeklyBlog::POSTED.ge(day) & WeeklyBlog::POSTED.lt(next));
    assert_eq!(october.plan().unwrap().path(), AccessPath::RowRange);
    assert_eq!(october.count().await.unwrap(), 1);

    let mut with_month = "Football_".to_owned();
    Descending(Week::from(day)).write_key(&mut with_month).unwrap();
    assert_eq!(with_month, "Football_7991_03_04");
}

/// The service decoded such a key twice. Each call reaches the row `Metric%25`, and none the row `Metric%`.
#[tokio::test]
async fn key_with_a_percent_sign_is_decoded_once() {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    let metrics = service.dynamic_table("Metrics").unwrap();
    metrics.create_table().await.unwrap();
    let metric = |partition: &str, value: i32| {
        let mut metric = DynamicEntity::new(partition, "Count");
        metric.insert("MetricValue", value);
        metric
    };
    metrics.insert(&metric("Metric%", 0)).await.unwrap();
    metrics.insert(&metric("Metric%25", 1)).await.unwrap();
    let value = async || {
        let row = metrics.get(("Metric%25", "Count")).await.unwrap().unwrap();
        row.property::<i32>("MetricValue").unwrap()
    };
    assert_eq!(value().await, 1);
    metrics.merge(&metric("Metric%25", 2)).await.unwrap();
    assert_eq!(value().await, 2);
    metrics.replace(&metric("Metric%25", 3)).await.unwrap();
    assert_eq!(value().await, 3);
    metrics.insert_or_merge(&metric("Metric%25", 4)).await.unwrap();
    assert_eq!(value().await, 4);
    metrics.insert_or_replace(&metric("Metric%25", 5)).await.unwrap();
    assert_eq!(value().await, 5);
    let mut batch = metrics.batch();
    batch.replace(&metric("Metric%25", 6)).unwrap();
    batch.submit().await.unwrap();
    let mut batch = metrics.batch();
    batch.get(("Metric%25", "Count")).unwrap();
    let read: DynamicEntity = batch.submit().await.unwrap()[0].entity().unwrap().unwrap();
    assert_eq!(read.property::<i32>("MetricValue").unwrap(), 6);
    metrics.delete(("Metric%25", "Count")).await.unwrap();
    let left = metrics.query().all().await.unwrap();
    let left: Vec<_> = left
        .iter()
        .map(|row| (row.partition_key.as_str(), row.property("MetricValue").unwrap()))
        .collect();
    assert_eq!(left, [("Metric%", 0)]);
    server.stop().await;
}
