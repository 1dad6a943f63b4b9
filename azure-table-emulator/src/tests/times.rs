//! Effects of the clock, the clock itself, and the formats of times.

use super::*;
use crate::settings::LATEST;
use crate::snapshot::EmulatorSnapshot;

fn at(text: &str) -> DateTime {
    text.parse().unwrap()
}

#[tokio::test]
async fn timestamps_etags_and_errors_use_the_clock() {
    let clock = EmulatorClock::fixed(at("2020-01-01T00:00:00Z"));
    let emulator = with_table().await.shared_clock(clock.clone());
    clock.set(at("2021-01-01T00:00:00Z"));
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let inserted = send(&emulator, "POST", "Blogs", &[], row).await;
    assert!(body(&inserted).contains(r#""Timestamp":"2021-01-01T00:00:00Z""#));
    assert_eq!(header(&inserted, "etag"), "W/\"datetime'2021-01-01T00%3A00%3A00Z'\"");
    assert_eq!(header(&inserted, "date"), "Fri, 01 Jan 2021 00:00:00 GMT");
    let again = send(&emulator, "POST", "Blogs", &[], row).await;
    assert!(body(&again).contains(r"\nTime:2021-01-01T00:00:00.0000000Z"));
    let replaced = send(&emulator, "PUT", "Blogs(PartitionKey='p',RowKey='r')", &[], "{}").await;
    assert_eq!(
        header(&replaced, "etag"),
        "W/\"datetime'2021-01-01T00%3A00%3A00.0000001Z'\"",
        "no two versions share one, though the clock stands"
    );
    clock.set(at("2020-01-01T00:00:00Z"));
    let back = send(&emulator, "PUT", "Blogs(PartitionKey='p',RowKey='r')", &[], "{}").await;
    assert!(header(&back, "etag").contains("2021-01-01"), "versions never go back");
}

#[tokio::test]
async fn clock_before_1970_shows_1970_and_requests_are_answered() {
    let clock = EmulatorClock::fixed(at("1601-01-01T00:00:00Z"));
    let emulator = with_table().await.shared_clock(clock.clone());
    clock.set(at("1969-12-31T23:59:59Z"));
    let response = send(&emulator, "GET", "Blogs", &[], "").await;
    assert_eq!(header(&response, "date"), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(clock.now(), at("1970-01-01T00:00:00Z"));
}

/// Writes a row, and returns its ETag.
pub(super) async fn written(emulator: &Emulator, text: &str) -> String {
    let row = format!("{{\"Text\":\"{text}\"}}");
    let response = send(emulator, "PUT", "Blogs(PartitionKey='p',RowKey='r')", &[], &row).await;
    assert_eq!(response.status(), 204, "{}", body(&response));
    header(&response, "etag").to_owned()
}

#[tokio::test]
async fn etag_from_before_a_restore_matches_no_later_row() {
    let clock = EmulatorClock::fixed(at("2021-01-01T00:00:00Z"));
    let emulator = with_table().await.shared_clock(clock.clone());
    let first = written(&emulator, "first").await;
    let snapshot = emulator.snapshot();
    let second = written(&emulator, "second").await;
    emulator.restore(&snapshot).unwrap();
    let third = written(&emulator, "third").await;
    assert!(third != second && third != first, "{third}");
    let stale = [("if-match", &*second)];
    let response = send(&emulator, "PUT", "Blogs(PartitionKey='p',RowKey='r')", &stale, "{}").await;
    assert_eq!(error(&response).1, "UpdateConditionNotSatisfied");

    // From a file too, and with all tables deleted in between, as a reset does.
    let file: EmulatorSnapshot = snapshot.to_string().parse().unwrap();
    emulator.clear().unwrap();
    emulator.restore(&file).unwrap();
    let fourth = written(&emulator, "fourth").await;
    assert!(![&first, &second, &third].contains(&&fourth), "{fourth}");
    // The snapshot of a later emulator moves the times forward.
    let later = Emulator::new().shared_clock(EmulatorClock::fixed(at("2022-01-01T00:00:00Z")));
    later.restore(&snapshot).unwrap();
    written(&later, "later").await;
    emulator.restore(&later.snapshot()).unwrap();
    assert!(
        written(&emulator, "fifth")
            .await
            .contains("2022-01-01T00%3A00%3A00.0000001Z")
    );
}

#[tokio::test]
async fn request_is_too_old_after_15_minutes() {
    let emulator = Emulator::new().shared_clock(EmulatorClock::fixed(at("2026-11-20T12:00:00Z")));
    for (date, status) in [
        ("Fri, 20 Nov 2026 12:00:00 GMT", 200),
        ("Fri, 20 Nov 2026 11:45:00 GMT", 200),
        ("Fri, 20 Nov 2026 11:44:59 GMT", 403),
        ("Sat, 21 Nov 2026 12:00:00 GMT", 200),
    ] {
        let response = send(&emulator, "GET", "Tables", &[("x-ms-date", date)], "").await;
        assert_eq!(response.status(), status, "{date}");
    }
}

#[tokio::test]
async fn deleting_a_table_takes_the_deletion_time() {
    let clock = EmulatorClock::fixed(DateTime::now());
    let emulator = with_table()
        .await
        .shared_clock(clock.clone())
        .deletion_time(Duration::from_secs(40));
    let name = r#"{"TableName":"blogs"}"#;
    assert_eq!(
        send(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(),
        204
    );
    let being_deleted = rejected(
        409,
        "TableBeingDeleted",
        "The specified table is being deleted. Try operation later.",
    );
    for seconds in [0, 39] {
        clock.advance(Duration::from_secs(seconds));
        let created = send(&emulator, "POST", "Tables", &[], name).await;
        assert_eq!(error(&created), being_deleted);
        let query = send(&emulator, "GET", "Blogs", &[], "").await;
        assert_eq!(error(&query).1, "TableNotFound");
        let deleted = send(&emulator, "DELETE", "Tables('Blogs')", &[], "").await;
        assert_eq!(error(&deleted).1, "ResourceNotFound");
    }
    let other = r#"{"TableName":"Others"}"#;
    assert_eq!(send(&emulator, "POST", "Tables", &[], other).await.status(), 201);
    clock.advance(Duration::from_secs(1));
    assert_eq!(send(&emulator, "POST", "Tables", &[], name).await.status(), 201);
    let at_once = emulator.deletion_time(Duration::ZERO);
    assert_eq!(send(&at_once, "DELETE", "Tables('Blogs')", &[], "").await.status(), 204);
    assert_eq!(send(&at_once, "POST", "Tables", &[], name).await.status(), 201);
}

#[test]
fn clock_runs_or_stands_still_and_is_shared_by_clones() {
    let clock = EmulatorClock::system();
    let before = DateTime::now();
    assert!(clock.now() >= before && clock.now() <= DateTime::now());
    let hour = Duration::from_secs(3_600);
    clock.clone().advance(hour);
    assert!(clock.now() >= before + hour, "it goes on running");
    clock.set(at("2030-01-01T00:00:00Z"));
    assert_eq!(format!("{clock:?}"), "EmulatorClock(2030-01-01T00:00:00Z)");
    clock.advance(hour);
    assert_eq!(clock.now(), at("2030-01-01T01:00:00Z"));
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), LATEST, "later times would leave no room for unique ones");
    let running = EmulatorClock::default();
    running.advance(Duration::MAX);
    running.advance(Duration::MAX);
    assert_eq!(running.now(), LATEST);
}

/// Recordings of azure-data-tables, `entity_with_edmtypes` (both services, 2024 and 2026); REST "Formatting DateTime
/// values".
#[tokio::test]
async fn times_without_a_zone_seconds_or_a_time_of_day_are_utc() {
    for (emulator, zeros) in [(Emulator::new(), ""), (Emulator::cosmos(), ".0000000")] {
        send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
        for (n, (sent, stored)) in [
            ("2008-07-10T00:00:00", "2008-07-10T00:00:00"),
            ("2023-01-01T23:00", "2023-01-01T23:00:00"),
            ("2023-01-01T23:00Z", "2023-01-01T23:00:00"),
            ("2023-01-01", "2023-01-01T00:00:00"),
            ("2023-01-01T01:00:00+02:00", "2022-12-31T23:00:00"),
        ]
        .into_iter()
        .enumerate()
        {
            let row = format!(r#"{{"PartitionKey":"p","RowKey":"{n}","T@odata.type":"Edm.DateTime","T":"{sent}"}}"#);
            let inserted = send(&emulator, "POST", "Blogs", &[], &row).await;
            let time = format!(r#""T":"{stored}{zeros}Z""#);
            assert!(body(&inserted).contains(&time), "{sent}: {}", body(&inserted));
            let literal = sent.replace('+', "%2B");
            let filter = format!("Blogs?$select=RowKey&$filter=T%20eq%20datetime'{literal}'");
            let found = send(&emulator, "GET", &filter, &[], "").await;
            assert!(
                body(&found).contains(&format!(r#""RowKey":"{n}""#)),
                "{sent}: {}",
                body(&found)
            );
        }
        let wrong = r#"{"PartitionKey":"p","RowKey":"x","T@odata.type":"Edm.DateTime","T":"2023-01"}"#;
        assert_eq!(send(&emulator, "POST", "Blogs", &[], wrong).await.status(), 400);
    }
}

#[tokio::test]
async fn timestamps_and_etags_are_skewed_and_never_repeat() {
    let clock = EmulatorClock::fixed(at("2026-11-20T12:00:00Z"));
    let most = Duration::from_secs(2);
    let emulator = with_table().await.shared_clock(clock.clone());
    let skewed = emulator.clone().timestamp_skew(most, 7);
    let mut etags = std::collections::BTreeSet::new();
    let mut times = Vec::new();
    for n in 0..50 {
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#);
        let inserted = send(&skewed, "POST", "Blogs", &[], &row).await;
        assert_eq!(header(&inserted, "date"), "Fri, 20 Nov 2026 12:00:00 GMT");
        let text = body(&inserted).split("\"Timestamp\":\"").nth(1).unwrap();
        times.push(at(text.split('"').next().unwrap()));
        let address = format!("Blogs(PartitionKey='p',RowKey='{n}')");
        let replaced = send(&skewed, "PUT", &address, &[], "{}").await;
        for response in [&inserted, &replaced] {
            assert!(etags.insert(header(response, "etag").to_owned()));
        }
    }
    let now = clock.now();
    assert!(
        times
            .iter()
            .all(|time| time.abs_diff(now) <= most + Duration::from_millis(1))
    );
    assert!(times.iter().any(|time| *time < now) && times.iter().any(|time| *time > now));
    assert!(!times.is_sorted());
    // The setting belongs to the clone.
    let inserted = send(&emulator, "POST", "Blogs", &[], r#"{"PartitionKey":"q","RowKey":"r"}"#).await;
    assert!(body(&inserted).contains(r#""Timestamp":"2026-11-20T12:00:00"#));
}
