//! Recordings: a recorded test has the same result without the service.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, Recorder, Replay, ResponseTemplate, Spy, mask_guids, mask_times};
use azure_table::{
    CallOptions, DateTime, DynamicEntity, Emulator, Guid, Profile, Result, TableOperation, TableServiceClient,
};
use futures::future::join_all;

use super::panic_of;

/// A file of this test.
pub(super) fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.jsonl"))
}

fn entity(partition: &str, row: &str, number: i64) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, row);
    entity.insert("Number", number);
    entity.insert("Half", 0.5);
    entity.insert("Text", "it's \"quoted\" \u{1f600} https://account.example");
    entity.insert("At", DateTime::from_unix_seconds(1_700_000_000));
    entity.insert("Bytes", vec![0_u8, 255]);
    entity
}

/// The result of a call, as text.
fn say<T: std::fmt::Debug>(said: &mut Vec<String>, result: Result<T>) {
    said.push(match result {
        Ok(value) => format!("{value:?}"),
        Err(e) => format!(
            "{e} {:?} {:?} {:?} {:?} {} {}",
            e.kind(),
            e.code(),
            e.request_id(),
            e.batch_index(),
            e.attempts(),
            e.may_have_applied()
        ),
    });
}

/// Tables, rows, conditions, batches, pages, rejections: all requests of a client.
async fn talk(service: TableServiceClient) -> Vec<String> {
    let mut said = Vec::new();
    let table = service.dynamic_table("Things").unwrap();
    say(&mut said, table.query().all().await);
    say(&mut said, table.create_table().await);
    say(&mut said, table.create_table_if_not_exists().await);
    say(&mut said, table.table_exists().await);
    let row = entity("p", "r 1 'x'", 1);
    let etag = table.insert(&row).await;
    say(
        &mut said,
        etag.as_ref()
            .map_err(|_| "failed")
            .map_or(Ok(""), |etag| Ok(etag.as_str())),
    );
    say(&mut said, table.insert(&row).await);
    say(&mut said, table.get(("p", "r 1 'x'")).await);
    say(&mut said, table.get(("p", "none")).await);
    say(
        &mut said,
        table.replace(&entity("p", "r 1 'x'", 2)).if_match(etag.unwrap()).await,
    );
    say(
        &mut said,
        table.merge(&row).if_match(azure_table::ETag::new("W/\"old\"")).await,
    );
    say(&mut said, table.insert_returning(&entity("p", "echo", 3)).await);
    let mut batch = table.batch();
    for n in 0..5 {
        batch.insert(&entity("q", &n.to_string(), n)).unwrap();
    }
    say(&mut said, batch.submit().await);
    let mut batch = table.batch();
    batch
        .insert(&entity("q", "new", 1))
        .unwrap()
        .insert(&entity("q", "3", 3))
        .unwrap();
    say(&mut said, batch.submit().await);
    say(
        &mut said,
        table.execute(TableOperation::get::<DynamicEntity>(("q", "3"))).await,
    );
    say(&mut said, table.query().partition("q").page_size(2).all().await);
    say(&mut said, table.delete(("q", "3")).await);
    say(&mut said, table.delete(("q", "3")).await);
    say(&mut said, service.list_tables().await);
    said
}

#[tokio::test(start_paused = true)]
async fn replay_has_the_results_of_the_recording() {
    for cosmos in [false, true] {
        let file = file(&format!("conversation-{cosmos}"));
        let emulator = if cosmos {
            Emulator::cosmos()
        } else {
            Emulator::new().page_size(2)
        };
        let recorder = Recorder::create(&file, emulator).unwrap();
        let recorded = talk(TableServiceClient::from_transport(recorder.clone())).await;
        let lines = recorder.finish().unwrap();
        assert!(lines > 18, "{lines}");

        let replay = Replay::open(&file).unwrap();
        let service = TableServiceClient::from_transport(replay.clone());
        assert_eq!(
            service.profile(),
            if cosmos { Profile::Cosmos } else { Profile::Storage }
        );
        assert_eq!(talk(service).await, recorded);
        replay.finish();
    }
}

