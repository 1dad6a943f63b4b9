//! Both providers in one program: azure-table and azure_identity work, with and without a provider of the process.
//! Another crate that leaves the choice to rustls panics until the program installs one.

use std::error::Error;

use rustls::ClientConfig;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    calls::insert_and_get("none installed").await?;
    calls::panics_with(
        "Could not automatically determine the process-level CryptoProvider",
        || {
            drop(ClientConfig::builder());
        },
    )?;
    let installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    installed.map_err(|_| "a provider was installed before")?;
    calls::insert_and_get("aws-lc-rs installed").await?;
    drop(ClientConfig::builder());
    Ok(())
}
