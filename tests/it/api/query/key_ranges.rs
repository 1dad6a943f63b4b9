//! Prefixes and ranges of keys, by fields and by texts.

use azure_table::filter::AccessPath;
use azure_table::{
    DateTime, Descending, DynamicEntity, Emulator, ErrorKind, Key, KeyPrefix, ReadEntity, TableClient, TableEntity,
    TableProperty, TableServiceClient,
};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{expense}")]
struct Expense {
    #[table(partition_key)]
    account: String,
    expense: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{expense}_{number:03}")]
struct Item {
    #[table(partition_key)]
    account: String,
    expense: String,
    number: u16,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Row {
    Expense(Expense),
    Item(Item),
}

fn expense(account: &str, expense: &str) -> Expense {
    Expense {
        account: account.into(),
        expense: expense.into(),
    }
}

fn item(account: &str, expense: &str, number: u16) -> Item {
    Item {
        account: account.into(),
        expense: expense.into(),
        number,
    }
}

/// Expenses `e1`, `e10` and `e2` of two accounts, each with two items.
async fn rows() -> TableClient<Row> {
    let rows = TableServiceClient::from_transport(Emulator::new())
        .table::<Row>("Rows")
        .unwrap();
    rows.create_table().await.unwrap();
    for account in ["ada", "bea"] {
        for id in ["e1", "e10", "e2"] {
            rows.insert(&Row::Expense(expense(account, id))).await.unwrap();
            for number in [1, 2] {
                rows.insert(&Row::Item(item(account, id, number))).await.unwrap();
            }
        }
    }
    rows
}

fn shown(rows: &[Row]) -> Vec<String> {
    let row_key = |row: &Row| Key::of(row).unwrap().row_key().to_owned();
    rows.iter().map(row_key).collect()
}

#[tokio::test]
async fn parent_and_children_are_read_without_those_of_a_longer_id() {
    let rows = rows().await;
    let parent = Key::<Expense>::prefix(("ada", "e1")).unwrap().into_enum();
    let children = Key::<Item>::prefix(("ada", "e1")).unwrap().into_enum();
    let query = rows.query().key_prefixes([parent, children.clone()]);
    assert_eq!(query.plan().unwrap().path(), AccessPath::RowRange);
    assert_eq!(shown(&query.all().await.unwrap()), ["e1", "e1_001", "e1_002"]);

    let items = rows.query().key_prefix(children).all().await.unwrap();
    assert_eq!(shown(&items), ["e1_001", "e1_002"]);
    assert_eq!(rows.query().key_prefixes([]).all().await.unwrap(), []);
}

#[tokio::test]
async fn range_over_the_fields_of_a_key_includes_both_ends() {
    let rows = rows().await;
    let number = |number: u16| Key::<Item>::prefix(("ada", "e1", number)).unwrap().into_enum();
    let read = rows.query().between(number(1), number(1)).all().await.unwrap();
    assert_eq!(read, [Row::Item(item("ada", "e1", 1))]);
    let read = rows.query().between(number(2), number(999)).all().await.unwrap();
    assert_eq!(read, [Row::Item(item("ada", "e1", 2))]);
    let expenses = |from, to| {
        let prefix = |id: &str| Key::<Item>::prefix(("ada", id)).unwrap().into_enum();
        rows.query().between(prefix(from), prefix(to)).filter(Row::ITEM.only())
    };
    // The row order has `e10_` before `e1_`.
    assert_eq!(expenses("e1", "e2").all().await.unwrap().len(), 4);
    assert_eq!(expenses("e10", "e1").all().await.unwrap().len(), 4);
}

#[tokio::test]
async fn range_over_partitions_ends_within_the_first_and_the_last() {
    let rows = rows().await;
    let from = Key::<Expense>::prefix(("ada", "e2")).unwrap().into_enum();
    let to = Key::<Expense>::prefix(("bea", "e1")).unwrap().into_enum();
    let query = rows.query().between(from, to);
    assert_eq!(query.plan().unwrap().path(), AccessPath::PartitionRange);
    let read = query.all().await.unwrap();
    assert_eq!(shown(&read), ["e2", "e2_001", "e2_002", "e1"]);

    let partitions = |prefix: &str| KeyPrefix::from_partition_text(prefix).unwrap();
    let all = rows.query().between(partitions("a"), partitions("b"));
    assert_eq!(all.count().await.unwrap(), 18);
    let a = rows.query().key_prefix(partitions("a"));
    assert_eq!(a.count().await.unwrap(), 9);
}

#[tokio::test]
async fn reversed_range_is_an_error_that_names_both_ends() {
    #[derive(TableEntity, Debug)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        posted: Descending<DateTime>,
    }
    let blogs = TableServiceClient::from_transport(Emulator::new())
        .table::<Blog>("Blogs")
        .unwrap();
    blogs.create_table().await.unwrap();
    let at = |seconds| DateTime::from_unix_seconds(seconds);
    for seconds in [10, 20, 30] {
        let blog = Blog {
            channel: "a".into(),
            posted: at(seconds).into(),
        };
        blogs.insert(&blog).await.unwrap();
    }
    let prefix = |seconds| Key::<Blog>::prefix(("a", at(seconds))).unwrap();
    let newest_first = blogs.query().between(prefix(30), prefix(20));
    assert_eq!(newest_first.all().await.unwrap().len(), 2);
    let error = blogs.query().between(prefix(20), prefix(30)).all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("swap the two") && text.contains("Descending"), "{text}");
}

#[derive(TableProperty, Clone, Copy, Debug, PartialEq)]
#[table(key)]
enum Level {
    Info,
    Warn,
    Error,
}

