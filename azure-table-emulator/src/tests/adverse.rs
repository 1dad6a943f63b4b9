//! A service that does its worst: what its log shows, and where its choices differ by service.

use std::sync::{Arc, Mutex};

use super::*;

const COSMOS: &str = "https://devstoreaccount1.table.cosmos.azure.com";
const NAME: &str = r#"{"TableName":"Blogs"}"#;

async fn try_to(emulator: &Emulator, base: &str, method: &str, path: &str, body: &str) -> Option<Response<Bytes>> {
    let mut request = unsigned_at(base, method, path, &[], body);
    sign(&mut request, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
    emulator.send(request).await.ok()
}

#[tokio::test]
async fn broken_connection_has_no_status_in_the_log() {
    let (mut broken, mut served) = (0, 0);
    for seed in 0..10 {
        let statuses = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&statuses);
        let observe = move |event: &ResponseEvent| sink.lock().unwrap().push(event.status);
        let emulator = Emulator::new().adverse(seed).observer(observe);
        for _ in 0..20 {
            let response = try_to(&emulator, BASE, "POST", "Tables", NAME).await;
            let status = response.map(|response| response.status());
            assert_eq!(statuses.lock().unwrap().pop(), Some(status), "seed {seed}");
            *(if status.is_none() { &mut broken } else { &mut served }) += 1;
        }
    }
    assert!(broken > 10 && served > 10, "{broken} {served}");
}

#[tokio::test]
async fn deletions_of_cosmos_db_take_no_time() {
    for (base, is_slow) in [(BASE, true), (COSMOS, false)] {
        let mut conflicts = 0;
        for seed in 0..10 {
            let calm = Emulator::new();
            let emulator = calm.clone().adverse(seed);
            assert_eq!(send_to(&calm, base, "POST", "Tables", &[], NAME).await.status(), 201);
            for _ in 0..20 {
                let _ = try_to(&emulator, base, "DELETE", "Tables('Blogs')", "").await;
            }
            let again = send_to(&calm, base, "POST", "Tables", &[], NAME).await;
            conflicts += usize::from(body(&again).contains("TableBeingDeleted"));
        }
        assert_eq!(conflicts > 0, is_slow, "{base}");
    }
}
