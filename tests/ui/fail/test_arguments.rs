//! Invalid arguments of `#[azure_table::test]`. Test bodies are not compiled here, so all errors are of the arguments.

use azure_table::__private::test::TestArgument;
use azure_table::testing::Script;
use azure_table::{TableEntity, TableServiceClient};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
}

fn given<T: TestArgument>() {}

fn main() {
    given::<Blog>();
    given::<&TableServiceClient>();
    given::<Script>();
}
