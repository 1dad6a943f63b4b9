//! The credentials of this crate, and one from outside.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::auth::{Anonymous, AuthorizationContext, RenewableSas, SharedKeyLite, SharedSas};
use azure_table::emulator::EmulatorClock;
use azure_table::transport::{BoxFuture, Delivery, Transport};
use azure_table::{
    AccountKey, Credential, DateTime, DynamicEntity, Emulator, ErrorKind, Profile, Result, SasToken, TableClient,
    TableName, TablePermissions, TableSas, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::Request;

fn key(text: &str) -> AccountKey {
    AccountKey::new("contoso", text).unwrap()
}

fn client(credential: impl Credential, transport: impl Transport) -> TableServiceClient {
    TableServiceClient::new(ENDPOINT, credential)
        .unwrap()
        .transport(transport)
}

fn things(credential: impl Credential, transport: impl Transport) -> TableClient {
    client(credential, transport).dynamic_table("Things").unwrap()
}

fn row(number: usize) -> DynamicEntity {
    DynamicEntity::new("p", number.to_string())
}

const ENDPOINT: &str = "https://contoso.table.core.windows.net";
const KEY: &str = "AAECAwQFBgc=";
const OTHER_KEY: &str = "CAkKCwwNDg8=";

fn emulator(key: &str) -> Emulator {
    Emulator::new().account("contoso", key).unwrap()
}

#[tokio::test]
async fn key_of_another_account_is_rejected_before_a_request() {
    let key = AccountKey::new("fabrikam", KEY).unwrap();
    let error = TableServiceClient::new(ENDPOINT, key.clone()).unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "\"contoso\"");
    let own = "https://tables.fabrikam.com";
    let with_key = TableServiceClient::new(own, key).unwrap();
    assert_eq!(with_key.account(), Some("fabrikam"));
    let token = SasToken::new("sv=2019-02-02&sig=x").unwrap();
    let with_token = TableServiceClient::new(own, token).unwrap();
    assert_eq!(with_token.account(), None);
}

/// Cosmos DB reports a wrong signature as `Forbidden`.
#[tokio::test]
async fn rotated_key_is_advised_and_used_by_all_clones() {
    for (endpoint, code) in [
        (ENDPOINT, "AuthenticationFailed"),
        ("https://contoso.table.cosmos.azure.com", "Forbidden"),
    ] {
        let key = key(KEY);
        let service = TableServiceClient::new(endpoint, key.clone()).unwrap();
        let service = service.transport(emulator(OTHER_KEY));
        let table = service.dynamic_table("Things").unwrap();
        for error in [
            service.ping().await.unwrap_err(),
            table.create_table().await.unwrap_err(),
        ] {
            assert_error(
                &error,
                ErrorKind::Unauthenticated,
                "not a current key of account contoso",
            );
            assert_eq!(error.code(), Some(code), "{error}");
            let has_advice = !error.to_string().contains("to sign");
            assert!(has_advice || code == "AuthenticationFailed", "{error}");
        }
        key.rotate(OTHER_KEY).unwrap();
        service.ping().await.unwrap();
        table.create_table().await.unwrap();
    }
}

/// The key is rotated while a request that was signed with the old one is in flight.
#[tokio::test]
async fn attempt_overtaken_by_a_rotation_is_repeated() {
    let key = key(KEY);
    let rotated = key.clone();
    let rotating = Intercept::new(emulator(OTHER_KEY), move |behind, request| {
        rotated.rotate(OTHER_KEY).unwrap();
        async move { behind.send(request).await }
    });
    things(key, rotating).create_table().await.unwrap();
}

#[tokio::test]
async fn shared_key_lite_is_accepted_by_the_service() {
    let service = client(SharedKeyLite(key(KEY)), emulator(KEY));
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert(&DynamicEntity::new("p", "it's")).await.unwrap();
    assert!(table.get(("p", "it's")).await.unwrap().is_some());
    assert_eq!(
        service.to_connection_string().unwrap(),
        format!(
            "AccountName=contoso;AccountKey={KEY};TableEndpoint={ENDPOINT};\
             TableSecondaryEndpoint=https://contoso-secondary.table.core.windows.net;"
        )
    );
}

