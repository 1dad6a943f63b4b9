//! Clients from a URL with its shared access signature, as the portal and the other SDKs show it.

use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, SasUrl, SharedKeyLite};
use azure_table::service::StoredAccessPolicy;
use azure_table::testing::Spy;
use azure_table::{
    AccountKey, AccountSas, DateTime, DynamicEntity, Emulator, EmulatorServer, ErrorKind, Result, SasToken,
    TableClient, TableName, TablePermissions, TableSas, TableServiceClient,
};
use azure_table_tests::errors::{assert_contains, assert_error};

const TOKEN: &str = "sv=2019-02-02&ss=t&srt=sco&sp=rl&se=2030-01-01T00%3A00%3A00Z&sig=SECRET%2F%2B%3D";
const CLOUD: &str = "https://contoso.table.core.windows.net";

/// A URL whose `CLOUD`, `LOCAL` and `TOKEN` stand for an address in the cloud, an emulator's, and a signature.
fn url(short: &str) -> String {
    let url = short.replace("CLOUD", CLOUD).replace("TOKEN", TOKEN);
    url.replace("LOCAL", "http://127.0.0.1:10002")
}

fn service(short: &str) -> Result<TableServiceClient> {
    TableServiceClient::from_sas_url(&url(short))
}

fn table(short: &str) -> Result<TableClient> {
    TableClient::from_sas_url(&url(short))
}

/// Checks the error of a URL, which shows no signature.
#[track_caller]
fn assert_rejected<T>(outcome: Result<T>, url: &str, why: &str) {
    let Err(error) = outcome else {
        unreachable!("{url} is accepted")
    };
    let text = format!("{error} {error:?}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{url}: {text}");
    assert!(text.contains(why), "{url}: {why} is not in: {text}");
    assert!(error.to_string().starts_with("URL: "), "{url}: {text}");
    assert!(!text.contains("SECRET"), "{url}: {text}");
}

#[test]
fn sas_url_of_a_service_names_the_account_in_every_form() {
    for (address, endpoint, account) in [
        ("CLOUD/", "https://contoso.table.core.windows.net", "contoso"),
        ("CLOUD", "https://contoso.table.core.windows.net", "contoso"),
        (
            " https://CONTOSO.table.core.windows.net/",
            "https://contoso.table.core.windows.net",
            "contoso",
        ),
        (
            "https://contoso.z13.table.storage.azure.net/",
            "https://contoso.z13.table.storage.azure.net",
            "contoso",
        ),
        (
            "LOCAL/devstoreaccount1",
            "http://127.0.0.1:10002/devstoreaccount1",
            "devstoreaccount1",
        ),
        (
            "http://[::1]:10002/devstoreaccount1/",
            "http://[::1]:10002/devstoreaccount1",
            "devstoreaccount1",
        ),
        ("http://azurite:10002/acct", "http://azurite:10002/acct", "acct"),
        (
            "http://host.docker.internal:10002/acct",
            "http://host.docker.internal:10002/acct",
            "acct",
        ),
        (
            "http://acct.table.localhost:10002/",
            "http://acct.table.localhost:10002",
            "acct",
        ),
    ] {
        let service = service(&format!("{address}?TOKEN ")).unwrap();
        assert_eq!((service.endpoint(), service.account()), (endpoint, Some(account)));
        let token = service.to_connection_string().unwrap();
        assert!(token.contains(&format!("SharedAccessSignature={TOKEN};")), "{address}");
    }
    let own = service("https://tables.contoso.com/?TOKEN").unwrap();
    assert_eq!((own.endpoint(), own.account()), ("https://tables.contoso.com", None));
}

#[test]
fn sas_url_of_a_table_names_account_and_table() {
    for (endpoint, path) in [
        ("CLOUD", "/Blogs"),
        ("CLOUD", "/Blogs/"),
        ("CLOUD", "//Blogs"),
        ("LOCAL/devstoreaccount1", "/Blogs"),
        ("http://host.docker.internal:10002/acct", "/Blogs"),
        ("https://tables.contoso.com", "/Blogs"),
    ] {
        for named in ["", "tn=Blogs&", "tn=blogs&", "tn=BLOGS&"] {
            let table = table(&format!("{endpoint}{path}?{named}TOKEN")).unwrap();
            assert_eq!(table.name().as_str(), "Blogs");
            let shown = format!("{table:?} {}", table.settings());
            assert_contains(&shown, &format!("endpoint: {:?}", url(endpoint)));
            assert_contains(&shown, "SasToken(hidden)");
            assert!(!shown.contains("SECRET"), "{shown}");
        }
    }
}

