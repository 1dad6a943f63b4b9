//! Filters as text over a fixed set of rows: the rows that they select, and the rejections of a service.

use azure_table::{DynamicEntity, ErrorKind, Filter};
use serde_json::{Map, Value};

use crate::{Backend, fixtures, report};

/// A row of the vectors, through the serde form of entities.
fn row(vector: &Value) -> DynamicEntity {
    let mut map = Map::new();
    for name in ["PartitionKey", "RowKey"] {
        map.insert(name.to_owned(), vector[name].clone());
    }
    for (name, typed) in vector["props"].as_object().unwrap() {
        map.insert(format!("{name}@odata.type"), typed[0].clone());
        map.insert(name.clone(), typed[1].clone());
    }
    serde_json::from_value(Value::Object(map)).unwrap()
}

fn keys(rows: &[DynamicEntity]) -> Value {
    rows.iter()
        .map(|row| Value::from(vec![row.partition_key.as_str(), row.row_key.as_str()]))
        .collect()
}

/// Every filter of the vectors selects the rows of its rule, or is rejected like by the live service. Filters without a
/// known result are sent and printed, without an assertion. Azurite may differ if the vectors say so, and rejects with
/// its own errors.
pub async fn filters_of_the_vectors(backend: &Backend) {
    let vectors = fixtures::vectors("filters.json");
    let table = backend.fresh_table::<DynamicEntity>().await;
    for vector in vectors["data_set"].as_array().unwrap() {
        table.insert(&row(vector)).await.unwrap();
    }
    let (mut selected, mut rejected, mut open) = (0, 0, 0);
    // The service reads a blank filter as none, so the client does not send it.
    let is_sent = |case: &&Value| !case["filter"].as_str().unwrap().trim().is_empty();
    for case in vectors["filters"].as_array().unwrap().iter().filter(is_sent) {
        let filter = case["filter"].as_str().unwrap();
        let live = case["live"].as_str();
        let found = table.query().filter(Filter::raw(filter)).all().await;
        let is_open = case.get("unconfirmed").is_some() || live.is_some_and(|live| live == "not confirmed");
        let differs_here = backend.name() == "Azurite" && (case.get("differs").is_some() || live.is_some());
        if is_open || differs_here {
            open += 1;
            let found = found.map(|rows| keys(&rows).to_string()).map_err(|e| e.kind());
            report::remark(&format!(
                "not asserted: {} answers {filter} with {found:?}",
                backend.name()
            ));
        } else if let Some(live) = live {
            rejected += 1;
            let Err(error) = found else {
                panic!("{filter} was taken");
            };
            let (status, code) = live.split_once(' ').unwrap();
            let code = code.split(' ').next();
            match error.status() {
                // Text that is no single condition is not sent.
                None => assert_eq!(
                    (error.kind(), code),
                    (ErrorKind::InvalidInput, Some("InvalidInput")),
                    "{filter}"
                ),
                found => assert_eq!((found, error.code()), (status.parse().ok(), code), "{filter}"),
            }
        } else {
            selected += 1;
            let found = found.unwrap_or_else(|e| panic!("{filter}: {e}"));
            assert_eq!(keys(&found), case["rule"], "{filter}");
        }
    }
    assert!(
        selected >= 70 && selected + rejected + open == 105,
        "{selected}, {rejected}, {open}"
    );
    backend.drop_table(&table).await;
}