#[derive(TableEntity, Debug, PartialEq)]
#[table(row_key = "{level}_{number:03}")]
struct Log {
    #[table(partition_key)]
    channel: String,
    level: Level,
    number: u16,
}

/// The names of the levels sort as Error, Info, Warn.
#[tokio::test]
async fn range_over_a_field_that_does_not_sort_is_an_error() {
    let logs = TableServiceClient::from_transport(Emulator::new())
        .table::<Log>("Logs")
        .unwrap();
    logs.create_table().await.unwrap();
    for level in [Level::Info, Level::Warn, Level::Error] {
        for number in 1..4 {
            logs.insert(&Log {
                channel: "Channel9".into(),
                level,
                number,
            })
            .await
            .unwrap();
        }
    }
    let level = |level: Level| Key::<Log>::prefix(("Channel9", level)).unwrap();
    let number = |level: Level, number: u16| Key::<Log>::prefix(("Channel9", level, number)).unwrap();
    let channel = || Key::<Log>::prefix(("Channel9",)).unwrap();
    for (from, to) in [
        (level(Level::Info), level(Level::Warn)),
        (channel(), level(Level::Warn)),
        (number(Level::Info, 2), number(Level::Warn, 2)),
    ] {
        let error = logs.query().between(from, to).all().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("does not sort as its values do"), "{error}");
    }
    let range = logs.query().between(number(Level::Warn, 2), number(Level::Warn, 3));
    assert_eq!(range.count().await.unwrap(), 2);
    assert_eq!(logs.query().between(channel(), channel()).count().await.unwrap(), 9);
    let two = [level(Level::Info), level(Level::Warn)];
    assert_eq!(logs.query().key_prefixes(two).count().await.unwrap(), 6);
}

/// Reads like a repository whose entity is a type parameter.
async fn read<E: TableEntity + ReadEntity>(table: &TableClient<E>) -> (Option<E>, Vec<E>) {
    let one = table.get(Key::from_text("ada", "e1_001")).await.unwrap();
    let prefix = KeyPrefix::from_text("ada", "e1").unwrap();
    (one, table.query().key_prefix(prefix).all().await.unwrap())
}

#[tokio::test]
async fn keys_and_prefixes_by_text_work_for_any_entity() {
    let rows = rows().await;
    let (one, all) = read(&rows).await;
    assert_eq!(one, Some(Row::Item(item("ada", "e1", 1))));
    // A text prefix ends within a field.
    assert_eq!(all.len(), 6);
    let (one, all) = read(&rows.typed::<DynamicEntity>()).await;
    assert_eq!(one.unwrap().row_key, "e1_001");
    assert_eq!(all.len(), 6);

    assert_eq!(
        KeyPrefix::<Row>::from_text("ada", "").unwrap().to_string(),
        "(\"ada\", \"\"…)"
    );
    assert!(KeyPrefix::<Row>::from_text("a/b", "").is_err());
    let error = rows.get(Key::from_text("a/b", "c")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// Each pair of prefixes reads the rows that a check of all rows finds.
#[tokio::test]
async fn ranges_and_unions_select_the_rows_of_a_full_check() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Rows")
        .unwrap();
    table.create_table().await.unwrap();
    let keys = ["", "a", "a1", "a10", "a_", "b", "~"];
    for partition_key in keys {
        for row_key in keys {
            table.insert(&DynamicEntity::new(partition_key, row_key)).await.unwrap();
        }
    }
    let is_under = |prefix: &(&str, Option<(&str, bool)>), key: &(&str, &str)| match prefix {
        (partitions, None) => key.0.starts_with(partitions),
        (partition, Some((row_key, true))) => key == &(*partition, *row_key),
        (partition, Some((rows, false))) => key.0 == *partition && key.1.starts_with(rows),
    };
    let given: Vec<(&str, Option<(&str, bool)>)> = vec![
        ("a", None),
        ("", None),
        ("a", Some(("", false))),
        ("a", Some(("a1", false))),
        ("a", Some(("a1", true))),
        ("a1", Some(("a", false))),
        ("b", Some(("b", true))),
    ];
    let prefix = |given: &(&str, Option<(&str, bool)>)| match given {
        (partitions, None) => KeyPrefix::<DynamicEntity>::from_partition_text(*partitions),
        (partition, Some((row_key, true))) => Key::prefix((*partition, *row_key)),
        (partition, Some((rows, false))) => KeyPrefix::from_text(*partition, *rows),
    };
    let all: Vec<(&str, &str)> = keys.iter().flat_map(|p| keys.map(|r| (*p, r))).collect();
    for one in &given {
        for other in &given {
            let (from, to) = (prefix(one).unwrap(), prefix(other).unwrap());
            let under = |of, key| is_under(of, key);
            let first = all.iter().filter(|key| under(one, key)).min().unwrap();
            let last = all.iter().filter(|key| under(other, key)).max().unwrap();
            let wanted = all.iter().filter(|key| *key >= first && *key <= last).count();
            match table.query().between(from.clone(), to.clone()).count().await {
                Ok(count) => assert_eq!(count, wanted, "{from} to {to}"),
                Err(e) => assert!(
                    wanted == 0 && e.kind() == ErrorKind::InvalidInput,
                    "{from} to {to}: {e}"
                ),
            }
            let wanted = all.iter().filter(|key| under(one, key) || under(other, key)).count();
            let any = table.query().key_prefixes([from.clone(), to.clone()]);
            assert_eq!(any.count().await.unwrap(), wanted, "{from} or {to}");
        }
    }
}
