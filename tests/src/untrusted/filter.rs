//! Filters as text from outside: `Filter::raw`, parsed and evaluated by the emulator.

use azure_table::{DynamicEntity, Emulator, ErrorKind, Filter, Result, TableClient, TableServiceClient};

use super::{Kind, assert_presentable, on_runtime};

/// Filters as text.
pub const KIND: Kind = Kind {
    name: "filter",
    check: |text| check_filter(&String::from_utf8_lossy(text)),
    samples: &[FILTERS],
    pieces: PIECES,
};

/// Filters.
pub const FILTERS: &[&str] = &[
    "PartitionKey eq 'p' and (RowKey ge '1' or not (I lt 5))",
    "T ge datetime'2012-11-10T03:04:05.2Z' and G ne guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
    "S eq 'O''Brien' or X eq X'0102ff' and B eq true",
    "5L le L and D gt -1.5e-7 and not not (D eq NaN)",
];

/// Parts of filters.
pub const PIECES: &[&str] = &[
    "I",
    " eq ",
    " ne ",
    " lt ",
    " and ",
    " or ",
    "not ",
    "(",
    ")",
    "'",
    "''",
    "5",
    "-",
    ".",
    "e",
    "L",
    "X'",
    "datetime'",
    "guid'",
    "binary'",
    "null",
    "true",
    "NaN",
    "INF",
    "startswith(",
    ",",
    "é",
    "😀",
    "I eq 1",
    "S eq 'a'",
    "not (",
    "(((((((((((((((((((((",
];

/// A table with a few rows: one with a property of every type, and one without properties.
async fn table() -> TableClient<DynamicEntity> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    for (row_key, value) in [("1", 1), ("2", 5), ("3", 7)] {
        let mut row = DynamicEntity::new("p", row_key);
        if row_key != "3" {
            row.insert("I", value);
            row.insert("L", i64::from(value));
            row.insert("D", f64::from(value));
            row.insert("B", value == 1);
            row.insert("S", "O'Brien");
            row.insert("X", vec![1_u8, 2, 255]);
        }
        table.insert(&row).await.unwrap();
    }
    table
}

async fn selected(table: &TableClient<DynamicEntity>, filter: &str) -> Result<Vec<String>> {
    let rows = table.query().filter(Filter::raw(filter)).all().await?;
    Ok(rows.into_iter().map(|row| row.row_key).collect())
}

thread_local! {
    static TABLE: TableClient<DynamicEntity> = on_runtime(table());
}

/// Checks that a filter is rejected, or means the same as its parts.
///
/// # Panics
/// It does not.
pub fn check_filter(filter: &str) {
    let table = TABLE.with(Clone::clone);
    on_runtime(async {
        let found = match selected(&table, filter).await {
            Ok(found) => found,
            Err(error) => {
                assert_presentable(&error);
                let rejected =
                    error.kind() == ErrorKind::InvalidInput || matches!(error.status(), Some(400..=499 | 501));
                assert!(rejected, "{error}");
                return;
            }
        };
        // White space is not a filter, a deep one cannot be nested further, and a long one does not fit twice into a
        // URL of 32,767 characters, where each byte may take three.
        let depth = filter.matches('(').count() + filter.matches("not").count();
        if filter.trim().is_empty() || depth > 80 || filter.len() > 5_000 {
            return;
        }
        let others: Vec<&str> = ["1", "2", "3"]
            .into_iter()
            .filter(|key| !found.iter().any(|f| f == key))
            .collect();
        assert_eq!(selected(&table, &format!("({filter})")).await.unwrap(), found);
        assert_eq!(
            selected(&table, &format!("({filter}) and ({filter})")).await.unwrap(),
            found
        );
        assert_eq!(
            selected(&table, &format!("I eq 1 and I eq 2 or ({filter})"))
                .await
                .unwrap(),
            found
        );
        assert_eq!(selected(&table, &format!("not ({filter})")).await.unwrap(), others);
    });
}

/// Checks that the samples are filters.
///
/// # Panics
/// A sample is not.
pub fn check_samples() {
    on_runtime(async {
        let table = table().await;
        for filter in FILTERS {
            selected(&table, filter).await.unwrap();
        }
    });
}
