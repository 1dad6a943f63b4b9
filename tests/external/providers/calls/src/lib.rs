//! The calls of each program: an insert and a get over HTTPS, with a token that azure_identity requests over HTTPS.
//!
//! `SSL_CERT_FILE` names the certificate of the server, `AZURE_AUTHORITY_HOST` the address of the authority.

use std::error::Error;

use azure_core::credentials::Secret;
use azure_identity::ClientSecretCredential;
use azure_table::{EntraCredential, TableEntity, TableServiceClient};

#[derive(TableEntity, Debug, PartialEq)]
struct Row {
    #[table(partition_key)]
    program: String,
    #[table(row_key)]
    name: String,
    value: i32,
}

/// Returns a client of the Table service that the program's first argument names.
///
/// # Errors
/// The argument is missing, or TLS cannot be set up.
pub fn service() -> Result<TableServiceClient, Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: PROGRAM ADDRESS")?;
    let secret = Secret::new("secret".to_owned());
    let identity = ClientSecretCredential::new("tenant", "client".to_owned(), secret, None)?;
    let endpoint = format!("https://{address}/devstoreaccount1");
    Ok(TableServiceClient::new(&endpoint, EntraCredential::new(identity))?)
}

/// Inserts a row of this name and reads it, over new connections.
///
/// # Errors
/// A call fails, or the row that is read is another one.
pub async fn insert_and_get(name: &str) -> Result<(), Box<dyn Error>> {
    let rows = service()?.table::<Row>("Rows")?;
    rows.create_table_if_not_exists().await?;
    let program = std::env::current_exe()?
        .file_name()
        .ok_or("no program")?
        .to_string_lossy()
        .into_owned();
    let name = name.to_owned();
    let row = Row {
        program,
        name,
        value: 7,
    };
    rows.insert(&row).await?;
    let read = rows.get((&*row.program, &*row.name)).await?;
    if read.as_ref() != Some(&row) {
        return Err(format!("{row:?} was inserted, {read:?} was read").into());
    }
    println!("{}: inserted and read", row.name);
    Ok(())
}

/// Runs `code`, which must panic with this text.
///
/// # Errors
/// It returns, or panics with another text.
pub fn panics_with(text: &str, code: impl FnOnce() + std::panic::UnwindSafe) -> Result<(), Box<dyn Error>> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(code);
    std::panic::set_hook(hook);
    let Err(panic) = result else {
        return Err(format!("no panic with \"{text}\"").into());
    };
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    if !message.contains(text) {
        return Err(format!("another panic: {message}").into());
    }
    println!(
        "none installed, as expected: {}",
        message.trim().lines().next().unwrap_or_default()
    );
    Ok(())
}
