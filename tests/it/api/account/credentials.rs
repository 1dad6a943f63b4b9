//! The credentials of this crate, and one from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::auth::{Anonymous, AuthorizationContext, RenewableSas, SharedKeyLite, SharedSas};
use azure_table::emulator::EmulatorClock;
use azure_table::transport::BoxFuture;
use azure_table::{
    AccountKey, Credential, DateTime, DynamicEntity, Emulator, ErrorKind, Result, SasToken, TableClient, TableName,
    TablePermissions, TableSas, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};

use crate::api::interceptor::Interceptor;

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
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("\"contoso\""), "{error}");
    let own = TableServiceClient::new("https://tables.fabrikam.com", key).unwrap();
    assert_eq!(own.account(), Some("fabrikam"));
    let token = SasToken::new("sv=2019-02-02&sig=x").unwrap();
    assert_eq!(
        TableServiceClient::new("https://tables.fabrikam.com", token)
            .unwrap()
            .account(),
        None
    );
}

#[tokio::test]
async fn rotated_key_is_used_by_all_clones() {
    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new(ENDPOINT, key.clone())
        .unwrap()
        .transport(emulator(OTHER_KEY));
    let error = service.ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(
        error.to_string().contains("not a current key of account contoso"),
        "{error}"
    );
    key.rotate(OTHER_KEY).unwrap();
    service.ping().await.unwrap();
}

/// Cosmos DB reports a wrong signature as `Forbidden`.
#[tokio::test]
async fn rotated_key_is_advised_and_renewed_on_cosmos_db() {
    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", key.clone())
        .unwrap()
        .transport(emulator(OTHER_KEY));
    let table = service.dynamic_table("Things").unwrap();
    let error = table.create_table().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Unauthenticated, Some("Forbidden"))
    );
    let text = error.to_string();
    assert!(
        text.contains("not a current key of account contoso") && !text.contains("to sign"),
        "{text}"
    );
    key.rotate(OTHER_KEY).unwrap();
    table.create_table().await.unwrap();
}

/// The key is rotated while a request that was signed with the old one is in flight.
#[tokio::test]
async fn attempt_overtaken_by_a_rotation_is_repeated() {
    #[derive(Debug)]
    struct Rotating(AccountKey, Emulator);
    impl azure_table::transport::Transport for Rotating {
        fn send(
            &self,
            request: http::Request<bytes::Bytes>,
        ) -> BoxFuture<'_, Result<http::Response<bytes::Bytes>, azure_table::transport::TransportError>> {
            self.0.rotate(OTHER_KEY).unwrap();
            self.1.send(request)
        }
    }
    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new(ENDPOINT, key.clone()).unwrap();
    let service = service.transport(Rotating(key, emulator(OTHER_KEY)));
    service.dynamic_table("Things").unwrap().create_table().await.unwrap();
}

#[tokio::test]
async fn shared_key_lite_is_accepted_by_the_service() {
    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new(ENDPOINT, SharedKeyLite(key))
        .unwrap()
        .transport(emulator(KEY));
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert(&DynamicEntity::new("p", "it's")).await.unwrap();
    assert!(table.get(("p", "it's")).await.unwrap().is_some());
    let again = service.to_connection_string().unwrap();
    assert_eq!(
        again,
        format!(
            "AccountName=contoso;AccountKey={KEY};TableEndpoint={ENDPOINT};\
             TableSecondaryEndpoint=https://contoso-secondary.table.core.windows.net;"
        )
    );
}

#[tokio::test]
async fn anonymous_requests_have_no_authorization() {
    let canned = Canned::new([Step::status(204)]);
    let service = TableServiceClient::new(ENDPOINT, Anonymous)
        .unwrap()
        .transport(canned.clone());
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
    let key = AccountKey::new("contoso", KEY).unwrap();
    let owner = TableServiceClient::new(ENDPOINT, key.clone())
        .unwrap()
        .transport(emulator.clone());
    owner.dynamic_table("Things").unwrap().create_table().await.unwrap();
    key
}

