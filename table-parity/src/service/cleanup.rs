//! The cleanup after a run: deletes the noted tables, and restores the noted properties.

use std::sync::Arc;

use azure_table::transport::Transport;
use bytes::Bytes;

use crate::service::account::Account;
use crate::service::guard::Guard;
use crate::service::mask::encoded;
use crate::service::output::{Exit, Output};
use crate::service::requests::{LIMIT, PROPERTIES, repeated, request};
use crate::service::signer::Signer;
use crate::service::tables::Tables;

/// The result of a cleanup.
#[derive(Debug, Default)]
pub(crate) struct Cleaned {
    /// The numbers of tables.
    pub(crate) deleted: usize,
    pub(crate) not_found: usize,
    /// The service listed the tables of the run at the end.
    pub(crate) is_listed: bool,
    pub(crate) problems: Vec<String>,
}

/// Deletes the tables of a file, and restores the properties in it. Tables of the run that the service still lists
/// afterwards are noted again.
pub(crate) async fn clean_up(account: &Account, transport: &Arc<dyn Transport>, tables: &Tables) -> Cleaned {
    let mask = account.mask();
    let mut cleaned = Cleaned::default();
    let signer = match account
        .credential()
        .and_then(|credential| Signer::new(&account.base, credential))
    {
        Ok(signer) => signer,
        Err(why) => {
            cleaned.problems.push(mask.hide(&why));
            return cleaned;
        }
    };
    let send = async |method: &str, path: &str, body: Bytes| -> Result<u16, String> {
        let request = signer
            .sign(request(&account.base, &signer, method, path, &[], body)?)
            .await?;
        let response = tokio::time::timeout(LIMIT, transport.send(request)).await;
        let response = response.map_err(|_| format!("no response within {LIMIT:?}"))?;
        Ok(response.map_err(|e| e.to_string())?.status().as_u16())
    };
    if let Some(properties) = tables.properties() {
        let put = async || send("PUT", PROPERTIES, properties.clone().into()).await;
        match repeated(put, |status| status < 300).await {
            Ok(_) => drop(tables.set_properties(None)),
            Err(why) => cleaned.problems.push(format!(
                "the service properties are not restored: {}; restore them with: {}",
                mask.hide(&why),
                tables.command()
            )),
        }
    }
    for name in tables.names() {
        let path = format!("Tables('{}')", encoded(&name.replace('\'', "''")));
        let delete = async || send("DELETE", &path, Bytes::new()).await;
        let deleted = repeated(delete, |status| matches!(status, 204 | 404)).await;
        match deleted {
            Ok(204) => cleaned.deleted += 1,
            Ok(_) => cleaned.not_found += 1,
            Err(_) => {}
        }
        let removed = deleted.and_then(|_| tables.remove(&name).map_err(|e| e.to_string()));
        if let Err(why) = removed {
            let why = format!("table {name:?} is not deleted: {why}");
            cleaned.problems.push(mask.hide(&why));
        }
    }
    let Some(prefix) = tables.prefix() else { return cleaned };
    match listed(account, transport, prefix).await {
        Ok(left) => {
            cleaned.is_listed = true;
            for name in left {
                if tables.add(&name).unwrap_or(true) {
                    let why = "the service still lists it after its deletion";
                    cleaned.problems.push(format!("table {name:?} is left: {why}"));
                }
            }
        }
        Err(why) => cleaned
            .problems
            .push(mask.hide(&format!("the tables of the run are not listed: {why}"))),
    }
    cleaned
}

/// Returns the tables of an account whose names begin with a prefix.
async fn listed(account: &Account, transport: &Arc<dyn Transport>, prefix: &str) -> Result<Vec<String>, String> {
    let service = account.client(Guard::new(transport.clone(), prefix, u64::MAX, None))?;
    let names = service.attempt_timeout(LIMIT).list_tables().starting_with(prefix).all();
    let mut names = names.await.map_err(|e| e.to_string())?;
    names.retain(|name| name.starts_with(prefix));
    Ok(names)
}

/// Deletes the noted tables, and removes their file.
pub(crate) async fn finish(
    account: &Account,
    transport: &Arc<dyn Transport>,
    tables: &Tables,
    output: &mut Output<'_>,
) -> Exit {
    let cleaned = clean_up(account, transport, tables).await;
    for problem in &cleaned.problems {
        output.line(&format!("cleanup    {problem}"));
    }
    let not_found = match cleaned.not_found {
        0 => String::new(),
        number => format!(", not found: {number}"),
    };
    let end = match (tables.is_clean(), cleaned.is_listed) {
        (true, true) => "none is left",
        (true, false) => "none is noted",
        (false, _) => "some are left",
    };
    output.line(&format!(
        "cleanup    tables deleted at the end: {}{not_found}; {end}",
        cleaned.deleted
    ));
    if remove_file(tables, output) {
        Exit::NoDifference
    } else {
        Exit::NotFinished
    }
}

/// Removes the file of tables if it names nothing. Prints the reason why it stays.
pub(crate) fn remove_file(tables: &Tables, output: &mut Output<'_>) -> bool {
    let path = tables.path().display();
    let why = match tables.finish() {
        Ok(true) => return true,
        Ok(false) => format!("not complete: delete the rest with --cleanup {path}"),
        Err(e) => format!("{path} is not removed: {e}"),
    };
    output.line(&format!("cleanup    {why}"));
    false
}