#[test]
fn incomplete_sas_url_names_what_is_missing_without_the_signature() {
    let no_query = "no query: use the whole URL, with the signature after its `?`";
    let no_sig = "no `sig`: copy the whole signature, which may be the last parameter";
    let no_table = "the path names no table: append its name, or use `TableServiceClient`";
    let names_table = "the path names a table: use `TableClient::from_sas_url`";
    let no_account = "the path names no account: an emulator's URL has it before the `?`";
    let blob = "it is the address of Blob storage, the tables are at https://contoso.table.core.windows.net";
    let too_far = "the path continues after the table's name: remove the rest";
    let not_a_name = "the last path segment is not a table name of Azure Table storage";
    let orders = "the path names the table \"Blogs\", the signature is for \"Orders\" (`tn`)";
    let another = "the path names the table \"Blogs\", the signature is for another one (`tn`)";
    for (url, why) in [
        ("CLOUD", no_query),
        ("CLOUD/sig=SECRET", no_query),
        ("TOKEN", no_query),
        ("CLOUD/?", no_sig),
        ("CLOUD/?sv=2019-02-02&sp=r&SECRET", no_sig),
        ("CLOUD/?TOKEN#x", "characters that no URL can have"),
        ("CLOUD/?x?TOKEN", "a second `?`: use the URL unchanged"),
        ("?TOKEN", "it is not an absolute URL"),
        ("contoso.table.core.windows.net/?TOKEN", "it is not an absolute URL"),
        ("https://u:SECRET@h/?TOKEN", "user name"),
        ("ftp://h/?TOKEN", "http or https"),
        ("CLOUD/Blogs?TOKEN", names_table),
        ("LOCAL/devstoreaccount1/Blogs?TOKEN", names_table),
        ("CLOUD/Blogs/x?TOKEN", "the path names a table"),
        ("LOCAL/?TOKEN", no_account),
        ("https://contoso.blob.core.windows.net/?TOKEN", blob),
        ("CLOUD/?sv=1&sr=b&sig=SECRET", "for another service"),
        ("CLOUD/?sv=1&ss=bq&sig=SECRET", "for another service"),
    ] {
        assert_rejected(service(url), url, why);
    }
    for (url, why) in [
        ("CLOUD", no_query),
        ("CLOUD/Blogs?sv=2019-02-02", no_sig),
        ("CLOUD/?TOKEN", no_table),
        ("CLOUD?tn=Blogs&TOKEN", no_table),
        ("LOCAL/devstoreaccount1?TOKEN", no_table),
        ("LOCAL/?TOKEN", no_table),
        ("CLOUD/a/Blogs?TOKEN", too_far),
        ("LOCAL/devstoreaccount1/Blogs/x?TOKEN", too_far),
        ("https://tables.contoso.com/x/Blogs?TOKEN", too_far),
        ("CLOUD/Blogs(PartitionKey='SECRET',RowKey='r')?TOKEN", not_a_name),
        ("CLOUD/sig%3DSECRET?TOKEN", not_a_name),
        ("CLOUD/Blogs?tn=Orders&TOKEN", orders),
        ("CLOUD/Blogs?tn=Orders%26sig%3DSECRET&TOKEN", another),
    ] {
        assert_rejected(table(url), url, why);
    }
}