#[tokio::test]
async fn anonymous_requests_have_no_authorization() {
    let canned = Canned::new([Step::status(204)]);
    let service = client(Anonymous, canned.clone());
    service.dynamic_table("Things").unwrap().delete_table().await.unwrap();
    let sent = &canned.sent()[0];
    assert!(!sent.headers().contains_key("authorization") && sent.uri().query().is_none());
    let error = service.to_connection_string().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

fn reading(key: &AccountKey, expiry: DateTime) -> SasToken {
    let table = TableName::new("Things").unwrap();
    let sas = TableSas::new(&table).permissions(TablePermissions::READ | TablePermissions::ADD);
    sas.expiry(expiry).sign(key).unwrap()
}

/// Creates the table `Things`. Returns the key of its account.
async fn owner_of_things(emulator: &Emulator) -> AccountKey {
    let key = key(KEY);
    things(key.clone(), emulator.clone()).create_table().await.unwrap();
    key
}

fn in_an_hour() -> DateTime {
    DateTime::now() + Duration::from_secs(3_600)
}

#[tokio::test]
async fn renewable_signature_is_fetched_once_and_again_after_a_rejection() {
    let emulator = emulator(KEY);
    // The first signature is of a key that the account no longer has.
    let keys = [key(OTHER_KEY), owner_of_things(&emulator).await];
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let sas = RenewableSas::new(move || {
        let fetch = counted.fetch_add(1, Ordering::SeqCst);
        let token = reading(&keys[fetch.min(1)], in_an_hour());
        async move {
            tokio::task::yield_now().await;
            Ok(token)
        }
    });
    let table = things(sas, emulator);
    let inserts = (0..16).map(|n| table.insert(&row(n)));
    for insert in futures::future::join_all(inserts).await {
        insert.unwrap();
    }
    assert_eq!(fetches.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn shared_signature_is_replaced_for_all_its_clients() {
    let emulator = emulator(KEY);
    let [right, wrong] = [owner_of_things(&emulator).await, key(OTHER_KEY)].map(|key| reading(&key, in_an_hour()));
    let sas = SharedSas::new(wrong.clone());
    let clients = [(), ()].map(|()| things(sas.clone(), emulator.clone()));
    let error = clients[0].insert(&row(0)).await.unwrap_err();
    let rejected = (error.kind(), error.attempts());
    assert_eq!(rejected, (ErrorKind::Unauthenticated, 1), "{error}");
    sas.update(right.clone());
    for (n, client) in clients.iter().enumerate() {
        client.insert(&row(n)).await.unwrap();
    }

    // A signature that is replaced while its request is under way: the request is sent once more.
    let late = SharedSas::new(wrong);
    let update = late.clone();
    let behind = Intercept::new(emulator, move |behind, request| {
        update.update(right.clone());
        async move { behind.send(request).await }
    });
    things(late, behind).insert(&row(7)).await.unwrap();
}

/// A table whose client fetches signatures from `source`, and the number of fetches. Each takes 50 ms. The clock of the
/// service is a minute behind.
async fn renewing(
    source: impl Fn(&AccountKey) -> Result<SasToken> + Send + Sync + 'static,
) -> (TableClient, Arc<AtomicUsize>) {
    let behind = EmulatorClock::fixed(DateTime::now() - Duration::from_secs(60));
    let emulator = emulator(KEY).shared_clock(behind);
    let key = owner_of_things(&emulator).await;
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let sas = RenewableSas::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let token = source(&key);
        async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            token
        }
    });
    (things(sas, emulator), fetches)
}

