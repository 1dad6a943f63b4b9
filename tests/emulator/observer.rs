//! What an emulator's observer is shown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::{DateTime, DynamicEntity, Emulator, EmulatorServer, TablePermissions, TableSas, TableServiceClient};

/// An emulator, and the lines of what it answered, without time and duration.
fn watched() -> (Emulator, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let emulator = Emulator::new().with_observer(move |request| {
        let line = request.to_string();
        let (_, line) = line.split_once(' ').unwrap();
        let (line, _) = line.strip_suffix(" ms").unwrap().rsplit_once(' ').unwrap();
        assert!(request.duration < Duration::from_secs(60));
        seen.lock().unwrap().push(line.to_owned());
    });
    (emulator, lines)
}

#[tokio::test]
async fn requests_over_http_are_shown_without_signatures() {
    let (emulator, lines) = watched();
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let service = TableServiceClient::from_connection_string(&server.connection_string()).unwrap();
    let running = server.spawn();
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "a b")).await.unwrap();
    blogs.get(("p", "a b")).await.unwrap().unwrap();
    blogs.get(("p", "missing")).await.unwrap();
    let mut batch = blogs.batch();
    batch.insert(&DynamicEntity::new("p", "a b")).unwrap();
    batch.commit().await.unwrap_err();

    let expiry = DateTime::now() + Duration::from_secs(60);
    let sas = TableSas::new(blogs.name())
        .permissions(TablePermissions::READ)
        .expiry(expiry);
    let token = sas.sign(service.account_key().unwrap()).unwrap();
    let connection = format!(
        "TableEndpoint={};SharedAccessSignature={}",
        service.endpoint(),
        token.expose()
    );
    let by_sas = TableServiceClient::from_connection_string(&connection).unwrap();
    by_sas
        .dynamic_table("Blogs")
        .unwrap()
        .query()
        .page_size(5)
        .all()
        .await
        .unwrap();
    running.stop().await;

    let lines = lines.lock().unwrap();
    assert_eq!(
        *lines,
        [
            "POST /devstoreaccount1/Tables 204",
            "POST /devstoreaccount1/Blogs 204",
            "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='a b') 200",
            "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='missing') 404 ResourceNotFound",
            "POST /devstoreaccount1/$batch 202 EntityAlreadyExists",
            "GET /devstoreaccount1/Blogs()?$top=5 200",
        ]
    );
}
