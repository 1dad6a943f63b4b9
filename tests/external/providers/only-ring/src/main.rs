//! ring as the only provider, which the program installs. Before that, azure_identity panics.

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    calls::panics_with("No rustls crypto provider is configured", || drop(calls::service()))?;
    let installed = rustls::crypto::ring::default_provider().install_default();
    installed.map_err(|_| "a provider was installed before")?;
    calls::insert_and_get("ring installed").await
}
