//! aws-lc-rs as the only provider, which the program installs. Before that, azure-table builds no client.

use std::error::Error;

use azure_table::ErrorKind;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let error = match calls::insert_and_get("none installed").await {
        Ok(()) => return Err("a call without a provider".into()),
        Err(error) => error.downcast::<azure_table::Error>()?,
    };
    let names_the_remedy = error.to_string().contains("`CryptoProvider::install_default`");
    if error.kind() != ErrorKind::Unsupported || !names_the_remedy {
        return Err(error.into());
    }
    println!("none installed, as expected: {error}");
    let installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    installed.map_err(|_| "a provider was installed before")?;
    calls::insert_and_get("aws-lc-rs installed").await
}