#[tokio::test(start_paused = true)]
async fn call_that_is_not_polled_blocks_no_other() {
    let (table, fetches) = renewing(|key| Ok(reading(key, in_an_hour()))).await;
    let mut unpolled = table.insert(&row(1)).into_future();
    assert!(futures::poll!(&mut unpolled).is_pending());
    table.insert(&row(2)).timeout(Duration::from_secs(1)).await.unwrap();
    unpolled.await.unwrap();
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_share_the_error_of_a_token_source() {
    let (table, fetches) = renewing(|_| SasToken::new("nonsense")).await;
    let inserts = (0..100).map(|n| table.insert(&row(n)).into_future());
    for outcome in futures::future::join_all(inserts).await {
        assert_contains(outcome.unwrap_err(), "no `sig`");
    }
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn signature_that_a_clock_ahead_calls_expired_is_fetched_once() {
    let (table, fetches) = renewing(|key| Ok(reading(key, DateTime::now() - Duration::from_secs(30)))).await;
    let inserts = (0..100).map(|n| table.insert(&row(n)).into_future());
    futures::future::try_join_all(inserts).await.unwrap();
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn error_of_a_token_source_is_the_error_of_the_call() {
    let sas = RenewableSas::new(|| async { Err(SasToken::new("nonsense").unwrap_err()) });
    let error = client(sas, Canned::new([])).ping().await.unwrap_err().to_string();
    assert!(error.starts_with("ping: shared access signature: no `sig`"), "{error}");
}

#[tokio::test]
async fn a_signature_for_https_stays_off_http() {
    let token = SasToken::new("sv=2019-02-02&spr=https&sig=SECRET").unwrap();
    let service = TableServiceClient::new("http://contoso.table.core.windows.net", token).unwrap();
    let error = service.transport(Canned::new([])).ping().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "HTTPS only");
    assert!(!error.to_string().contains("SECRET"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn write_is_not_sent_if_its_credential_took_the_whole_timeout() {
    const TIMEOUT: Duration = Duration::from_secs(5);
    #[derive(Debug)]
    struct Slow;
    impl Credential for Slow {
        fn authorize<'a>(
            &'a self,
            _: &'a mut Request<Bytes>,
            _: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, Result<()>> {
            Box::pin(async {
                tokio::time::sleep(TIMEOUT).await;
                Ok(())
            })
        }
    }
    let canned = Canned::new([Step::status(204)]);
    let creation = things(Slow, canned.clone()).create_table().timeout(TIMEOUT);
    let error = creation.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(!error.may_have_applied());
    assert!(canned.sent().is_empty());
}

#[tokio::test]
async fn a_credential_from_outside_the_crate_authorizes_each_attempt() {
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);
    impl Credential for Counting {
        fn authorize<'a>(
            &'a self,
            request: &'a mut Request<Bytes>,
            context: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, Result<()>> {
            let attempt = self.0.fetch_add(1, Ordering::SeqCst).to_string();
            let value = format!("{}/{}/{attempt}", context.host(), context.account().unwrap_or("?"));
            request.headers_mut().insert("x-proof", value.parse().unwrap());
            Box::pin(ready(Ok(())))
        }
    }
    let canned = Canned::new([Step::Fail(Delivery::NothingSent), Step::status(204)]);
    let table = things(Counting::default(), canned.clone());
    table.delete_table().await.unwrap();
    let sent = canned.sent();
    let proofs: Vec<_> = sent.iter().map(|sent| &sent.headers()["x-proof"]).collect();
    let host = "contoso.table.core.windows.net/contoso";
    assert_eq!(proofs, [&format!("{host}/0"), &format!("{host}/1")]);
}

/// The credential changes while a request is authorized: the client sends an authorization whose version it knows.
#[tokio::test]
async fn credential_that_changes_during_authorization_is_applied_again() {
    #[derive(Debug, Default)]
    struct Changing(AtomicUsize, AtomicUsize);
    impl Credential for Changing {
        fn authorize<'a>(
            &'a self,
            request: &'a mut Request<Bytes>,
            _: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, Result<()>> {
            let is_bare = !request.headers().contains_key("x-proof");
            assert!(is_bare, "each time on the bare request");
            let proof = self.1.load(Ordering::SeqCst).to_string();
            request.headers_mut().insert("x-proof", proof.parse().unwrap());
            if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
                self.1.fetch_add(1, Ordering::SeqCst);
            }
            Box::pin(ready(Ok(())))
        }

        fn generation(&self) -> u64 {
            self.1.load(Ordering::SeqCst) as u64
        }
    }
    let canned = Canned::new([Step::status(204)]);
    let table = things(Changing::default(), canned.clone());
    table.delete_table().await.unwrap();
    assert_eq!(canned.sent()[0].headers()["x-proof"], "1");
}

#[tokio::test(start_paused = true)]
async fn credential_source_that_hangs_ends_with_the_attempt_timeout() {
    let sas = RenewableSas::new(std::future::pending);
    let service = client(sas, Canned::new([])).attempt_timeout(Duration::from_secs(7));
    let started = tokio::time::Instant::now();
    let error = service.ping().await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 7);
    let why = "no credential: the token source did not respond within the `attempt_timeout` of 7s";
    assert_error(&error, ErrorKind::Timeout, why);
}

/// Cosmos DB uses another error code.
#[tokio::test]
async fn signature_rejected_by_cosmos_is_renewed() {
    let rejected = r#"{"odata.error":{"code":"Unauthorized","message":{"lang":"en-us","value":"No."}}}"#;
    let canned = Canned::new([Step::response(401, &[], rejected), Step::status(204)]);
    let fetches = AtomicUsize::new(0);
    let sas = RenewableSas::new(move || {
        let fetch = fetches.fetch_add(1, Ordering::SeqCst);
        async move { SasToken::new(format!("sv=2019-02-02&ss=t&sig=n{fetch}")) }
    });
    let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", sas).unwrap();
    let service = service.transport(canned.clone());
    service.dynamic_table("Things").unwrap().delete_table().await.unwrap();
    let sent = canned.sent();
    let queries: Vec<_> = sent.iter().map(|sent| sent.uri().query().unwrap()).collect();
    assert!(
        queries.len() == 2 && queries[0].ends_with("=n0") && queries[1].ends_with("=n1"),
        "{queries:?}"
    );
}

/// The service rejects one operation of a batch inside a response with status 202.
#[tokio::test]
async fn rejected_batch_names_the_reason() {
    let emulator = emulator(KEY);
    let key = owner_of_things(&emulator).await;
    let name = TableName::new("Things").unwrap();
    let sas = TableSas::new(&name).permissions(TablePermissions::READ);
    let table = things(sas.expiry(in_an_hour()).sign(&key).unwrap(), emulator);
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    let error = batch.submit().await.unwrap_err();
    assert_contains(&error, "allows \"r\", insert needs a");
}

#[tokio::test]
async fn profile_follows_the_transport_or_with_profile() {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    assert_eq!(service.profile(), Profile::Cosmos);
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert_or_merge(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(service.properties().await.unwrap_err().kind(), ErrorKind::Unsupported);

    let service = TableServiceClient::new("https://tables.contoso.com", key(KEY)).unwrap();
    let service = service.transport(Canned::new([])).with_profile(Profile::Cosmos);
    assert_eq!(service.statistics().await.unwrap_err().kind(), ErrorKind::Unsupported);
}
