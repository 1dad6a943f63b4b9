//! Tables, their rows, and snapshots of all tables.
//!
//! Work that copies tables or waits for the disk runs on another thread.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use azure_table_emulator::Emulator;
use azure_table_emulator::EmulatorSnapshot;
use http::StatusCode;
use serde::Serialize;

use crate::control::request::{Parameters, Segment, snapshot as snapshot_text, text};
use crate::control::response::{Rejection, json, lines, nothing, push_line};
use crate::control::steered::Steered;

#[derive(Serialize)]
struct TableJson<'a> {
    account: &'a str,
    table: &'a str,
    entities: usize,
}

pub(super) async fn list(State(steered): State<Arc<Steered>>, parameters: Parameters) -> Result<Response, Rejection> {
    let parameters = parameters.only(&["account"])?;
    let account = parameters.get("account");
    let mut text = String::new();
    for table in steered.emulator.tables() {
        if account.is_none_or(|account| account == table.account) {
            push_line(
                &mut text,
                &TableJson {
                    account: &table.account,
                    table: &table.name,
                    entities: table.entity_count,
                },
            );
        }
    }
    steered.emulator.settle().await?;
    Ok(lines(text))
}

pub(super) async fn clear(State(steered): State<Arc<Steered>>, parameters: Parameters) -> Result<Response, Rejection> {
    let parameters = parameters.only(&["account"])?;
    let account = parameters.get("account").map(str::to_owned);
    let deleted = blocking(&steered, move |emulator| match account {
        None => emulator.clear(),
        Some(account) => emulator.clear_account(&account),
    });
    deleted.await??;
    Ok(nothing())
}

pub(super) async fn rows(
    State(steered): State<Arc<Steered>>,
    Segment(table): Segment,
    parameters: Parameters,
) -> Result<Response, Rejection> {
    let parameters = parameters.only(&["account", "limit"])?;
    let account = parameters.account();
    let limit = parameters.get("limit").map(|text| {
        text.parse()
            .map_err(|_| Rejection::bad_request(format_args!("limit: {text:?}, it must be a number of rows")))
    });
    let limit = limit.transpose()?.unwrap_or(usize::MAX);
    let missing = missing(&account, &table);
    let text = blocking(&steered, move |emulator| emulator.table_lines(&account, &table, limit)).await?;
    steered.emulator.settle().await?;
    Ok(lines(text.ok_or(missing)?))
}

pub(super) async fn seed(
    State(steered): State<Arc<Steered>>,
    Segment(table): Segment,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Rejection> {
    let account = parameters.only(&["account"])?.account();
    let (text, _place) = text(&steered, request).await?;
    let (name, of) = (table.clone(), account.clone());
    let entities = blocking(&steered, move |emulator| emulator.seed_lines(&of, &name, &text)).await??;
    Ok(json(&TableJson {
        account: &account,
        table: &table,
        entities,
    }))
}

pub(super) async fn delete(
    State(steered): State<Arc<Steered>>,
    Segment(table): Segment,
    parameters: Parameters,
) -> Result<Response, Rejection> {
    let account = parameters.only(&["account"])?.account();
    let missing = missing(&account, &table);
    if blocking(&steered, move |emulator| emulator.delete_table(&account, &table)).await?? {
        Ok(nothing())
    } else {
        Err(missing)
    }
}

pub(super) async fn snapshot(State(steered): State<Arc<Steered>>) -> Result<Response, Rejection> {
    let text = blocking(&steered, move |emulator| emulator.snapshot().to_string()).await?;
    steered.emulator.settle().await?;
    Ok(lines(text))
}

pub(super) async fn restore(State(steered): State<Arc<Steered>>, request: Request) -> Result<Response, Rejection> {
    let (text, _place) = snapshot_text(&steered, request).await?;
    let restored = blocking(&steered, move |emulator| {
        emulator.restore(&text.parse::<EmulatorSnapshot>()?)
    });
    restored.await??;
    Ok(nothing())
}

fn missing(account: &str, table: &str) -> Rejection {
    Rejection::not_found(format_args!("table {table:?} of account {account:?} does not exist"))
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(
    steered: &Steered,
    work: impl FnOnce(&Emulator) -> T + Send + 'static,
) -> Result<T, Rejection> {
    let emulator = steered.emulator.clone();
    let done = tokio::task::spawn_blocking(move || work(&emulator)).await;
    done.map_err(|e| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, e))
}
