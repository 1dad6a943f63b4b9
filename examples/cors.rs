//! A page that writes and reads a row from the browser: the two requests of CORS, and the pages that are kept out.
//!
//! Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage", "Preflight Table Request".
//!
//! `cargo run --example cors` runs on an emulator on a port of this process. It runs on no account, whose rules would
//! change for all pages.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::service::{CorsRule, ServiceProperties};
use azure_table::transport::{HttpTransport, Transport};
use azure_table::{DateTime, Emulator, EmulatorServer, TablePermissions, TableSas, TableServiceClient};
use azure_table_examples::finish;
use bytes::Bytes;
use http::request::Builder;
use http::{Request, Response};

const HOUR: Duration = Duration::from_secs(3_600);
/// The headers that the browser looks at, or shows to the page.
const HEADERS: [&str; 5] = [
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-max-age",
    "access-control-expose-headers",
];

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?.spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string())?;
    let scores = service.dynamic_table("Scores")?;
    scores.create_table().await?;
    let rule = CorsRule {
        allowed_headers: vec!["content-type".into()],
        exposed_headers: vec!["ETag".into()],
        max_age: HOUR,
        ..CorsRule::new(["https://contoso.com"], ["GET", "PUT"])
    };
    service
        .set_properties(ServiceProperties::default().cors([rule]))
        .await?;

    // CORS is no authorization: the page needs a signature. This one is for the rows of one player.
    let sas = TableSas::new(scores.name())
        .permissions(TablePermissions::READ | TablePermissions::ADD | TablePermissions::UPDATE)
        .expiry(DateTime::now() + HOUR)
        .first("jeff", "")
        .last("jeff", "")
        .sign(service.account_key().ok_or("only an account key signs")?)?;
    let row = format!(
        "{}/Scores(PartitionKey='jeff',RowKey='chess')?{}",
        service.endpoint(),
        sas.expose()
    );

    let browser = HttpTransport::builder().build()?;
    for origin in ["https://contoso.com", "https://fabrikam.com"] {
        let page = Page {
            origin,
            browser: &browser,
        };
        page.put(&row, r#"{"Score":42}"#).await?;
        page.get(&row).await?;
    }
    let stored = scores.get(("jeff", "chess")).await?.ok_or("the page wrote nothing")?;
    println!("\nstored     Score {}", stored.property::<i32>("Score")?);
    Ok(())
}

/// A page in a browser.
struct Page<'b> {
    origin: &'static str,
    browser: &'b HttpTransport,
}

impl Page<'_> {
    /// Writes a row. The browser asks first, since `PUT` and JSON are no requests that a form could send.
    async fn put(&self, url: &str, json: &'static str) -> Result<(), Box<dyn Error>> {
        let preflight = Request::options(url)
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "content-type");
        let response = self.send("OPTIONS", preflight, "").await?;
        if response.status() == 200 {
            let put = Request::put(url).header("content-type", "application/json");
            self.send("PUT", put, json).await?;
        } else {
            println!("  the browser does not send the PUT");
        }
        Ok(())
    }

    /// Reads a row. The browser sends such a request at once, and hides the response from a page without permission.
    async fn get(&self, url: &str) -> Result<(), Box<dyn Error>> {
        let get = Request::get(format!("{url}&$select=Score")).header("accept", "application/json;odata=nometadata");
        let response = self.send("GET", get, "").await?;
        let allowed = response.headers().get("access-control-allow-origin");
        if allowed.is_some_and(|origin| origin == self.origin || origin == "*") {
            println!("  the page sees {}", String::from_utf8_lossy(response.body()))
        } else {
            println!("  the browser hides the response from the page")
        }
        Ok(())
    }

    async fn send(
        &self,
        method: &str,
        request: Builder,
        body: &'static str,
    ) -> Result<Response<Bytes>, Box<dyn Error>> {
        let request = request.header("origin", self.origin).body(Bytes::from(body))?;
        let response = self.browser.send(request).await?;
        println!("\n{method} from {}: {}", self.origin, response.status().as_u16());
        for name in HEADERS {
            if let Some(value) = response.headers().get(name) {
                println!("  {name}: {}", value.to_str()?);
            }
        }
        Ok(response)
    }
}
