//! Requests with damaged bodies: the emulator answers each, and never with a fault of its own.
//!
//! Signatures do not cover bodies, so the emulator accepts all of them.

use azure_table::service::{CorsRule, ServiceProperties, StoredAccessPolicy};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, Emulator, Error, TableServiceClient};
use azure_table_tests::untrusted::{is_presentable, on_runtime, things};
use bytes::Bytes;
use http::{Request, Response};
use proptest::prelude::{TestCaseError, prop_assert};

use crate::document::{Change, damage, damaged};
use crate::try_on_fewer;

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\ud800",
    "null",
    "\"PartitionKey\":\"p\",",
    "\"A@odata.type\":\"Edm.Int64\",",
    "\"A\":5,",
    "\"x\"",
    "\r\n",
    "--",
    "--changeset",
    "--batch",
    "HTTP/1.1",
    "PATCH ",
    "GET ",
    "DELETE ",
    "http://",
    "Content-Type: ",
    "Content-Length: 99999999999999999999\r\n",
    "If-Match: *\r\n",
    "<",
    "</",
    ">",
    "&",
    "<!DOCTYPE a>",
    "<Id>",
    "</Id>",
    "-1",
];

/// The path to the emulator, with damage to each body.
#[derive(Debug)]
struct Damaging {
    emulator: Emulator,
    changes: Vec<Change>,
}

impl Transport for Damaging {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.emulator
            .send(request.map(|body| damaged(&body, &self.changes).into()))
    }
}

/// The table exists, with one row.
fn emulator() -> Emulator {
    let emulator = Emulator::new();
    let table = things(&TableServiceClient::from_transport(emulator.clone()));
    on_runtime(async {
        table.create_table().await.unwrap();
        table.insert(&row("1")).await.unwrap();
    });
    emulator
}

fn row(row_key: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", row_key);
    row.insert("Text", "a\"b");
    row.insert("Small", 5);
    row.insert("Large", 5_i64);
    row.insert("Ratio", 0.5);
    row.insert("Bytes", vec![0_u8, 1, 2]);
    row
}

/// A rejection states what was wrong with the request, or what is not implemented. A batch that lost operations is
/// answered, with fewer results than the client expects.
fn is_a_rejection(error: &Error) -> Result<(), TestCaseError> {
    is_presentable(error).map_err(TestCaseError::fail)?;
    let is_rejected = matches!(error.status(), Some(400..=499 | 501));
    let has_other_results = error
        .to_string()
        .contains("the batch had 3 operations, its response has");
    prop_assert!(is_rejected || has_other_results, "{error}");
    Ok(())
}

#[test]
fn damaged_body_is_accepted_or_rejected() {
    // Each case has an emulator and ten requests.
    try_on_fewer(16, &damage(PIECES), |changes| {
        let emulator = emulator();
        let service = TableServiceClient::from_transport(Damaging {
            emulator: emulator.clone(),
            changes,
        });
        let table = things(&service);
        let errors = on_runtime(async {
            let mut batch = table.batch();
            batch
                .insert(&row("2"))
                .unwrap()
                .insert_or_merge(&row("1"))
                .unwrap()
                .delete(("p", "3"))
                .unwrap();
            let mut policy = StoredAccessPolicy::new("read");
            policy.expiry = Some("2030-01-01T00:00:00Z".parse().unwrap());
            let properties = ServiceProperties::default().cors([CorsRule::new(["*"], ["GET"])]);
            [
                table.insert(&row("4")).await.err(),
                table.merge(&row("1")).await.err(),
                batch.submit().await.err(),
                table.set_access_policies([policy]).await.err(),
                service.set_properties(properties).await.err(),
            ]
        });
        for error in errors.iter().flatten() {
            is_a_rejection(error)?;
        }
        // Accepted rows can be read.
        let service = TableServiceClient::from_transport(emulator);
        on_runtime(async {
            things(&service).query().all().await.unwrap();
            things(&service).access_policies().await.unwrap();
            service.properties().await.unwrap();
        });
        Ok(())
    });
}
