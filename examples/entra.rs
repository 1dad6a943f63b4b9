//! Tokens of Entra ID: from azure_identity for an account, and on an emulator that accepts any signer.
//!
//! `cargo run -p azure-table-examples --features entra --example entra` runs on an emulator inside of this process, and
//! shows which tokens the client asks for. `… --example entra -- https://ACCOUNT.table.core.windows.net` lists the
//! tables of an account as the user who is signed in with `az login` or `azd auth login`.
//!
//! Source: "Authorize access to tables using Microsoft Entra ID"; azure_identity's `DeveloperToolsCredential`.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::time::OffsetDateTime;
use azure_identity::DeveloperToolsCredential;
use azure_table::{DynamicEntity, Emulator, ErrorKind, TableServiceClient};
use azure_table_examples::finish;

const ROLE: &str = "Storage Table Data Contributor";

#[tokio::main]
async fn main() -> ExitCode {
    finish(match std::env::args().nth(1) {
        Some(endpoint) => account(&endpoint).await,
        None => without_account().await,
    })
}

/// Lists the tables of an account.
async fn account(endpoint: &str) -> Result<(), Box<dyn Error>> {
    // In Azure, a `ManagedIdentityCredential` stands here.
    let identity = DeveloperToolsCredential::new(None)?;
    let service = TableServiceClient::new(endpoint, identity)?;
    match service.list_tables().all().await {
        Ok(names) => {
            println!("{} tables at {}", names.len(), service.endpoint());
            names.iter().for_each(|name| println!("  {name}"));
            Ok(())
        }
        Err(error) => {
            match error.kind() {
                ErrorKind::Unauthenticated => {
                    println!("Sign in to the account's tenant first: `az login`, or `azd auth login`.")
                }
                ErrorKind::Forbidden => println!("The user needs the role \"{ROLE}\" on the account:\n  {}", assign()),
                _ => {}
            }
            Err(error.into())
        }
    }
}

/// Shows on an emulator what the client does with tokens, and what an account needs.
async fn without_account() -> Result<(), Box<dyn Error>> {
    println!("No account is named: an emulator in this process accepts tokens, whoever signed them.\n");
    let emulator = Emulator::new().token_audience("https://storage.azure.com");
    let identity = Arc::new(Unsigned::default());
    let service = TableServiceClient::new("https://devstoreaccount1.table.core.windows.net", identity.clone())?;
    let service = service.transport(emulator.clone());

    let table = service.dynamic_table("Things")?;
    table.create_table().await?;
    for id in ["1", "2", "3"] {
        table.insert(&DynamicEntity::new("things", id)).await?;
    }
    let rows = table.query().all().await?.len();
    let fetched = identity.fetched.load(Ordering::Relaxed);
    println!("5 calls, {rows} rows, {fetched} token fetched: it is kept until 5 minutes before it expires.");

    let plain = TableServiceClient::new("http://example.com", identity.clone())?.transport(emulator);
    if let Err(error) = plain.list_tables().all().await {
        println!("Over HTTP no token is sent: {error}");
    }

    println!(
        "\nFor an account: sign in by `az login`, have the role \"{ROLE}\",\n  {}",
        assign()
    );
    println!(
        "and run: cargo run -p azure-table-examples --features entra --example entra -- https://ACCOUNT.table.core.windows.net"
    );
    Ok(())
}

fn assign() -> String {
    format!("az role assignment create --assignee USER --role \"{ROLE}\" --scope ACCOUNT_RESOURCE_ID")
}

/// A source of tokens without a signature. It stands for azure_identity, and prints what it is asked for.
#[derive(Debug, Default)]
struct Unsigned {
    fetched: AtomicUsize,
}

#[async_trait::async_trait]
impl TokenCredential for Unsigned {
    async fn get_token(&self, scopes: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        println!("a token for {} is fetched", scopes.join(", "));
        // {"alg":"none"}.{"aud":"https://storage.azure.com","exp":32503680000}.
        let token = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL3N0b3JhZ2UuYXp1cmUuY29tIiwiZXhwIjozMjUwMzY4MDAwMH0.";
        Ok(AccessToken::new(
            token,
            OffsetDateTime::now_utc() + Duration::from_secs(3_600),
        ))
    }
}