/// Another account, at another kind of URL, sends the same requests.
#[tokio::test(start_paused = true)]
async fn recording_contains_no_account() {
    const KEY: &str = "AAECAwQFBgc=";
    let file = file("accounts");
    let emulator = Emulator::new().account("contoso", KEY).unwrap();
    let recorder = Recorder::create(&file, emulator).unwrap();
    let connection = format!("AccountName=contoso;AccountKey={KEY}");
    let recorded = talk(
        TableServiceClient::from_connection_string(&connection)
            .unwrap()
            .transport(recorder),
    )
    .await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("contoso"), "{text}");
    assert!(text.contains("https://account.invalid/Things"));

    let replay = Replay::parse(&text).unwrap();
    assert_eq!(talk(TableServiceClient::from_transport(replay)).await, recorded);
}

/// Failures between client and service are recorded too: the client retries, and reads back a write.
#[tokio::test(start_paused = true)]
async fn failures_and_cancelled_requests_are_replayed() {
    async fn talk(service: TableServiceClient) -> Vec<String> {
        let mut said = Vec::new();
        let table = service.dynamic_table("Things").unwrap();
        say(&mut said, table.insert(&entity("p", "1", 1)).await);
        say(&mut said, table.get(("p", "1")).timeout(Duration::from_secs(2)).await);
        say(&mut said, table.delete(("p", "1")).await);
        said
    }
    let file = file("failures");
    let emulator = Emulator::new();
    TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Things")
        .unwrap()
        .create_table()
        .await
        .unwrap();
    let faults = Faults::new(emulator);
    faults.add(
        FaultRule::new(ResponseTemplate::server_busy(Duration::from_secs(1)))
            .on(OperationKind::Insert)
            .first(1),
    );
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).first(1));
    faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::Get).first(1));
    faults.add(FaultRule::new(Fault::NoConnection).on(OperationKind::Delete).first(1));
    let recorder = Recorder::create(&file, faults).unwrap();
    let recorded = talk(TableServiceClient::from_transport(recorder.clone())).await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\"failed\":\"MaybeSent\"") && text.contains("\"failed\":\"NothingSent\""),
        "{text}"
    );
    assert_eq!(recorder.finish().unwrap(), 6);
    assert!(
        recorded[0].starts_with("ETag") && recorded[1].contains("Timeout"),
        "{recorded:?}"
    );

    let replay = Replay::open(&file).unwrap();
    assert_eq!(talk(TableServiceClient::from_transport(replay.clone())).await, recorded);
    replay.finish();
}

#[tokio::test]
async fn unrecorded_request_names_the_most_similar_one() {
    let file = file("nearest");
    let recorder = Recorder::create(&file, Emulator::new()).unwrap();
    let table = TableServiceClient::from_transport(recorder)
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    table.insert(&entity("p", "r", 1)).await.unwrap();
    table.delete(("p", "r")).await.unwrap();

    let replay = Replay::open(&file).unwrap();
    let table = TableServiceClient::from_transport(replay.clone())
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    let early = table.delete(("p", "r")).await.unwrap_err();
    assert_eq!(
        (early.status(), early.code(), early.attempts()),
        (Some(501), Some("NotExpected"), 1)
    );
    let early = early.to_string();
    assert!(
        early.contains("it is exchange 3, and exchange 2, POST /Things, comes first"),
        "{early}"
    );
    let other = table.insert(&entity("p", "r", 2)).await.unwrap_err().to_string();
    assert!(
        other.contains("POST /Things: nearest is exchange 2, where the body was"),
        "{other}"
    );
    assert!(
        other.contains("\"Number\":\"1\"") && other.contains("\"Number\":\"2\""),
        "{other}"
    );
    assert_eq!(replay.left(), 2);
    let reported = panic_of(|| replay.finish());
    assert!(
        reported.starts_with("the replay:\n  unexpected: DELETE /Things(PartitionKey='p',RowKey='r'): it is"),
        "{reported}"
    );
    assert!(
        reported.ends_with("not received: exchange 3, DELETE /Things(PartitionKey='p',RowKey='r')"),
        "{reported}"
    );

    let reported = panic_of(|| drop(Replay::open(&file).unwrap()));
    assert_eq!(reported.matches("not received").count(), 3, "{reported}");
}

