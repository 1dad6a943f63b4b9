//! Filters as text from outside: `Filter::raw`, parsed and evaluated by the emulator.

use azure_table::{DynamicEntity, Emulator, ErrorKind, Filter, TableClient, TableServiceClient};
use proptest::prelude::*;

use crate::document::text;
use crate::{is_presentable, on_runtime};

const FILTERS: &[&str] = &[
    "PartitionKey eq 'p' and (RowKey ge '1' or not (I lt 5))",
    "T ge datetime'2012-11-10T03:04:05.2Z' and G ne guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
    "S eq 'O''Brien' or X eq X'0102ff' and B eq true",
    "5L le L and D gt -1.5e-7 and not not (D eq NaN)",
];

const PIECES: &[&str] = &[
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

/// A table with a few rows, one of every type and one of none.
async fn table() -> TableClient<DynamicEntity> {
    let table = TableServiceClient::on(Emulator::new()).dynamic_table("Things").unwrap();
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

async fn selected(table: &TableClient<DynamicEntity>, filter: &str) -> azure_table::Result<Vec<String>> {
    let rows = table.query().filter(Filter::raw(filter)).all().await?;
    Ok(rows.into_iter().map(|row| row.row_key).collect())
}

proptest! {
    // Each case asks the emulator up to eight times.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn a_filter_is_refused_or_means_what_its_parts_mean(filter in text(FILTERS, PIECES)) {
        on_runtime(async {
            let table = table().await;
            let found = match selected(&table, &filter).await {
                Ok(found) => found,
                Err(error) => {
                    is_presentable(&error).map_err(TestCaseError::fail)?;
                    let refused = error.kind() == ErrorKind::InvalidInput || matches!(error.status(), Some(400..=499 | 501));
                    prop_assert!(refused, "{error}");
                    return Ok(());
                }
            };
            // White space is no filter, and a deep one has no room for more.
            if filter.trim().is_empty() || filter.matches('(').count() + filter.matches("not").count() > 80 {
                return Ok(());
            }
            let others: Vec<&str> = ["1", "2", "3"].into_iter().filter(|key| !found.iter().any(|f| f == key)).collect();
            prop_assert_eq!(selected(&table, &format!("({filter})")).await.unwrap(), found.clone());
            prop_assert_eq!(selected(&table, &format!("({filter}) and ({filter})")).await.unwrap(), found.clone());
            prop_assert_eq!(selected(&table, &format!("I eq 1 and I eq 2 or ({filter})")).await.unwrap(), found);
            prop_assert_eq!(selected(&table, &format!("not ({filter})")).await.unwrap(), others);
            Ok(())
        })?;
    }
}

#[test]
fn every_sample_is_a_filter() {
    on_runtime(async {
        let table = table().await;
        for filter in FILTERS {
            selected(&table, filter).await.unwrap();
        }
    });
}
