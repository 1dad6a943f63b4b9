//! Prefixes and ranges of keys, by fields and by texts.

use azure_table::filter::AccessPath;
use azure_table::{DynamicEntity, ErrorKind, Key, KeyPrefix, ReadEntity, TableClient, TableEntity, TableProperty};
use azure_table_tests::entities::Post;
use azure_table_tests::errors::{assert_contains, assert_error};

/// Expenses `e1`, `e10` and `e2` of two accounts, each with two items.
async fn fill(rows: &TableClient<Row>) {
    for account in ["ada", "bea"] {
        for id in ["e1", "e10", "e2"] {
            rows.insert(&Row::Expense(expense(account, id))).await.unwrap();
            for number in [1, 2] {
                rows.insert(&Row::Item(item(account, id, number))).await.unwrap();
            }
        }
    }
}

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

fn shown(rows: &[Row]) -> Vec<String> {
    let row_key = |row: &Row| Key::of(row).unwrap().row_key().to_owned();
    rows.iter().map(row_key).collect()
}

#[azure_table::test]
async fn parent_and_children_are_read_without_those_of_a_longer_id(rows: TableClient<Row>) {
    fill(&rows).await;
    let parent = Key::<Expense>::prefix(("ada", "e1")).unwrap().into_enum();
    let children = Key::<Item>::prefix(("ada", "e1")).unwrap().into_enum();
    let query = rows.query().key_prefixes([parent, children.clone()]);
    assert_eq!(query.plan().unwrap().path(), AccessPath::RowRange);
    assert_eq!(shown(&query.all().await.unwrap()), ["e1", "e1_001", "e1_002"]);

    let items = rows.query().key_prefix(children).all().await.unwrap();
    assert_eq!(shown(&items), ["e1_001", "e1_002"]);
    assert_eq!(rows.query().key_prefixes([]).all().await.unwrap(), []);
}

#[azure_table::test]
async fn range_over_the_fields_of_a_key_includes_both_ends(rows: TableClient<Row>) {
    fill(&rows).await;
    let number = |number: u16| Key::<Item>::prefix(("ada", "e1", number)).unwrap().into_enum();
    for (from, to, found) in [(1, 1, 1), (2, 999, 2)] {
        let read = rows.query().between(number(from), number(to)).all().await.unwrap();
        assert_eq!(read, [Row::Item(item("ada", "e1", found))]);
    }
    // The row order has `e10_` before `e1_`.
    let prefix = |id: &str| Key::<Item>::prefix(("ada", id)).unwrap().into_enum();
    for (from, to) in [("e1", "e2"), ("e10", "e1")] {
        let expenses = rows.query().between(prefix(from), prefix(to));
        assert_eq!(expenses.filter(Row::ITEM.only()).all().await.unwrap().len(), 4);
    }
}

#[azure_table::test]
async fn range_over_partitions_ends_within_the_first_and_the_last(rows: TableClient<Row>) {
    fill(&rows).await;
    let prefix = |account: &str, id: &str| Key::<Expense>::prefix((account, id)).unwrap().into_enum();
    let query = rows.query().between(prefix("ada", "e2"), prefix("bea", "e1"));
    assert_eq!(query.plan().unwrap().path(), AccessPath::PartitionRange);
    let read = query.all().await.unwrap();
    assert_eq!(shown(&read), ["e2", "e1"], "expenses");
    let items = Key::<Item>::prefix(("bea", "e1", 1)).unwrap().into_enum();
    let read = rows.query().between(prefix("ada", "e2"), items).all().await.unwrap();
    let both = ["e2", "e2_001", "e2_002", "e1", "e10", "e10_001", "e10_002", "e1_001"];
    assert_eq!(shown(&read), both, "expenses and items");

    let partitions = |prefix: &str| KeyPrefix::from_partition_text(prefix).unwrap();
    let all = rows.query().between(partitions("a"), partitions("b"));
    assert_eq!(all.count().await.unwrap(), 18);
    let a = rows.query().key_prefix(partitions("a"));
    assert_eq!(a.count().await.unwrap(), 9);
}

