//! Five reasons for a 403 that the service hardly distinguishes: five messages that name a remedy.

use std::sync::Arc;
use std::time::Duration;

use azure_core::credentials::{AccessToken, Secret, TokenCredential, TokenRequestOptions};
use azure_core::time::OffsetDateTime;
use azure_table::auth::{AccountPermissions, AccountResources, SharedKeyLite};
use azure_table::emulator::EmulatorClock;
use azure_table::testing::{FaultRule, Faults, ResponseTemplate};
use azure_table::{
    AccountKey, AccountSas, DateTime, DynamicEntity, Emulator, Error, ErrorKind, TablePermissions, TableSas,
    TableServiceClient,
};

const ENDPOINT: &str = "https://contoso.table.core.windows.net";
const KEY: &str = "AAECAwQFBgc=";

/// A token that does not expire soon.
#[derive(Debug)]
struct Token;

#[async_trait::async_trait]
impl TokenCredential for Token {
    async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        let expires_on = OffsetDateTime::now_utc() + Duration::from_secs(3_600);
        Ok(AccessToken::new(Secret::new("a.b.c"), expires_on))
    }
}

async fn rejection(service: TableServiceClient) -> Error {
    let table = service.dynamic_table("Orders").unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!(error.status(), Some(403), "{error}");
    assert!(!error.may_have_applied(), "{error}");
    error
}

#[tokio::test]
async fn five_rejections_have_five_messages() {
    let clock = EmulatorClock::system();
    let emulator = Emulator::new().account("contoso", KEY).unwrap();
    let emulator = emulator.shared_clock(clock.clone());
    let key = AccountKey::new("contoso", KEY).unwrap();
    let client = |credential| TableServiceClient::new(ENDPOINT, credential).unwrap();
    let service = client(key.clone()).transport(emulator.clone());
    let orders = service.dynamic_table("Orders").unwrap();
    orders.create_table().await.unwrap();

    let now = DateTime::now();
    let (past, future) = (now - Duration::from_secs(60), now + Duration::from_secs(7_200));
    let sas = |permissions, expiry| TableSas::new(orders.name()).permissions(permissions).expiry(expiry);
    let ranged = |permissions| sas(permissions, future).first("a", "").last("b", "");
    let with = |sas: TableSas| {
        let token = sas.sign(&key).unwrap();
        let service = TableServiceClient::new(ENDPOINT, token).unwrap();
        service.transport(emulator.clone())
    };

    let expired = rejection(with(sas(TablePermissions::ADD, past))).await;
    let wrong_right = rejection(with(sas(TablePermissions::READ, future))).await;
    let out_of_range = rejection(with(ranged(TablePermissions::ADD))).await;
    // A read there is not rejected: it finds nothing.
    orders.insert(&DynamicEntity::new("p", "there")).await.unwrap();
    let reader = with(ranged(TablePermissions::READ)).dynamic_table("Orders").unwrap();
    assert!(reader.get(("p", "there")).await.unwrap().is_none());
    assert_eq!(reader.query().partition("p").count().await.unwrap(), 0);
    let other_key = AccountKey::new("contoso", "CAkKCwwNDg8=").unwrap();
    let wrong_key = rejection(client(other_key).transport(emulator.clone())).await;
    clock.advance(Duration::from_secs(20 * 60 + 5));
    let clock_off = rejection(service.without_clock_correction()).await;

    let second = DateTime::from_unix_seconds(past.unix_seconds());
    let expired_at = format!("expired at {second}: create a new one");
    let (unauthenticated, forbidden) = (ErrorKind::Unauthenticated, ErrorKind::Forbidden);
    let range = "from (\"a\", \"\") to (\"b\", \"\") of table Orders";
    let errors = [
        (expired, unauthenticated, &*expired_at),
        (
            wrong_key,
            unauthenticated,
            "the key is not a current key of account contoso",
        ),
        (wrong_right, forbidden, "allows \"r\", insert needs a"),
        (out_of_range, forbidden, range),
        (clock_off, unauthenticated, "the clock of this machine is 20 min behind"),
    ];
    for (n, (error, kind, _)) in errors.iter().enumerate() {
        assert_eq!(error.kind(), *kind, "{error}");
        for (m, (.., words)) in errors.iter().enumerate() {
            assert_eq!(error.to_string().contains(words), n == m, "{words:?} in {error}");
        }
    }
}

/// The account's settings reject every credential alike.
#[tokio::test]
async fn rejection_by_the_accounts_settings_names_them() {
    let key = AccountKey::new("contoso", KEY).unwrap();
    let account = AccountSas::new(
        AccountPermissions::ADD,
        AccountResources::ENTITIES,
        DateTime::now() + Duration::from_secs(60),
    );
    let token: Arc<dyn TokenCredential> = Arc::new(Token);
    let services = [
        TableServiceClient::new(ENDPOINT, account.sign(&key).unwrap()),
        TableServiceClient::new(ENDPOINT, SharedKeyLite(key.clone())),
        TableServiceClient::new(ENDPOINT, key),
        TableServiceClient::new(ENDPOINT, token),
    ];
    for service in services.map(Result::unwrap) {
        for (code, way) in [
            ("KeyBasedAuthenticationNotPermitted", "`EntraCredential`"),
            ("AuthorizationFailure", "network rules"),
        ] {
            let faults = Faults::new(Emulator::new());
            faults.add(FaultRule::new(ResponseTemplate::new(403).code(code)));
            let error = rejection(service.transport(faults)).await;
            assert!(error.to_string().contains(way), "{error}");
        }
    }
}

#[tokio::test]
async fn errors_of_a_rule_name_the_way() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let things = service.dynamic_table("Things").unwrap();
    let row = |partition_key: &str| DynamicEntity::new(partition_key, "r");
    let missing = things.insert(&row("p")).await.unwrap_err();
    let slash = things.insert(&row("a/b")).await.unwrap_err();
    let mut long = row("p");
    long.insert("Text", "x".repeat(40_000));
    let long = things.insert(&long).await.unwrap_err();
    let mut batch = things.batch();
    batch.insert(&row("p")).unwrap();
    let second_partition = batch.insert(&row("q")).map(drop).unwrap_err();
    let url = TableServiceClient::from_connection_string("https://contoso.table.core.windows.net/?sig=SECRET");
    for (error, way) in [
        (missing.to_string(), "`create_table_if_not_exists`"),
        (slash.to_string(), "`Escaped`"),
        (long.to_string(), "#[table(chunked)]"),
        (second_partition.to_string(), "`bulk`"),
        (url.unwrap_err().to_string(), "`from_sas_url`"),
    ] {
        assert!(error.contains(way) && !error.contains("SECRET"), "{error}");
    }
}
