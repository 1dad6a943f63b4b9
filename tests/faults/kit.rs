//! The fault kit: the requests that a rule selects, the effect of a fault, and the recorded exchanges.

use std::sync::Arc;
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{Delivery, Transport};
use azure_table::{
    CallOptions, DynamicEntity, Emulator, ErrorKind, NoRetry, SasToken, TableClient, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use bytes::Bytes;

use super::{once, row};

/// Sends requests, and returns whether each met a fault.
async fn met(faults: &Faults, requests: usize) -> Vec<bool> {
    for _ in 0..requests {
        let _ = faults.send(http::Request::new(Bytes::new())).await;
    }
    faults.log().iter().map(|record| record.fault().is_some()).collect()
}

/// Returns the requests of ten that a rule selects.
async fn chosen(rule: FaultRule, seed: u64) -> Vec<usize> {
    let faults = Faults::with_seed(Canned::new((0..10).map(|_| Step::status(200))), seed);
    faults.add(rule);
    let met = met(&faults, 10).await;
    assert!(faults.log().iter().map(|record| record.number()).eq(1..=10));
    (1..=10).filter(|number| met[number - 1]).collect()
}

#[tokio::test]
async fn fault_rule_selects_by_count_or_probability() {
    let reset = || FaultRule::new(Fault::Reset);
    assert_eq!(chosen(reset(), 0).await.len(), 10);
    assert_eq!(chosen(reset().nth(3), 0).await, [3]);
    assert_eq!(chosen(reset().first(2), 0).await, [1, 2]);
    assert_eq!(chosen(reset().every(4), 0).await, [4, 8]);
    assert!(chosen(reset().every(0), 0).await.is_empty());
    assert_eq!(chosen(reset().every(3).at_most(2), 0).await, [3, 6]);
    assert!(chosen(reset().probability(0.0), 0).await.is_empty());
    assert_eq!(chosen(reset().probability(1.0), 0).await.len(), 10);
    let draws = |seed| chosen(reset().probability(0.5), seed);
    assert_eq!(draws(1).await, draws(1).await);
    assert_ne!(draws(1).await, draws(2).await);
}

#[tokio::test]
async fn rule_added_after_a_removal_has_draws_of_its_own() {
    let faults = Faults::new(Canned::new((0..64).map(|_| Step::status(200))));
    let random = || FaultRule::new(Fault::Reset).probability(0.5);
    let removed = faults.add(FaultRule::new(Fault::Reset).nth(0));
    let older = faults.add(random());
    faults.remove(&removed);
    let newer = faults.add(random());
    // The newer rule sees the requests that the older one did not choose.
    newer.disable();
    met(&faults, 32).await;
    older.disable();
    newer.enable();
    let hit = met(&faults, 32).await;
    assert_ne!(hit[..32], hit[32..]);
}

#[azure_table::test]
async fn fault_rule_selects_by_kind_and_table_and_can_be_disabled(table: TableClient, faults: Faults) {
    let table = table.with(&once());
    let elsewhere = faults.add(FaultRule::new(Fault::Reset).table("Others"));
    let writes = faults.add(FaultRule::new(Fault::Reset).on_writes().table("TABLE"));
    let row = row();
    assert!(table.get(("p", "r")).await.unwrap().is_none());
    assert!(table.insert(&row).await.is_err());
    assert_eq!((elsewhere.matched(), writes.matched(), writes.hits()), (0, 1, 1));
    writes.disable();
    table.insert(&row).await.unwrap();
    writes.enable();
    assert!(table.delete(("p", "r")).await.is_err());
    assert_eq!((writes.matched(), writes.hits()), (2, 2));
    faults.clear();
    table.delete(("p", "r")).await.unwrap();

    use OperationKind::{Delete, Get, Insert};
    let expected = [
        (Get, false),
        (Insert, true),
        (Insert, false),
        (Delete, true),
        (Delete, false),
    ];
    for (record, (kind, has_fault)) in faults.log().iter().zip(expected) {
        assert_eq!((record.kind(), record.fault().is_some()), (Some(kind), has_fault));
    }
    assert_eq!(faults.requests(), 5);
    assert_eq!(faults.log()[1].table(), Some("Table"));
}

/// Every fault reports the stage of the request, and leaves the service in the documented state.
#[tokio::test(start_paused = true)]
async fn each_fault_applies_or_drops_its_request() {
    use Delivery::{MaybeSent, NothingSent, ResponseCut};
    let second = Duration::from_secs(1);
    let internal = ResponseTemplate::internal_error;
    let bad_header = ResponseTemplate::new(503).header("x\n", "");
    let elsewhere = Canned::new([Step::status(418)]);
    let cases = [
        (Fault::NoConnection, Err(NothingSent), false, 0),
        (Fault::LoseRequest, Err(MaybeSent), false, 0),
        (Fault::Reset, Err(MaybeSent), false, 0),
        (Fault::LoseResponse, Err(MaybeSent), true, 0),
        (Fault::CutResponse { at: 5 }, Err(ResponseCut), true, 0),
        (Fault::DelayRequest(second), Ok(204), true, 1),
        (Fault::DelayResponse(second), Ok(204), true, 1),
        (drip(2), Ok(204), true, 3),
        (drip(0), Ok(204), true, 5),
        (internal().into(), Ok(500), false, 0),
        (Fault::RespondAfterApplying(internal()), Ok(500), true, 0),
        (ResponseTemplate::new(99).into(), Err(NothingSent), false, 0),
        (bad_header.into(), Err(NothingSent), false, 0),
        (Fault::FailBatchPart(internal()), Ok(204), true, 0),
        (Fault::DateAhead(second), Ok(204), true, 0),
        (Fault::DateBehind(second), Ok(204), true, 0),
        (Fault::RouteTo(Arc::new(elsewhere)), Ok(418), false, 0),
    ];
    for (fault, expected, is_applied, seconds) in cases {
        let behind = Canned::new([Step::response(204, &[], "12345")]);
        let faults = Faults::new(behind.clone());
        faults.add(fault.clone());
        let started = tokio::time::Instant::now();
        let outcome = faults.send(http::Request::new(Bytes::new())).await;
        let outcome = outcome.map(|response| response.status().as_u16());
        assert_eq!(outcome.map_err(|e| e.delivery()), expected, "{fault:?}");
        assert_eq!(behind.sent().len(), usize::from(is_applied), "{fault:?}");
        assert_eq!(started.elapsed().as_secs(), seconds, "{fault:?}");
    }
    for (fault, is_applied) in [(Fault::HangRequest, false), (Fault::HangResponse, true)] {
        let behind = Canned::new([Step::status(204)]);
        let faults = Faults::new(behind.clone());
        faults.add(fault);
        let hangs = faults.send(http::Request::new(Bytes::new()));
        assert!(tokio::time::timeout(second, hangs).await.is_err());
        assert_eq!(behind.sent().len(), usize::from(is_applied));
    }
}

fn drip(bytes: usize) -> Fault {
    let pause = Duration::from_secs(1);
    Fault::Drip { bytes, pause }
}

#[azure_table::test]
async fn response_template_has_the_form_of_the_service(table: TableClient, faults: Faults) {
    let table = table.with(&once());
    let busy = faults.add(ResponseTemplate::server_busy(Duration::from_millis(1)));
    let error = table.insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Throttled, Some("ServerBusy")));
    busy.disable();

    let too_many = ResponseTemplate::too_many_requests().message("1:Too many.");
    faults.add(Fault::FailBatchPart(too_many));
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "0")).unwrap();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    let error = batch.submit().await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::Throttled, Some(1)));
    assert!(!error.may_have_applied());
    assert!(table.query().all().await.unwrap().is_empty());
}