#[tokio::test]
async fn values_that_differ_per_run_are_masked() {
    async fn talk(service: TableServiceClient) -> Result<()> {
        let table = service.dynamic_table("Things")?;
        table.create_table().await?;
        let mut row = DynamicEntity::new("p", Guid::random().to_string());
        row.insert("At", DateTime::now());
        table.insert(&row).await?;
        let key = (row.partition_key.as_str(), row.row_key.as_str());
        table.get(key).await?;
        table.get(key).with(&CallOptions::new().via_batch()).await?;
        table.execute(TableOperation::get::<DynamicEntity>(key)).await?;
        Ok(())
    }
    let file = file("masked");
    talk(TableServiceClient::from_transport(
        Recorder::create(&file, Emulator::new()).unwrap(),
    ))
    .await
    .unwrap();
    let replay = Replay::open(&file).unwrap().masking(mask_guids).masking(mask_times);
    talk(TableServiceClient::from_transport(replay.clone())).await.unwrap();
    replay.finish();
    let strict = Replay::open(&file).unwrap();
    talk(TableServiceClient::from_transport(strict.clone()))
        .await
        .unwrap_err();
    panic_of(|| strict.finish());
}

#[tokio::test]
async fn concurrent_requests_are_replayed_in_any_order() {
    async fn talk(service: TableServiceClient, rows: impl Iterator<Item = i64>) -> Result<Vec<azure_table::ETag>> {
        let table = service.dynamic_table("Things")?;
        table.create_table_if_not_exists().await?;
        let rows: Vec<_> = rows.map(|n| entity("p", &n.to_string(), n)).collect();
        join_all(rows.iter().map(|row| table.insert(row)))
            .await
            .into_iter()
            .collect()
    }
    let file = file("any-order");
    let recorder = Recorder::create(&file, Emulator::new()).unwrap();
    let mut recorded = talk(TableServiceClient::from_transport(recorder), 0..8).await.unwrap();
    let replay = Replay::open(&file).unwrap().in_any_order();
    let replayed = talk(TableServiceClient::from_transport(replay.clone()), (0..8).rev())
        .await
        .unwrap();
    recorded.reverse();
    assert_eq!(replayed, recorded);
    replay.finish();
    let strict = Replay::open(&file).unwrap();
    assert!(
        talk(TableServiceClient::from_transport(strict.clone()), (0..8).rev())
            .await
            .is_err()
    );
    panic_of(|| strict.finish());
}

/// An old recorded rejection must not look like a wrong clock of this machine. Other responses keep the date that their
/// Timestamps belong to.
#[tokio::test]
async fn only_a_recorded_rejection_is_dated_today() {
    const RECORDED: &str = "Wed, 01 Jan 2020 00:00:00 GMT";
    let line = |number: u32, status: u16| {
        let row = "https://account.invalid/Things(PartitionKey='p',RowKey='r')";
        let request = format!(
            r#"{{"method":"GET","url":"{row}","headers":{{"accept":"application/json;odata=minimalmetadata"}}}}"#
        );
        let response = format!(r#"{{"status":{status},"headers":{{"date":"{RECORDED}"}},"body":""}}"#);
        format!(r#"{{"number":{number},"request":{request},"response":{response}}}"#)
    };
    let replay = Replay::parse(&[line(1, 403), line(2, 400)].join("\n")).unwrap();
    let spy = Spy::new(replay.clone());
    let table = TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Things")
        .unwrap();
    for status in [403, 400] {
        let error = table.get(("p", "r")).await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(status), 1), "{error}");
    }
    replay.finish();
    let exchanges = spy.exchanges();
    let dates = exchanges.iter().map(|it| it.response_header("date") == Some(RECORDED));
    assert_eq!(dates.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn file_that_is_not_a_recording_is_an_error() {
    let error = Replay::parse("\n{\"number\":1}\n").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(
        error
            .to_string()
            .starts_with("line 2 of the recording is not an exchange: missing field"),
        "{error}"
    );
    let path = file("no-recording");
    fs::write(&path, "{}").unwrap();
    let error = Replay::open(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    let begin = format!("{}: line 1 of the recording", path.display());
    assert!(error.to_string().starts_with(&begin), "{error}");

    let path = file("there-is-none");
    let error = Replay::open(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let error = error.to_string();
    assert!(
        error.starts_with(&path.display().to_string()) && error.contains("record it first"),
        "{error}"
    );
}

#[test]
fn recorder_creates_its_folder_or_names_it() {
    let folder = file("folder").with_extension("");
    let _ = fs::remove_dir_all(&folder);
    let path = folder.join("below").join("talk.jsonl");
    let recorder = Recorder::create(&path, Emulator::new()).unwrap();
    assert_eq!((recorder.finish().unwrap(), path.exists()), (0, true));
    let error = Recorder::create(path.join("talk.jsonl"), Emulator::new()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}", path.join("talk.jsonl").display())),
        "{error}"
    );
}
