//! A wrong clock of this machine: requests are signed again with the time of the service.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table::emulator::EmulatorClock;
use azure_table::telemetry::{Event, OperationContext};
use azure_table::{CallOptions, DateTime, Emulator, ErrorKind, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};

use super::{row, table};
use azure_table_tests::closures::Observe;

const HOUR: Duration = Duration::from_secs(3_600);

/// A request is signed again with the service's time, and later requests use that time at once.
#[tokio::test]
async fn wrong_clock_is_corrected_once() {
    for is_behind in [true, false] {
        let now = DateTime::now();
        let there = if is_behind { now + HOUR } else { now - HOUR };
        let corrections = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&corrections);
        let service = TableServiceClient::from_transport(Emulator::new().shared_clock(EmulatorClock::fixed(there)));
        let service = service.observer(Observe(move |event: &Event<'_>| {
            if let Event::ClockCorrected { seconds } = event {
                seen.lock().unwrap().push(*seconds);
            }
        }));
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        let context = OperationContext::new();
        let insert = table.insert(&row()).with(&CallOptions::new().context(&context));
        insert.await.unwrap();
        assert_eq!(context.attempts().len(), 1, "it is kept");
        let corrections = corrections.lock().unwrap();
        match is_behind {
            true => assert!(matches!(corrections[..], [3_595..=3_600]), "{corrections:?}"),
            // The emulator does not reject requests from the future.
            false => assert!(corrections.is_empty(), "{corrections:?}"),
        }
    }
}

/// On Cosmos DB a wrong signature has the code of a missing permission.
#[tokio::test]
async fn wrong_clock_is_corrected_on_cosmos_db() {
    let date = httpdate::fmt_http_date(SystemTime::now() + HOUR);
    let wrong_signature = "The input authorization token can't serve the request. Please check it.";
    let blocked = "Request originated from an address that the firewall blocks.";
    for (text, is_corrected) in [(wrong_signature, true), (blocked, false)] {
        let body = format!("{{\"odata.error\":{{\"code\":\"Forbidden\",\"message\":{{\"value\":\"{text}\"}}}}}}");
        let headers = [("date", date.as_str()), ("content-type", "application/json")];
        let canned = Canned::new([Step::response(403, &headers, &body), Step::status(204)]);
        let key = azure_table::AccountKey::new("contoso", "a2V5").unwrap();
        let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", key).unwrap();
        let table = service.transport(canned.clone()).dynamic_table("Things").unwrap();
        let deleted = table.delete_table().await;
        assert_eq!(deleted.is_ok(), is_corrected, "{deleted:?}");
        if let Err(error) = deleted {
            assert_eq!(error.kind(), ErrorKind::Forbidden);
        }
    }
}

/// A clock that is off by five minutes may soon be off by more, and the request takes time to arrive.
#[tokio::test]
async fn clock_is_corrected_from_five_minutes_on() {
    let rejected = |minutes: u64| {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(minutes * 60));
        // Without a body, the code is in the header alone.
        let headers = [("date", date.as_str()), ("x-ms-error-code", "AuthenticationFailed")];
        Step::response(403, &headers, "")
    };
    let canned = Canned::new([rejected(6), Step::status(204)]);
    table(&canned).delete_table().await.unwrap();
    let sent = canned.sent();
    let at = |n: usize| httpdate::parse_http_date(sent[n].headers()["x-ms-date"].to_str().unwrap()).unwrap();
    let moved = at(1).duration_since(at(0)).unwrap().as_secs();
    assert!((358..=361).contains(&moved), "{moved}");

    let error = Canned::new([rejected(4)]).service().ping().await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the key is not a current key of account"), "{text}");
}
