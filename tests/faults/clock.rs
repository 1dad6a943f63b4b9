//! A wrong clock of this machine.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::operation::OperationKind;
use azure_table::telemetry::{Event, Observer, OperationContext};
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{CallOptions, DateTime, DynamicEntity, Emulator, ErrorKind, TableServiceClient};

#[derive(Debug)]
struct Corrections(Arc<Mutex<Vec<i64>>>);

impl Observer for Corrections {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::ClockCorrected { seconds } = event {
            self.0.lock().unwrap().push(*seconds);
        }
    }
}

use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;

/// A request is signed again with the service's time, and later requests use that time at once.
#[tokio::test]
async fn wrong_clock_is_corrected_once() {
    for behind in [true, false] {
        let clock = EmulatorClock::system();
        if behind {
            clock.advance(Duration::from_secs(3_600))
        } else {
            clock.set(DateTime::now() - Duration::from_secs(3_600))
        }
        let corrections = Arc::new(Mutex::new(Vec::new()));
        let service = TableServiceClient::from_transport(Emulator::new().shared_clock(clock));
        let service = service.observer(Corrections(Arc::clone(&corrections)));
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        let context = OperationContext::new();
        table
            .insert(&DynamicEntity::new("p", "r"))
            .with(&CallOptions::new().context(&context))
            .await
            .unwrap();
        assert_eq!(context.attempts().len(), 1, "it is kept");
        let corrections = corrections.lock().unwrap();
        match behind {
            true => assert!(matches!(corrections[..], [3_595..=3_600]), "{corrections:?}"),
            // The emulator does not reject requests from the future.
            false => assert!(corrections.is_empty(), "{corrections:?}"),
        }
    }
}

/// On Cosmos DB a wrong signature has the code of a missing permission.
#[tokio::test]
async fn wrong_clock_is_corrected_on_cosmos_db() {
    let there = std::time::SystemTime::now() + Duration::from_secs(3_600);
    let date = httpdate::fmt_http_date(there);
    for (text, is_corrected) in [
        (
            "The input authorization token can't serve the request. Please check it.",
            true,
        ),
        ("Request originated from an address that the firewall blocks.", false),
    ] {
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
        let there = std::time::SystemTime::now() + Duration::from_secs(minutes * 60);
        let headers = [
            ("date", httpdate::fmt_http_date(there)),
            ("x-ms-error-code", "AuthenticationFailed".into()),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Step::response(403, &headers, "")
    };
    let canned = Canned::new([rejected(6), Step::status(204)]);
    canned
        .service()
        .dynamic_table("Things")
        .unwrap()
        .delete_table()
        .await
        .unwrap();
    let dates: Vec<_> = canned
        .sent()
        .iter()
        .map(|sent| sent.headers()["x-ms-date"].clone())
        .collect();
    let at = |n: usize| httpdate::parse_http_date(dates[n].to_str().unwrap()).unwrap();
    let moved = at(1).duration_since(at(0)).unwrap().as_secs();
    assert!((358..=361).contains(&moved), "{moved}");

    let canned = Canned::new([rejected(4)]);
    let error = canned.service().ping().await.unwrap_err();
    assert!(
        error.to_string().contains("the key is not a current key of account"),
        "{error}"
    );
}

/// The write was applied, and the response of the read-back has a date an hour ahead: the row looks old.
#[tokio::test(start_paused = true)]
async fn wrong_date_of_a_response_does_not_deny_a_write() {
    let emulator = Emulator::new();
    let faults = Faults::new(emulator.clone());
    let truth = TableServiceClient::from_transport(emulator)
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    let etag = truth.insert(&DynamicEntity::new("p", "r")).await.unwrap();

    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Replace).first(1));
    faults.add(FaultRule::new(Fault::DateAhead(Duration::from_secs(3_600))).on(OperationKind::Query));
    let table = TableServiceClient::from_transport(faults)
        .dynamic_table("Things")
        .unwrap();
    let error = table
        .replace(&DynamicEntity::new("p", "r"))
        .if_match(etag)
        .await
        .unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::ConditionNotMet), "{error}");
}
