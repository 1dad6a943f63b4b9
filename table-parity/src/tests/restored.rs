//! Services that fail, or respond with what is not true, while a run restores the account: nothing is lost, and what is
//! left is named.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use azure_table::service::{CorsRule, ServiceProperties};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{Emulator, TableServiceClient};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};

use super::facts::measured;
use super::service::{Folder, STORAGE, by_key, emulator, run, tables, verify};
use crate::comparison::options::Options;
use crate::service::account::Account;
use crate::service::output::Exit;
use crate::service::stop::Stop;

/// A mark in the properties of the account.
const OWN: &str = "https://own.invalid";
const PROPERTIES: &str = "?restype=service&comp=properties";

/// Rejects a number of requests that would restore the properties.
#[derive(Clone, Debug)]
struct Busy {
    behind: Emulator,
    rejections: Arc<AtomicUsize>,
}

impl Busy {
    /// Returns a service whose properties are not the default.
    async fn new(rejections: usize) -> Self {
        let busy = Self {
            behind: emulator(),
            rejections: Arc::new(AtomicUsize::new(rejections)),
        };
        let own = ServiceProperties::default().cors([CorsRule::new([OWN], ["GET"])]);
        busy.service().set_properties(own).await.unwrap();
        busy
    }

    fn service(&self) -> TableServiceClient {
        let account = Account::new(&by_key(STORAGE), false).unwrap();
        account.client(self.behind.clone()).unwrap()
    }

    async fn has_own_properties(&self) -> bool {
        let properties = self.service().properties().await.unwrap();
        format!("{properties:?}").contains(OWN)
    }
}

impl Transport for Busy {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let restores = request.method() == Method::PUT
            && request.uri().to_string().ends_with(PROPERTIES)
            && String::from_utf8_lossy(request.body()).contains(OWN);
        let less = |left: usize| left.checked_sub(1);
        if restores
            && self
                .rejections
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok()
        {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return Box::pin(std::future::ready(Ok(response)));
        }
        self.behind.send(request)
    }
}

/// Returns options for the functions and probes that change the properties.
fn changing() -> Options {
    let mut options = Options::new(by_key(STORAGE));
    options.change_properties = true;
    options.common.only = "propert".to_owned();
    options
}

// The waits before further attempts take no time.
#[tokio::test(start_paused = true)]
async fn properties_are_restored_after_restoring_failed_five_times() {
    let busy = Busy::new(5).await;
    let ran = verify(changing(), busy.clone()).await;
    // The suite's own write takes four of them: restoring is sent again in any case.
    assert!(!ran.output.contains("restore the service properties"), "{}", ran.output);
    assert!(busy.has_own_properties().await, "{}", ran.output);
    assert_eq!(ran.file, "", "{}", ran.output);
}

// The waits before further attempts take no time.
#[tokio::test(start_paused = true)]
async fn properties_that_cannot_be_restored_are_kept_with_a_command_that_restores_them() {
    let (busy, folder) = (Busy::new(usize::MAX).await, Folder::new());
    let mut options = changing();
    options.common.yes = true;
    options.common.tables = Some(folder.path().join("tables"));
    let (ran, output, _) = run(&options, busy.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::NotFinished, "{output}");
    let command = format!(
        "the service properties are not restored: 503; restore them with: the command of the run, with --cleanup {:?}",
        folder.path().join("tables")
    );
    assert!(output.contains(&command), "{output}");
    assert!(!busy.has_own_properties().await);

    busy.rejections.store(0, Ordering::SeqCst);
    options.common.cleanup = options.common.tables;
    options.common.tables = None;
    let (ran, output, _) = run(&options, busy.clone(), &Stop::default()).await;
    assert_eq!(Exit::of(&ran), Exit::NoDifference, "{output}");
    assert!(busy.has_own_properties().await, "{output}");
}

/// Applies a change of the properties when the next one comes, and counts those that restore the account's own.
#[derive(Clone, Debug)]
struct Late {
    behind: Emulator,
    pending: Arc<Mutex<Option<Request<Bytes>>>>,
    restored: Arc<AtomicUsize>,
}

impl Transport for Late {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() != Method::PUT || !request.uri().to_string().ends_with(PROPERTIES) {
            return self.behind.send(request);
        }
        if String::from_utf8_lossy(request.body()).contains(OWN) {
            self.restored.fetch_add(1, Ordering::SeqCst);
        }
        let earlier = self.pending.lock().unwrap().replace(request);
        Box::pin(async move {
            if let Some(earlier) = earlier {
                self.behind.send(earlier).await?;
            }
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::ACCEPTED;
            Ok(response)
        })
    }
}

// The waits for a live account take no time.
#[tokio::test(start_paused = true)]
async fn own_properties_are_restored_once_though_the_service_applies_changes_late() {
    let busy = Busy::new(0).await;
    let late = Late {
        behind: busy.behind.clone(),
        pending: Arc::default(),
        restored: Arc::default(),
    };
    measured(by_key(STORAGE), false, late.clone()).await;
    let last = late.pending.lock().unwrap().take().unwrap();
    busy.behind.send(last).await.unwrap();
    assert!(busy.has_own_properties().await);
    assert_eq!(late.restored.load(Ordering::SeqCst), 1);
}

/// Does not return the properties.
#[derive(Debug)]
struct Unread(Emulator);

impl Transport for Unread {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() != Method::GET || !request.uri().to_string().ends_with(PROPERTIES) {
            return self.0.send(request);
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        Box::pin(std::future::ready(Ok(response)))
    }
}

// The waits for a live account take no time.
#[tokio::test(start_paused = true)]
async fn properties_that_cannot_be_read_leave_the_other_results() {
    let (exit, results) = measured(by_key(STORAGE), false, Unread(emulator())).await;
    assert_eq!(exit, Exit::NotFinished);
    assert!(results.facts.len() > 100, "{}", results.facts.len());
    assert!(
        results.problems[0].contains("the service properties: 503"),
        "{:?}",
        results.problems
    );
    assert!(results.facts.iter().all(|measured| !measured.fact.changes_properties));
}

/// Responds to a deletion of the table of the probes with a status, and deletes nothing.
#[derive(Clone, Debug)]
struct Undeleted(Emulator, StatusCode);

impl Transport for Undeleted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() != Method::DELETE || !request.uri().path().contains("probes") {
            return self.0.send(request);
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = self.1;
        Box::pin(std::future::ready(Ok(response)))
    }
}

#[tokio::test]
async fn table_that_is_left_after_a_deletion_without_effect_is_named() {
    for status in [StatusCode::NOT_FOUND, StatusCode::NO_CONTENT] {
        let emulator = emulator();
        let mut options = Options::new(by_key(STORAGE));
        options.common.only = "$select=*".to_owned();
        let ran = verify(options, Undeleted(emulator.clone(), status)).await;
        let [left] = &tables(&emulator)[..] else {
            panic!("{status}: {}", ran.output)
        };
        assert!(
            ran.output.contains(&format!("table {left:?} is left")),
            "{}",
            ran.output
        );
        assert!(ran.output.contains("; some are left"), "{}", ran.output);
        assert!(ran.file.contains(left.as_str()), "{}", ran.file);
        assert_eq!(ran.exit, Exit::NotFinished);
    }
}
