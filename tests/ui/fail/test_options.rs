//! Options that `#[azure_table::test]` does not have.

use azure_table::TableServiceClient;

#[azure_table::test(start_pause)]
async fn slip(_: TableServiceClient) {}

#[azure_table::test(flavor = "multi_thread")]
async fn of_tokio(_: TableServiceClient) {}

#[azure_table::test(start_paused = true, cosmos, cosmos)]
async fn values(_: TableServiceClient) {}

#[azure_table::test(page_size(2))]
async fn of_the_emulator(_: TableServiceClient) {}

#[azure_table::test("start_paused")]
async fn text(_: TableServiceClient) {}

fn main() {}