#[azure_table::test]
async fn reversed_range_is_an_error_that_names_both_ends(posts: TableClient<Post>) {
    for minutes in [10, 20, 30] {
        posts.insert(&Post::at("a", minutes, "1", 1)).await.unwrap();
    }
    let prefix = |minutes| Key::<Post>::prefix(("a", Post::time(minutes))).unwrap();
    let newest_first = posts.query().between(prefix(30), prefix(20));
    assert_eq!(newest_first.all().await.unwrap().len(), 2);
    let error = posts.query().between(prefix(20), prefix(30)).all().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "swap the two");
    assert_contains(&error, "Descending");
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
#[azure_table::test]
async fn range_over_a_field_that_does_not_sort_is_an_error(logs: TableClient<Log>) {
    let channel = "Channel9";
    for level in [Level::Info, Level::Warn, Level::Error] {
        for number in 1..4 {
            let channel = channel.to_owned();
            logs.insert(&Log { channel, level, number }).await.unwrap();
        }
    }
    let level = |level: Level| Key::<Log>::prefix((channel, level)).unwrap();
    let number = |level: Level, number: u16| Key::<Log>::prefix((channel, level, number)).unwrap();
    let channel = || Key::<Log>::prefix((channel,)).unwrap();
    for (from, to) in [
        (level(Level::Info), level(Level::Warn)),
        (channel(), level(Level::Warn)),
        (number(Level::Info, 2), number(Level::Warn, 2)),
    ] {
        let error = logs.query().between(from, to).all().await.unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, "does not sort as its values do");
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

#[azure_table::test]
async fn keys_and_prefixes_by_text_work_for_any_entity(rows: TableClient<Row>) {
    fill(&rows).await;
    let (one, all) = read(&rows).await;
    assert_eq!(one, Some(Row::Item(item("ada", "e1", 1))));
    // A text prefix ends within a field.
    assert_eq!(all.len(), 6);
    let (one, all) = read(&rows.typed::<DynamicEntity>()).await;
    assert_eq!(one.unwrap().row_key, "e1_001");
    assert_eq!(all.len(), 6);

    let prefix = KeyPrefix::<Row>::from_text("ada", "").unwrap();
    assert_eq!(prefix.to_string(), "(\"ada\", \"\"…)");
    assert!(KeyPrefix::<Row>::from_text("a/b", "").is_err());
    let error = rows.get(Key::from_text("a/b", "c")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// A prefix of keys: of the PartitionKey, of the RowKey, or the whole key.
#[derive(Clone, Copy)]
enum Under {
    Partitions(&'static str),
    Rows(&'static str, &'static str),
    Row(&'static str, &'static str),
}

impl Under {
    fn has(self, key: (&str, &str)) -> bool {
        match self {
            Self::Partitions(start) => key.0.starts_with(start),
            Self::Rows(partition, start) => key.0 == partition && key.1.starts_with(start),
            Self::Row(partition, row) => key == (partition, row),
        }
    }

    fn prefix(self) -> KeyPrefix<DynamicEntity> {
        let prefix = match self {
            Self::Partitions(start) => KeyPrefix::from_partition_text(start),
            Self::Rows(partition, start) => KeyPrefix::from_text(partition, start),
            Self::Row(partition, row) => Key::prefix((partition, row)),
        };
        prefix.unwrap()
    }
}

/// Each pair of prefixes reads the rows that a check of all rows finds.
#[azure_table::test]
async fn ranges_and_unions_select_the_rows_of_a_full_check(rows: TableClient) {
    let keys = ["", "a", "a1", "a10", "a_", "b", "~"];
    let all: Vec<_> = keys.iter().flat_map(|p| keys.map(|r| (*p, r))).collect();
    for (partition_key, row_key) in &all {
        rows.insert(&DynamicEntity::new(*partition_key, *row_key))
            .await
            .unwrap();
    }
    let given = [
        Under::Partitions("a"),
        Under::Partitions(""),
        Under::Rows("a", ""),
        Under::Rows("a", "a1"),
        Under::Row("a", "a1"),
        Under::Rows("a1", "a"),
        Under::Row("b", "b"),
    ];
    for (one, other) in given.iter().flat_map(|one| given.map(|other| (*one, other))) {
        let (from, to) = (one.prefix(), other.prefix());
        let first = all.iter().filter(|key| one.has(**key)).min().unwrap();
        let last = all.iter().filter(|key| other.has(**key)).max().unwrap();
        let wanted = all.iter().filter(|key| *key >= first && *key <= last).count();
        match rows.query().between(from.clone(), to.clone()).count().await {
            Ok(count) => assert_eq!(count, wanted, "{from} to {to}"),
            Err(e) => {
                assert_eq!(wanted, 0, "{from} to {to}: {e}");
                assert_eq!(e.kind(), ErrorKind::InvalidInput, "{from} to {to}: {e}");
            }
        }
        let wanted = all.iter().filter(|key| one.has(**key) || other.has(**key)).count();
        let any = rows.query().key_prefixes([from.clone(), to.clone()]);
        assert_eq!(any.count().await.unwrap(), wanted, "{from} or {to}");
    }
}
