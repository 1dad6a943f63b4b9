//! A bulk finds out how fast it may send: near the limit, and hardly ever over it.

use azure_table_tests::load::ManyWrites;

use super::hold;

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn a_partition_of_today_is_held_at_its_limit() {
    let writes = ManyWrites::one_partition_of_today(120_000);
    hold(&writes.checks(&writes.run().await));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn a_partition_of_2010_is_held_at_its_limit() {
    let writes = ManyWrites::one_partition_of_2010(60_000);
    hold(&writes.checks(&writes.run().await));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn many_partitions_are_held_at_the_accounts_limit() {
    let writes = ManyWrites::account_of_today(300_000);
    hold(&writes.checks(&writes.run().await));
}
