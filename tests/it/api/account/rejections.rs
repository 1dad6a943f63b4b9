//! Five reasons for a 403 that the service hardly distinguishes: five messages that name a remedy.

use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::{
    AccountKey, DateTime, DynamicEntity, Emulator, Error, ErrorKind, SasToken, TablePermissions, TableSas,
    TableServiceClient,
};

const ENDPOINT: &str = "https://contoso.table.core.windows.net";
const KEY: &str = "AAECAwQFBgc=";

async fn rejection(service: TableServiceClient) -> Error {
    let table = service.dynamic_table("Orders").unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!(
        (error.status(), error.may_have_applied()),
        (Some(403), false),
        "{error}"
    );
    error
}

#[tokio::test]
async fn five_rejections_have_five_messages() {
    let clock = EmulatorClock::system();
    let emulator = Emulator::new()
        .account("contoso", KEY)
        .unwrap()
        .shared_clock(clock.clone());
    let key = AccountKey::new("contoso", KEY).unwrap();
    let service = TableServiceClient::new(ENDPOINT, key.clone())
        .unwrap()
        .transport(emulator.clone());
    let orders = service.dynamic_table("Orders").unwrap();
    orders.create_table().await.unwrap();

    let now = DateTime::now();
    let (past, future) = (now - Duration::from_secs(60), now + Duration::from_secs(7_200));
    let sas = |permissions| TableSas::new(orders.name()).permissions(permissions);
    let with = |token: SasToken| {
        TableServiceClient::new(ENDPOINT, token)
            .unwrap()
            .transport(emulator.clone())
    };

    let expired = rejection(with(sas(TablePermissions::ADD).expiry(past).sign(&key).unwrap())).await;
    let wrong_right = rejection(with(sas(TablePermissions::READ).expiry(future).sign(&key).unwrap())).await;
    let ranged = sas(TablePermissions::ADD).expiry(future).first("a", "").last("b", "");
    let out_of_range = rejection(with(ranged.sign(&key).unwrap())).await;
    // A read there is not rejected: it finds nothing.
    orders.insert(&DynamicEntity::new("p", "there")).await.unwrap();
    let ranged = sas(TablePermissions::READ).expiry(future).first("a", "").last("b", "");
    let reader = with(ranged.sign(&key).unwrap()).dynamic_table("Orders").unwrap();
    assert!(reader.get(("p", "there")).await.unwrap().is_none());
    assert_eq!(reader.query().partition("p").count().await.unwrap(), 0);
    let other_key = AccountKey::new("contoso", "CAkKCwwNDg8=").unwrap();
    let wrong_key = rejection(
        TableServiceClient::new(ENDPOINT, other_key)
            .unwrap()
            .transport(emulator.clone()),
    )
    .await;
    clock.advance(Duration::from_secs(20 * 60 + 5));
    let clock_off = rejection(service.without_clock_correction()).await;

    let second = DateTime::from_unix_seconds(past.unix_seconds());
    let reported = [
        (
            &expired,
            ErrorKind::Unauthenticated,
            format!("expired at {second}: create a new one"),
        ),
        (
            &wrong_key,
            ErrorKind::Unauthenticated,
            "the key is not a current key of account contoso".to_owned(),
        ),
        (
            &wrong_right,
            ErrorKind::Forbidden,
            "allows \"r\", insert needs a".to_owned(),
        ),
        (
            &out_of_range,
            ErrorKind::Forbidden,
            "from (\"a\", \"\") to (\"b\", \"\") of table Orders".to_owned(),
        ),
        (
            &clock_off,
            ErrorKind::Unauthenticated,
            "the clock of this machine is 20 min behind".to_owned(),
        ),
    ];
    for (error, kind, words) in &reported {
        assert_eq!(error.kind(), *kind, "{error}");
        assert!(error.to_string().contains(words), "{words:?} in {error}");
        let reported_so = reported
            .iter()
            .filter(|(error, ..)| error.to_string().contains(words))
            .count();
        assert_eq!(reported_so, 1, "{words}");
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