#[test]
fn table_url_and_a_key_make_a_client() {
    let client = |short: &str| {
        let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
        TableClient::<DynamicEntity>::from_url(&url(short), key)
    };
    for short in [
        "CLOUD/Blogs",
        "https://contoso.table.cosmos.azure.com/Blogs",
        "LOCAL/contoso/Blogs",
        "http://localhost:10002/contoso/Blogs",
        "https://tables.example.com/Blogs",
        // Without an account in the path, as of the emulator of Cosmos DB; with a path of a gateway.
        "http://localhost:8902/Blogs",
        "https://gateway.example.com/contoso/Blogs",
        "https://gw/a/b/Blogs",
    ] {
        let table = client(short).unwrap();
        assert_eq!((table.name().as_str(), table.url()), ("Blogs", url(short)));
    }
    let of_cosmos = client("https://contoso.table.cosmos.azure.com/na%20me").unwrap();
    assert_eq!(of_cosmos.name().as_str(), "na me");
    let queue = "https://contoso.queue.core.windows.net/Blogs";
    let secondary = "https://contoso-secondary.table.core.windows.net/Blogs";
    let local_primary = "use `http://127.0.0.1:10002/contoso/Blogs`";
    for (short, why) in [
        ("CLOUD/", "the path names no table"),
        ("CLOUD/Blogs/SECRET", "must not have a path"),
        ("CLOUD/Blogs(PartitionKey='SECRET')", "not a table name"),
        ("CLOUD/Blogs?sig=SECRET", "needs `from_sas_url`"),
        (
            "https://other.table.core.windows.net/Blogs",
            "belongs to another account",
        ),
        (queue, "the address of Queue storage"),
        ("Blogs", "not an absolute URL"),
        // The account of the key is no table.
        ("LOCAL/contoso", "the path names no table"),
        ("LOCAL/devstoreaccount1", "the path names no table"),
        (secondary, &format!("use `{CLOUD}/Blogs`")),
        ("LOCAL/contoso-secondary/Blogs", local_primary),
    ] {
        let error = client(short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{short}");
        assert!(error.to_string().contains(why), "{why} is not in: {error}");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    }
}

#[test]
fn table_url_of_a_custom_domain_is_not_a_service_url() {
    for address in [
        "https://tables.contoso.com/Blogs",
        "https://tables.contoso.com:443/Blogs/",
        "http://tables.contoso.com:80/Blogs",
        "https://tables.contoso.com/contoso/Blogs",
    ] {
        let url = format!("{address}?TOKEN");
        assert_rejected(service(&url), address, "the path names a table");
        assert_rejected(service(&url), address, "use `TableClient::from_sas_url`");
    }
}

#[test]
fn sas_url_of_the_secondary_is_rejected_with_the_primary_address() {
    for secondary in [
        "https://contoso-secondary.table.core.windows.net",
        "https://contoso-secondary.z13.table.storage.azure.net",
        "http://127.0.0.1:10002/devstoreaccount1-secondary",
    ] {
        let primary = secondary.replace("-secondary", "");
        let of_service = || service(&format!("{secondary}/?TOKEN"));
        let of_table = || table(&format!("{secondary}/Blogs?TOKEN"));
        assert_rejected(of_service(), secondary, "secondary");
        assert_rejected(of_service(), secondary, &format!("`{primary}`"));
        assert_rejected(of_table(), secondary, "secondary");
        assert_rejected(of_table(), secondary, &format!("`{primary}/Blogs`"));
    }
    let odd = service("LOCAL/SECRET-secondary?TOKEN");
    assert!(!odd.unwrap_err().to_string().contains("SECRET"));
    // Names of Cosmos DB accounts have hyphens.
    let cosmos = "https://a-secondary.table.cosmos.azure.com";
    assert_eq!(service(&format!("{cosmos}/?TOKEN")).unwrap().endpoint(), cosmos);
}

/// The owner of an account creates the URLs, and another program uses them.
#[tokio::test]
async fn created_urls_open_what_they_grant() {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let owner = TableServiceClient::from_connection_string(&server.connection_string()).unwrap();
    let running = server.spawn();
    let expiry = DateTime::now() + Duration::from_secs(3_600);
    let blogs = owner.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();

    let all = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
    let url = owner.sas_url(&all).unwrap();
    let service = TableServiceClient::from_sas_url(url.expose()).unwrap();
    assert_eq!(service.list_tables().await.unwrap(), ["Blogs"]);

    // A signature's table is the same in any case.
    let name = TableName::new("blogs").unwrap();
    let sas = TableSas::new(&name).permissions(TablePermissions::READ | TablePermissions::ADD);
    let url = blogs.sas_url(&sas.expiry(expiry)).unwrap();
    let shared = TableClient::<DynamicEntity>::from_sas_url(url.expose()).unwrap();
    shared.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert!(shared.get(("p", "r")).await.unwrap().is_some());
    let error = shared.delete(("p", "r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");

    // With a policy, which is revoked.
    let mut readers = StoredAccessPolicy::new("readers");
    readers.permissions = Some(TablePermissions::READ);
    readers.expiry = Some(expiry);
    blogs.set_access_policies([readers]).await.unwrap();
    let url = blogs.sas_url(&TableSas::new(blogs.name()).policy("readers")).unwrap();
    let shared = TableClient::<DynamicEntity>::from_sas_url(url.expose()).unwrap();
    assert!(shared.get(("p", "r")).await.unwrap().is_some());
    blogs.set_access_policies([]).await.unwrap();
    assert_eq!(shared.get(("p", "r")).await.unwrap_err().status(), Some(403));
    running.stop().await;
}

#[tokio::test]
async fn client_of_a_table_sas_url_has_its_own_transport() {
    let (emulator, expiry) = (Emulator::new(), DateTime::now() + Duration::from_secs(3_600));
    let owner = TableServiceClient::from_transport(emulator.clone());
    let blogs = owner.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let sas = TableSas::new(blogs.name())
        .permissions(TablePermissions::READ)
        .expiry(expiry);
    let url = blogs.sas_url(&sas).unwrap();

    let spy = Spy::new(emulator);
    let shared = TableClient::<DynamicEntity>::from_sas_url(url.expose()).unwrap();
    let shared = shared.transport(spy.clone());
    assert!(shared.get(("p", "r")).await.unwrap().is_none());
    assert_eq!(spy.exchanges().len(), 1);
}

#[test]
fn sas_url_is_read_into_its_parts_and_hides_its_signature() {
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let start: DateTime = "2030-01-01T00:00:00Z".parse().unwrap();
    let expiry: DateTime = "2030-01-02T00:00:00Z".parse().unwrap();
    for (endpoint, table) in [
        (CLOUD, "Orders"),
        ("http://127.0.0.1:10002/contoso", "Orders"),
        ("https://contoso.table.cosmos.azure.com", "my table, 50% (é)"),
    ] {
        let service = TableServiceClient::new(endpoint, key.clone()).unwrap();
        let orders = service.dynamic_table(table).unwrap();
        let sas = TableSas::new(orders.name())
            .permissions(TablePermissions::READ | TablePermissions::DELETE)
            .start(start)
            .expiry(expiry)
            .first("a&b=c", "")
            .last("it's", "漢+1")
            .ip("168.1.5.60-168.1.5.70")
            .https_only();
        let url = orders.sas_url(&sas).unwrap();
        let read = SasUrl::new(url.expose()).unwrap();
        assert_eq!(read, url);
        assert_eq!((read.endpoint(), read.table()), (endpoint, Some(orders.name())));
        let parts = read.token().parts();
        assert_eq!(parts.version.as_deref(), Some("2019-02-02"));
        assert_eq!(parts.table.as_deref(), Some(table));
        assert_eq!((parts.policy, parts.delegated_by), (None, None));
        assert_eq!((parts.permissions.as_str(), parts.resources.as_str()), ("rd", ""));
        assert_eq!((parts.start, parts.expiry), (Some(start), Some(expiry)));
        assert_eq!(parts.from, Some(("a&b=c".to_owned(), String::new())));
        assert_eq!(parts.to, Some(("it's".to_owned(), "漢+1".to_owned())));
        assert_eq!(parts.ip.as_deref(), Some("168.1.5.60-168.1.5.70"));
        assert!(parts.https_only);

        let shared = TableClient::<DynamicEntity>::from_sas_url(url.expose()).unwrap();
        assert_eq!(shared.name(), orders.name());
        let signature = url.expose().split("&sig=").nth(1).unwrap();
        let shown = format!("{url:?} {:?} {:?}", url.token(), url.token().parts());
        assert!(!shown.contains(signature), "{shown}");
        assert!(shown.contains("https_only: true"), "{shown}");

        let sas = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
        let url = service.sas_url(&sas).unwrap();
        let read = SasUrl::new(url.expose()).unwrap();
        assert_eq!((&read, read.table(), read.endpoint()), (&url, None, endpoint));
        let parts = read.token().parts();
        assert_eq!((parts.permissions.as_str(), parts.resources.as_str()), ("l", "c"));
        assert_eq!((parts.table, parts.from, parts.to), (None, None, None));
        assert!(!parts.https_only);
    }
    for (wrong, why) in [
        ("CLOUD/Blogs", "no query"),
        ("CLOUD/Blogs?sv=1", "no `sig`"),
        ("LOCAL/?sv=1&sig=SECRET", "the path names no account"),
        ("CLOUD/a/b?sv=1&tn=b&sig=SECRET", "the path continues"),
        ("CLOUD/Abc?sv=1&tn=Def&sig=SECRET", "the signature is for \"Def\""),
    ] {
        assert_rejected(SasUrl::new(url(wrong)), wrong, why);
    }
}

#[test]
fn only_an_account_key_signs_a_url() {
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let expiry = DateTime::now() + Duration::from_secs(3_600);
    let account = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
    let table = TableSas::new(&TableName::new("Blogs").unwrap()).permissions(TablePermissions::READ);
    let table = table.expiry(expiry);

    let lite = TableServiceClient::new(CLOUD, SharedKeyLite(key.clone())).unwrap();
    assert!(lite.sas_url(&account).is_ok());
    let other = lite.dynamic_table("Orders").unwrap().sas_url(&table).unwrap_err();
    assert_contains(&other, "the signature is for \"Blogs\"");

    let shared = TableServiceClient::new(CLOUD, SasToken::new(TOKEN).unwrap()).unwrap();
    for error in [
        shared.sas_url(&account).unwrap_err(),
        shared.dynamic_table("Blogs").unwrap().sas_url(&table).unwrap_err(),
    ] {
        assert_error(&error, ErrorKind::Unsupported, "only an account key signs");
    }
    // The URL is signed with the current key.
    key.rotate("CAkKCwwNDg8=").unwrap();
    let blogs = lite.dynamic_table("Blogs").unwrap();
    assert_eq!(blogs.sas_url(&table).unwrap().token(), &table.sign(&key).unwrap());
}

#[test]
fn token_may_begin_with_its_question_mark() {
    let token = SasToken::new(format!("?{TOKEN}")).unwrap();
    assert_eq!(token, SasToken::new(TOKEN).unwrap());
    let service = TableServiceClient::new(CLOUD, token).unwrap();
    assert!(!service.to_connection_string().unwrap().contains('?'));
}
