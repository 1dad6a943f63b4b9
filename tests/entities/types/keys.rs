//! Every key type: the row is found by its key and by ranges, and the rows have the order of the values.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table::filter::InKey;
use azure_table::key::{Base64Url, Bucket, Day, Escaped, Month, PercentEscaped, Week, Year, prefix_range};
use azure_table::{
    Column, DateTime, Descending, DynamicEntity, ErrorKind, Filter, Guid, Key, Result, TableClient, TableEntity,
};

use azure_table_tests::key_order::{Row, are_keys_of_a_typed_client, stand_in_both_orders, stand_in_order};

fn times() -> Vec<DateTime> {
    [
        "1601-01-01T00:00:00Z",
        "2008-10-01T10:00:00Z",
        "2008-10-01T10:00:00.0000001Z",
        "9999-12-31T23:59:59.9999999Z",
    ]
    .map(|text| text.parse().unwrap())
    .into()
}

#[tokio::test]
async fn integers() {
    stand_in_both_orders(vec![0, 9, 10, u8::MAX]).await;
    stand_in_both_orders(vec![0, 9, 10, u16::MAX]).await;
    stand_in_both_orders(vec![0, 9, 10, u32::MAX]).await;
    stand_in_both_orders(vec![0, 9, 10, u64::MAX]).await;
    stand_in_both_orders(vec![i8::MIN, -10, -9, 0, 9, i8::MAX]).await;
    stand_in_both_orders(vec![i16::MIN, -10, -9, 0, 9, i16::MAX]).await;
    stand_in_both_orders(vec![i32::MIN, -10, -9, 0, 9, i32::MAX]).await;
    stand_in_both_orders(vec![i64::MIN, -10, -9, 0, 9, i64::MAX]).await;
}

#[tokio::test]
async fn times_and_the_calendar() {
    stand_in_both_orders(times()).await;
    let systems = times().into_iter().map(|time| SystemTime::try_from(time).unwrap());
    stand_in_both_orders(systems.collect()).await;
    let years = [1, 2008, 9999].map(|year| Year::new(year).unwrap());
    stand_in_both_orders(years.into()).await;
    let months = [(2007, 12), (2008, 1), (2008, 9), (2008, 10)].map(|(year, month)| Month::new(year, month).unwrap());
    stand_in_both_orders(months.into()).await;
    let weeks = [(2008, 2, 5), (2008, 3, 1), (2008, 3, 5)].map(|(y, m, week)| Week::new(y, m, week).unwrap());
    stand_in_both_orders(weeks.into()).await;
    let days = ["2008-02-29", "2008-03-01", "2008-12-31", "2009-01-01"].map(|day| day.parse::<Day>().unwrap());
    stand_in_both_orders(days.into()).await;
}

#[tokio::test]
async fn durations() {
    let longest = Duration::new(922_337_203_685, 477_580_700);
    stand_in_both_orders(vec![
        Duration::ZERO,
        Duration::from_nanos(900),
        Duration::from_micros(1),
        Duration::from_secs(9),
        Duration::from_secs(10),
        longest,
    ])
    .await;
}

#[tokio::test]
async fn text_of_every_kind() {
    let texts = ["", " ", "'quoted' 100% +&", "A", "a", "a b", "ab", "ü", "漢字"];
    stand_in_order(texts.map(String::from).into()).await;
    stand_in_order(texts.map(Box::<str>::from).into()).await;
    stand_in_order(texts.map(Arc::<str>::from).into()).await;
    stand_in_order(texts.map(Cow::from).into()).await;
    stand_in_order(texts.map(|text| Box::new(text.to_owned())).into()).await;
    stand_in_order(vec!['%', '\'', 'A', 'a', 'ü', '漢']).await;
    stand_in_order(vec![false, true]).await;
}

#[tokio::test]
async fn escaped_text() {
    let texts = [
        "", "\0", "\n", " ", "!", "#1", "%", "..", "./", "/", "/var/log", "?x=1", "[", "\\", "a b", "~", "\u{7f}",
        "\u{9f}", "ü",
    ];
    stand_in_order(texts.map(|text| Escaped(text.to_owned())).into()).await;
    stand_in_order(texts.map(|text| PercentEscaped(text.to_owned())).into()).await;
}

#[tokio::test]
async fn tuples_guids_and_buckets() {
    let pair = |text: &str, n: u8| (Escaped(text.to_owned()), Descending(n));
    stand_in_order(vec![
        pair("", 2),
        pair("", 1),
        pair("a", 255),
        pair("a b", 1),
        pair("ab", 2),
        pair("ab", 1),
    ])
    .await;
    stand_in_order(vec![
        (false, 'a', -1_i8),
        (false, 'a', 0),
        (false, 'b', -1),
        (true, 'a', -1),
    ])
    .await;
    let day = Day::from(times()[1]);
    stand_in_order(vec![
        (day, 1_u16, 'a', true),
        (day, 1, 'b', false),
        (day, 1, 'b', true),
        (day, 2, 'a', false),
    ])
    .await;
    stand_in_order(vec![Guid([0; 16]), Guid([9; 16]), Guid([10; 16]), Guid([255; 16])]).await;
    stand_in_order(Bucket::<11>::all().collect()).await;
}

