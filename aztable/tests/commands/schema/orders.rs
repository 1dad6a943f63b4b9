// From all of Orders: 4 rows.
use std::collections::BTreeMap;

use azure_table::{DateTime, EdmValue, Guid, TableEntity};

#[derive(Clone, Debug, PartialEq, TableEntity)]
#[table(name = "Orders", rename_all = "PascalCase")]
pub struct OrdersRow {
    // text, or text "_" 1 digit
    #[table(partition_key)]
    pub partition_key: String,
    // 10 digits, or 1 digit
    #[table(row_key)]
    pub row_key: String,
    // string (1), guid (1)
    pub code: Option<String>,
    // int32 (1), int64 (1)
    pub count: Option<i64>,
    pub data: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub item: String,
    pub paid: Option<bool>,
    pub posted_at: Option<DateTime>,
    pub row_key2: Option<String>,
    #[table(rename = "SCHEMA")]
    pub schema: Option<String>,
    pub self_: Option<String>,
    // int32 (1), double (1)
    pub weight: Option<f64>,
    #[table(rename = "größe")]
    pub größe: Option<i32>,
    #[table(rename = "partition_key")]
    pub partition_key_2: Option<String>,
    #[table(rename = "postedAt")]
    pub posted_at_2: Option<String>,
    #[table(rename = "type")]
    pub r#type: Option<String>,
    // Mixed: string (1), bool (1)
    #[table(extra)]
    pub others: BTreeMap<String, EdmValue>,
}
