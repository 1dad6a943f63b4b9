//! The public interface as a whole: combinations and sizes.

use azure_table::testing::Faults;
use azure_table::transport::Transport;
use azure_table::{Emulator, NoRetry, TableClient, TableServiceClient};

mod account;
mod bulk;
mod client_wide;
mod combined_operations;
mod custom_errors;
mod derive;
mod error_codes;
mod etag_field;
mod futures;
mod handwritten;
pub(crate) mod interceptor;
mod modify_and_refresh;
mod operations;
mod query;
mod query_writes;
mod response_headers;
mod saves_and_patches;
mod size_limits;
mod tables;

/// Creates a table.
async fn create<E>(transport: impl Transport, name: &str) -> TableClient<E> {
    let table = TableServiceClient::from_transport(transport).table(name).unwrap();
    table.create_table().await.unwrap();
    table
}

/// Creates a table. Returns faults, a client behind them that does not retry, and a client without them.
async fn create_with_faults<E>(emulator: Emulator, name: &str) -> (Faults, TableClient<E>, TableClient<E>) {
    let truth = create(emulator.clone(), name).await;
    let faults = Faults::new(emulator);
    let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
    (faults, service.table(name).unwrap(), truth)
}