#[tokio::test]
async fn renewable_signature_is_fetched_once_and_again_after_a_rejection() {
    let emulator = emulator(KEY);
    let key = owner_of_things(&emulator).await;
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    // The first signature is of a key that the account no longer has.
    let keys = [AccountKey::new("contoso", OTHER_KEY).unwrap(), key];
    let sas = RenewableSas::new(move || {
        let fetch = counted.fetch_add(1, Ordering::SeqCst);
        let token = reading(&keys[fetch.min(1)], DateTime::now() + Duration::from_secs(3_600));
        async move {
            tokio::task::yield_now().await;
            Ok(token)
        }
    });
    let service = TableServiceClient::new(ENDPOINT, sas).unwrap().transport(emulator);
    let table = service.dynamic_table("Things").unwrap();
    let inserts = (0..16).map(|n| table.insert(&DynamicEntity::new("p", n.to_string())));
    for insert in futures::future::join_all(inserts).await {
        insert.unwrap();
    }
    assert_eq!(fetches.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn shared_signature_is_replaced_for_all_its_clients() {
    let emulator = emulator(KEY);
    let key = owner_of_things(&emulator).await;
    let in_an_hour = DateTime::now() + Duration::from_secs(3_600);
    let wrong = AccountKey::new("contoso", OTHER_KEY).unwrap();
    let sas = SharedSas::new(reading(&wrong, in_an_hour));
    let clients = [(), ()].map(|()| {
        let service = TableServiceClient::new(ENDPOINT, sas.clone()).unwrap();
        service.transport(emulator.clone()).dynamic_table("Things").unwrap()
    });
    let entity = DynamicEntity::new("p", "r");
    let error = clients[0].insert(&entity).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ErrorKind::Unauthenticated, 1),
        "{error}"
    );
    sas.update(reading(&key, in_an_hour));
    for (n, client) in clients.iter().enumerate() {
        client.insert(&DynamicEntity::new("p", n.to_string())).await.unwrap();
    }

    // A signature that is replaced while its request is under way: the request is sent once more.
    let late = SharedSas::new(reading(&wrong, in_an_hour));
    let (update, token) = (late.clone(), reading(&key, in_an_hour));
    let behind = Interceptor::new(emulator, move |_| update.update(token.clone()));
    let service = TableServiceClient::new(ENDPOINT, late).unwrap().transport(behind);
    let table = service.dynamic_table("Things").unwrap();
    table.insert(&DynamicEntity::new("p", "late")).await.unwrap();
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
    let service = TableServiceClient::new(ENDPOINT, sas).unwrap().transport(emulator);
    (service.dynamic_table("Things").unwrap(), fetches)
}

