//! A tower service as a transport: its layers, its bodies and its errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::transport::{Delivery, HttpTransport, TowerTransport, Transport, TransportError};
use azure_table::{DynamicEntity, Emulator, Error, ErrorKind, TableServiceClient};
use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::serve;
use azure_table_tests::process::LIMIT;
use bytes::Bytes;
use http::{Request, Response};
use tower::ServiceBuilder;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::test]
async fn layers_run_under_the_client() {
    let (_server, client) = serve(Emulator::new()).await;
    let (in_flight, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, http) = (Arc::clone(&most), HttpTransport::builder().build().unwrap());
    let layers = ServiceBuilder::new().concurrency_limit(4).timeout(LIMIT);
    let service = layers.service_fn(move |request: Request<Bytes>| {
        let (in_flight, seen, http) = (Arc::clone(&in_flight), Arc::clone(&seen), http.clone());
        async move {
            seen.fetch_max(in_flight.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let response = http.send(request).await;
            in_flight.fetch_sub(1, Ordering::SeqCst);
            response.map(|response| response.map(in_pieces))
        }
    });
    let client = client.transport(TowerTransport::new(service));
    let table = client.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let inserts = (0..40).map(|n| table.insert(&DynamicEntity::new("p", format!("{n:02}"))));
    futures::future::try_join_all(inserts).await.unwrap();
    assert_eq!(table.query().partition("p").all().await.unwrap().len(), 40);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

/// A body in pieces of 100 bytes.
fn in_pieces(body: Bytes) -> impl http_body::Body<Data = Bytes, Error = BoxError> + Send {
    let pieces: Vec<Bytes> = body.chunks(100).map(Bytes::copy_from_slice).collect();
    let frames = pieces.into_iter().map(|piece| Ok(http_body::Frame::data(piece)));
    http_body_util::StreamBody::new(futures::stream::iter(frames))
}

/// The error of an insert through this transport.
async fn insert_error(transport: impl Transport) -> Error {
    let client = TableServiceClient::from_transport(transport);
    let table = client.dynamic_table("Things").unwrap();
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    insert.with(&no_retry()).await.unwrap_err()
}

/// The error of an insert through a service that fails with `error`, and the number of requests.
async fn failed(error: fn() -> BoxError) -> (Error, usize) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let service = tower::service_fn(move |_: Request<Bytes>| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Err::<Response<http_body_util::Empty<Bytes>>, _>(error()) }
    });
    let error = insert_error(TowerTransport::new(service)).await;
    (error, requests.load(Ordering::SeqCst))
}

#[tokio::test]
async fn error_of_a_service_leaves_a_write_in_doubt_unless_it_says_more() {
    let (error, _) = failed(|| "a layer gave up".into()).await;
    assert_error(&error, ErrorKind::InDoubt, "the connection broke before");
    let (error, requests) = failed(|| Box::new(TransportError::new(Delivery::NothingSent, "no route"))).await;
    assert_error(&error, ErrorKind::Connection, "no connection");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn error_of_a_service_is_shown_without_its_url() {
    let (error, _) = failed(|| {
        let path = "/Blogs(PartitionKey='SECRET',RowKey='r')?sv=1&sig=SECRET%2BSECRET%3D";
        let url = format!("https://contoso.table.core.windows.net{path}");
        let source = std::io::Error::other(format!(
            "error sending request for url ({url}), no route for {path}, sig=SECRET"
        ));
        std::io::Error::other(source).into()
    })
    .await;
    let shown = format!("{error:?} {error}");
    let expected = "error sending request for url (a URL) no route for (a URL) sig=…";
    assert_contains(&shown, expected);
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[tokio::test]
async fn service_that_is_never_ready_has_sent_nothing() {
    #[derive(Clone)]
    struct Closed;
    impl tower::Service<Request<Bytes>> for Closed {
        type Response = Response<http_body_util::Empty<Bytes>>;
        type Error = BoxError;
        type Future = std::future::Ready<Result<Self::Response, BoxError>>;

        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), BoxError>> {
            std::task::Poll::Ready(Err("closed".into()))
        }

        fn call(&mut self, _: Request<Bytes>) -> Self::Future {
            unreachable!("it is never ready")
        }
    }
    let error = insert_error(TowerTransport::new(Closed)).await;
    assert_error(&error, ErrorKind::Connection, "no connection");
}

#[tokio::test]
async fn endless_body_is_not_read_to_its_end() {
    let service = tower::service_fn(|_: Request<Bytes>| async {
        let piece = Bytes::from(vec![b' '; 1 << 20]);
        let frames = futures::stream::repeat_with(move || Ok::<_, BoxError>(http_body::Frame::data(piece.clone())));
        Ok::<_, BoxError>(Response::new(http_body_util::StreamBody::new(frames)))
    });
    let client = TableServiceClient::from_transport(TowerTransport::new(service));
    let get = client.dynamic_table("Things").unwrap().get(("p", "r"));
    let error = get.await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidResponse, "more than the limit of 67108864");
}
