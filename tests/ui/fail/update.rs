//! A table has no `update`: the error names the methods to choose from.

use azure_table::{DynamicEntity, TableClient};

async fn rename(people: &TableClient<DynamicEntity>, ada: &DynamicEntity) {
    people.update(ada).await;
}

fn main() {}
