//! An Azure Functions custom handler: it stores each message of a queue once, with a managed identity.
//!
//! The Functions host starts this program, and sends it a POST for each message. `host.json` names the program:
//!
//! ```json
//! { "version": "2.0", "customHandler": { "description": { "defaultExecutablePath": "functions_handler" } } }
//! ```
//!
//! The `function.json` of the function `orders` has a `queueTrigger` named `order`, and no table binding. `TABLES` is the
//! account's address. All invocations share one client, and so its connections and its token.
//!
//! Source: "Azure Functions custom handlers"; the names and the JSON from the host's `ScriptInvocationContextExtensions`
//! and `HttpScriptInvocationResult`.

use std::collections::BTreeMap;
use std::env::var;
use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use azure_core::http::{ClientOptions, Transport};
use azure_identity::{ManagedIdentityCredential, ManagedIdentityCredentialOptions};
use azure_table::transport::{HttpTransport, TransportHttpClient};
use azure_table::{ErrorKind, TableClient, TableEntity, TableServiceClient};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(TableEntity)]
#[table(name = "Orders")]
struct Order {
    #[table(partition_key)]
    day: String,
    #[table(row_key)]
    message: String,
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Tokens come over the connections of this crate too: one pool, one TLS library.
    let http = HttpTransport::builder().build()?;
    let client = TransportHttpClient::new(http.clone());
    let client_options = ClientOptions {
        transport: Some(Transport::new(Arc::new(client))),
        ..ClientOptions::default()
    };
    let identity = ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
        client_options,
        ..ManagedIdentityCredentialOptions::default()
    }))?;
    let service = TableServiceClient::new(&var("TABLES")?, identity)?.transport(http);
    // A missing identity or role ends the program now, and the host says so.
    service.ping().await?;

    let routes = Router::new()
        .route("/orders", post(store))
        .with_state(service.table_of::<Order>()?);
    let port = var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    axum::serve(TcpListener::bind(("127.0.0.1", port)).await?, routes).await?;
    Ok(())
}

/// The body of the host's request. Each value is JSON in a string.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Invocation {
    data: BTreeMap<String, String>,
    metadata: BTreeMap<String, serde_json::Value>,
}

/// The body of the response.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct InvocationResult {
    outputs: BTreeMap<String, String>,
    logs: Vec<String>,
    return_value: Option<String>,
}

/// Stores a message. With another status than 2xx, the host delivers it again.
async fn store(
    State(orders): State<TableClient<Order>>,
    body: String,
) -> Result<impl IntoResponse, (StatusCode, String)> {
    let order = order(&body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let log = match orders.insert(&order).await {
        Ok(_) => format!("stored {}", order.message),
        // A queue may deliver a message twice.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => format!("{} was stored before", order.message),
        Err(error) => return Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    };
    let result = InvocationResult {
        outputs: BTreeMap::new(),
        logs: vec![log],
        return_value: None,
    };
    let result = serde_json::to_string(&result).map_err(|e| (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    Ok(([("content-type", "application/json")], result))
}

fn order(body: &str) -> Result<Order, Box<dyn Error>> {
    let Invocation { data, metadata } = serde_json::from_str(body)?;
    let text = |value: Option<&str>| serde_json::from_str::<String>(value.unwrap_or_default());
    let metadata = |name| text(metadata.get(name).and_then(|value| value.as_str()));
    let day = metadata("InsertionTime")?.chars().take(10).collect();
    Ok(Order {
        day,
        message: metadata("Id")?,
        text: text(data.get("order").map(String::as_str))?,
    })
}
