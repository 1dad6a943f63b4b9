//! Mistakes in the options of `#[azure_table::test(explore)]`.

use azure_table::TableServiceClient;

#[azure_table::test(explore(fault = 1))]
async fn slip(_: TableServiceClient) {}

#[azure_table::test(explore(isolated = true))]
async fn value(_: TableServiceClient) {}

#[azure_table::test(explore(faults))]
async fn no_value(_: TableServiceClient) {}

#[azure_table::test(explore = 1)]
async fn no_options(_: TableServiceClient) {}

#[azure_table::test(explore, start_paused)]
async fn paused(_: TableServiceClient) {}

fn main() {}