#[tokio::test(start_paused = true)]
async fn call_that_is_not_polled_blocks_no_other() {
    let (table, fetches) = renewing(|key| Ok(reading(key, DateTime::now() + Duration::from_secs(3_600)))).await;
    let (one, two) = (DynamicEntity::new("p", "1"), DynamicEntity::new("p", "2"));
    let mut unpolled = table.insert(&one).into_future();
    assert!(futures::poll!(&mut unpolled).is_pending());
    table.insert(&two).timeout(Duration::from_secs(1)).await.unwrap();
    unpolled.await.unwrap();
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_share_the_error_of_a_token_source() {
    let (table, fetches) = renewing(|_| SasToken::new("nonsense")).await;
    let rows: Vec<_> = (0..100).map(|n| DynamicEntity::new("p", n.to_string())).collect();
    let inserts = rows.iter().map(|row| table.insert(row).into_future());
    for outcome in futures::future::join_all(inserts).await {
        assert!(outcome.unwrap_err().to_string().contains("no `sig`"));
    }
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn signature_that_a_clock_ahead_calls_expired_is_fetched_once() {
    let (table, fetches) = renewing(|key| Ok(reading(key, DateTime::now() - Duration::from_secs(30)))).await;
    let rows: Vec<_> = (0..100).map(|n| DynamicEntity::new("p", n.to_string())).collect();
    let inserts = rows.iter().map(|row| table.insert(row).into_future());
    futures::future::try_join_all(inserts).await.unwrap();
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn error_of_a_token_source_is_the_error_of_the_call() {
    let sas = RenewableSas::new(|| async { Err(SasToken::new("nonsense").unwrap_err()) });
    let canned = Canned::new([]);
    let service = TableServiceClient::new(ENDPOINT, sas).unwrap().transport(canned);
    let error = service.ping().await.unwrap_err();
    assert!(
        error.to_string().starts_with("ping: shared access signature: no `sig`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_signature_for_https_stays_off_http() {
    let token = SasToken::new("sv=2019-02-02&spr=https&sig=SECRET").unwrap();
    let service = TableServiceClient::new("http://contoso.table.core.windows.net", token).unwrap();
    let error = service.transport(Canned::new([])).ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("HTTPS only") && !error.to_string().contains("SECRET"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn write_is_not_sent_if_its_credential_took_the_whole_timeout() {
    const TIMEOUT: Duration = Duration::from_secs(5);
    #[derive(Debug)]
    struct Slow;
    impl Credential for Slow {
        fn authorize<'a>(
            &'a self,
            _: &'a mut http::Request<bytes::Bytes>,
            _: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, azure_table::Result<()>> {
            Box::pin(async {
                tokio::time::sleep(TIMEOUT).await;
                Ok(())
            })
        }
    }
    let canned = Canned::new([Step::status(204)]);
    let service = TableServiceClient::new(ENDPOINT, Slow)
        .unwrap()
        .transport(canned.clone());
    let creation = service.dynamic_table("Things").unwrap().create_table().timeout(TIMEOUT);
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
            request: &'a mut http::Request<bytes::Bytes>,
            context: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, azure_table::Result<()>> {
            let attempt = self.0.fetch_add(1, Ordering::SeqCst).to_string();
            let value = format!("{}/{}/{attempt}", context.host(), context.account().unwrap_or("?"));
            request.headers_mut().insert("x-proof", value.parse().unwrap());
            Box::pin(std::future::ready(Ok(())))
        }
    }
    let canned = Canned::new([
        Step::Fail(azure_table::transport::Delivery::NothingSent),
        Step::status(204),
    ]);
    let service = TableServiceClient::new(ENDPOINT, Counting::default())
        .unwrap()
        .transport(canned.clone());
    service.dynamic_table("Things").unwrap().delete_table().await.unwrap();
    let proofs: Vec<_> = canned
        .sent()
        .iter()
        .map(|sent| sent.headers()["x-proof"].clone())
        .collect();
    let host = "contoso.table.core.windows.net/contoso";
    assert_eq!(proofs, [format!("{host}/0"), format!("{host}/1")]);
}

/// The credential changes while a request is authorized: the client sends an authorization whose version it knows.
#[tokio::test]
async fn credential_that_changes_during_authorization_is_applied_again() {
    #[derive(Debug, Default)]
    struct Changing(AtomicUsize, Arc<AtomicUsize>);
    impl Credential for Changing {
        fn authorize<'a>(
            &'a self,
            request: &'a mut http::Request<bytes::Bytes>,
            _: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, azure_table::Result<()>> {
            assert!(
                !request.headers().contains_key("x-proof"),
                "each time on the bare request"
            );
            let proof = self.1.load(Ordering::SeqCst).to_string();
            request.headers_mut().insert("x-proof", proof.parse().unwrap());
            if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
                self.1.fetch_add(1, Ordering::SeqCst);
            }
            Box::pin(std::future::ready(Ok(())))
        }

        fn generation(&self) -> u64 {
            self.1.load(Ordering::SeqCst) as u64
        }
    }
    let canned = Canned::new([Step::status(204)]);
    let service = TableServiceClient::new(ENDPOINT, Changing::default())
        .unwrap()
        .transport(canned.clone());
    service.dynamic_table("Things").unwrap().delete_table().await.unwrap();
    assert_eq!(canned.sent()[0].headers()["x-proof"], "1");
}

#[tokio::test(start_paused = true)]
async fn credential_source_that_hangs_ends_with_the_attempt_timeout() {
    let sas = RenewableSas::new(std::future::pending);
    let service = TableServiceClient::new(ENDPOINT, sas)
        .unwrap()
        .transport(Canned::new([]));
    let started = tokio::time::Instant::now();
    let error = service
        .attempt_timeout(Duration::from_secs(7))
        .ping()
        .await
        .unwrap_err();
    assert_eq!((error.kind(), started.elapsed().as_secs()), (ErrorKind::Timeout, 7));
    assert!(
        error
            .to_string()
            .contains("no credential: the token source did not respond within the `attempt_timeout` of 7s"),
        "{error}"
    );
}

/// Cosmos DB uses another error code.
#[tokio::test]
async fn signature_rejected_by_cosmos_is_renewed() {
    let rejected = r#"{"odata.error":{"code":"Unauthorized","message":{"lang":"en-us","value":"No."}}}"#;
    let canned = Canned::new([Step::response(401, &[], rejected), Step::status(204)]);
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let sas = RenewableSas::new(move || {
        let fetch = counted.fetch_add(1, Ordering::SeqCst);
        async move { SasToken::new(format!("sv=2019-02-02&ss=t&sig=n{fetch}")) }
    });
    let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", sas)
        .unwrap()
        .transport(canned.clone());
    service.dynamic_table("Things").unwrap().delete_table().await.unwrap();
    let sent = canned.sent();
    let ends: Vec<_> = sent
        .iter()
        .map(|sent| sent.uri().query().unwrap().rsplit('=').next().unwrap())
        .collect();
    assert_eq!(ends, ["n0", "n1"]);
}

/// The service rejects one operation of a batch inside a response with status 202.
#[tokio::test]
async fn rejected_batch_names_the_reason() {
    let key = AccountKey::new("contoso", KEY).unwrap();
    let emulator = emulator(KEY);
    let owner = TableServiceClient::new(ENDPOINT, key.clone())
        .unwrap()
        .transport(emulator.clone());
    owner.dynamic_table("Things").unwrap().create_table().await.unwrap();
    let expiry = DateTime::now() + Duration::from_secs(3_600);
    let name = TableName::new("Things").unwrap();
    let token = TableSas::new(&name)
        .permissions(TablePermissions::READ)
        .expiry(expiry)
        .sign(&key)
        .unwrap();
    let table = TableServiceClient::new(ENDPOINT, token)
        .unwrap()
        .transport(emulator)
        .dynamic_table("Things")
        .unwrap();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    let error = batch.submit().await.unwrap_err();
    assert!(error.to_string().contains("allows \"r\", insert needs a"), "{error}");
}

#[tokio::test]
async fn profile_follows_the_transport_or_with_profile() {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    assert_eq!(service.profile(), azure_table::Profile::Cosmos);
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert_or_merge(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(service.properties().await.unwrap_err().kind(), ErrorKind::Unsupported);

    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new("https://tables.contoso.com", key).unwrap();
    let service = service
        .transport(Canned::new([]))
        .with_profile(azure_table::Profile::Cosmos);
    assert_eq!(service.statistics().await.unwrap_err().kind(), ErrorKind::Unsupported);
}