#[tokio::test]
async fn typed_client_reads_and_compares_its_keys() {
    are_keys_of_a_typed_client(["2008-10-09", "2008-10-10"].map(|day| day.parse::<Day>().unwrap())).await;
    are_keys_of_a_typed_client(["a/b", "a?b"].map(|text| Escaped(text.to_owned()))).await;
}

/// Base64url does not keep the order, so only the row itself is found.
#[azure_table::test]
async fn bytes_are_found_by_their_key(table: TableClient<Row<Base64Url<Vec<u8>>>>) -> Result<()> {
    for bytes in [&[][..], &[0], &[0xff, 0xfe, 0xfb]] {
        let row = Row {
            group: "g".into(),
            key: Base64Url(bytes.to_vec()),
        };
        table.insert(&row).await?;
        assert_eq!(table.get(("g", bytes)).await?.unwrap(), row);
        let column = Column::<Row<Base64Url<Vec<u8>>>, Base64Url<Vec<u8>>, InKey>::row_key();
        assert_eq!(table.query().filter(column.eq(bytes)).all().await?, [row]);
    }
    Ok(())
}

/// The keys of the classic posts.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{sport}_{month}", row_key = "{week};{posted}")]
struct Article {
    sport: String,
    month: Descending<Month>,
    week: Descending<Week>,
    posted: Descending<DateTime>,
}

impl Article {
    fn at(text: &str) -> Self {
        let time: DateTime = text.parse().unwrap();
        Self {
            sport: "Football".into(),
            month: Month::from(time).into(),
            week: Week::from(time).into(),
            posted: time.into(),
        }
    }
}

#[azure_table::test]
async fn a_year_of_months_is_the_range_of_its_prefix(table: TableClient<Article>) -> Result<()> {
    let times = [
        "2007-12-31T00:00:00Z",
        "2008-01-01T00:00:00Z",
        "2008-07-03T00:00:00Z",
        "2008-12-31T00:00:00Z",
        "2009-01-01T00:00:00Z",
    ];
    for time in times {
        table.insert(&Article::at(time)).await?;
    }
    let key = Key::<Article>::of(&Article::at(times[2])).unwrap();
    assert_eq!(key.partition_key(), "Football_7991_06");
    let (from, to) = prefix_range("Football_7991_");
    let year = format!("PartitionKey ge '{from}' and PartitionKey lt '{}'", to.unwrap());
    let found = table.query().filter(Filter::raw(year)).all().await?;
    // Newest first.
    assert_eq!(found, [times[3], times[2], times[1]].map(Article::at));
    Ok(())
}

/// A hot partition spread by the hash of a field; the 16 partitions of a component contain all its rows.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "{component};{bucket}")]
struct Line {
    component: String,
    bucket: Bucket<16>,
    #[table(row_key)]
    id: String,
}

#[azure_table::test]
async fn buckets_are_stable_and_contain_all_rows(table: TableClient<Line>) -> Result<()> {
    let bucket = |id: &str| Bucket::<16>::of(id);
    for n in 0..50 {
        let id = format!("order-{n}");
        let line = Line {
            component: "web".into(),
            bucket: bucket(&id),
            id,
        };
        table.insert(&line).await?;
    }
    let line = table.get(("web", bucket("order-7"), "order-7")).await?.unwrap();
    assert_eq!(line.id, "order-7");
    let mut count = 0;
    for bucket in Bucket::all() {
        count += table.query().partition(("web", bucket)).all().await?.len();
    }
    assert_eq!(count, 50);
    Ok(())
}

#[azure_table::test]
async fn invalid_key_names_its_field(table: TableClient<Row<(String, u8)>>) -> Result<()> {
    let row = Row {
        group: "g".into(),
        key: ("a b".to_owned(), 1),
    };
    let error = table.insert(&row).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "RowKey, field `key`: part 1 of the tuple, \"a b\", has a space, which separates the parts: use Escaped<_> for it";
    assert!(error.to_string().ends_with(why), "{error}");
    let row = DynamicEntity::new("g", "a 300");
    table.typed::<DynamicEntity>().insert(&row).await?;
    let error = table.query().all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    let why = "key field `key`: expected 3 digits, at most 255, found \"300\"; the row is of another kind, or another program wrote its key";
    assert!(error.to_string().contains(why), "{error}");
    Ok(())
}