#[azure_table::test]
async fn faults_can_be_stacked_and_use_another_clock(emulator: Emulator, nearer: Faults, table: TableClient) {
    let clock = EmulatorClock::system();
    clock.advance(Duration::from_secs(3_600));
    let farther = Faults::new(nearer.clone());
    let cut = farther.add(FaultRule::new(Fault::CutResponse { at: 0 }).first(1));
    let skewed = Fault::RouteTo(Arc::new(emulator.shared_clock(clock)));
    let skewed = nearer.add(FaultRule::new(skewed).at_most(1));
    // The inner one records the request whose response the outer one cuts.
    let service = TableServiceClient::from_transport(farther.clone()).retry(NoRetry);
    let table = service.dynamic_table(table.name().as_str()).unwrap();
    let error = table.get(("p", "r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!((cut.hits(), skewed.hits()), (1, 1));
    assert_eq!((nearer.requests(), farther.requests()), (1, 1));
}

/// Signatures are in URLs and headers: neither is shown, and the log is bounded.
#[tokio::test]
async fn fault_log_contains_no_signature() {
    let faults = Faults::new(Canned::new([]));
    faults.add(Fault::Reset);
    let token = SasToken::new("sv=2019-02-02&se=2020-01-01&sig=SIGNATUREMARKER").unwrap();
    let service = TableServiceClient::new("https://contoso.table.core.windows.net", token).unwrap();
    let service = service.transport(faults.clone()).retry(NoRetry);
    let table = service.dynamic_table("Things").unwrap();
    for id in 0..1_100 {
        let options = CallOptions::new().client_request_id(format!("call-{id}"));
        let error = table.insert(&row()).with(&options).await.unwrap_err();
        assert!(!format!("{error:?}").contains("MARKER"));
    }
    let log = faults.log();
    let shown = format!("{faults:?} {log:#?}");
    assert!(shown.contains("call-1099") && !shown.contains("MARKER"), "{shown}");
    assert_eq!((log.len(), faults.requests()), (1_024, 1_100));
    assert_eq!(log[1_023].client_request_id(), Some("call-1099"));
}
