//! Clients from a URL with its shared access signature, as the portal and the other SDKs show it.

use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, SasUrl, SharedKeyLite};
use azure_table::service::StoredAccessPolicy;
use azure_table::{
    AccountKey, AccountSas, DateTime, DynamicEntity, Emulator, EmulatorServer, ErrorKind, SasToken, TableClient,
    TableName, TablePermissions, TableSas, TableServiceClient,
};

const TOKEN: &str = "sv=2019-02-02&ss=t&srt=sco&sp=rl&se=2030-01-01T00%3A00%3A00Z&sig=SECRET%2F%2B%3D";

#[test]
fn sas_url_of_a_service_names_the_account_in_every_form() {
    for (address, endpoint, account) in [
        (
            "https://contoso.table.core.windows.net/",
            "https://contoso.table.core.windows.net",
            "contoso",
        ),
        (
            "https://contoso.table.core.windows.net",
            "https://contoso.table.core.windows.net",
            "contoso",
        ),
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
            "http://127.0.0.1:10002/devstoreaccount1",
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
        let service = TableServiceClient::from_sas_url(&format!("{address}?{TOKEN} ")).unwrap();
        assert_eq!((service.endpoint(), service.account()), (endpoint, Some(account)));
        let token = service.to_connection_string().unwrap();
        assert!(token.contains(&format!("SharedAccessSignature={TOKEN};")), "{address}");
    }
    let own = TableServiceClient::from_sas_url(&format!("https://tables.contoso.com/?{TOKEN}")).unwrap();
    assert_eq!((own.endpoint(), own.account()), ("https://tables.contoso.com", None));
}

#[test]
fn sas_url_of_a_table_names_account_and_table() {
    for (address, endpoint) in [
        (
            "https://contoso.table.core.windows.net/Blogs",
            "https://contoso.table.core.windows.net",
        ),
        (
            "https://contoso.table.core.windows.net/Blogs/",
            "https://contoso.table.core.windows.net",
        ),
        (
            "https://contoso.table.core.windows.net//Blogs",
            "https://contoso.table.core.windows.net",
        ),
        (
            "http://127.0.0.1:10002/devstoreaccount1/Blogs",
            "http://127.0.0.1:10002/devstoreaccount1",
        ),
        (
            "http://host.docker.internal:10002/acct/Blogs",
            "http://host.docker.internal:10002/acct",
        ),
        ("https://tables.contoso.com/Blogs", "https://tables.contoso.com"),
    ] {
        for named in ["", "tn=Blogs&", "tn=blogs&", "tn=BLOGS&"] {
            let table = TableClient::<DynamicEntity>::from_sas_url(&format!("{address}?{named}{TOKEN}")).unwrap();
            assert_eq!(table.name().as_str(), "Blogs");
            let shown = format!("{table:?}");
            assert!(
                shown.contains(&format!("endpoint: {endpoint:?}")) && !shown.contains("SECRET"),
                "{shown}"
            );
            let shown = table.settings().to_string();
            assert!(
                shown.contains("SasToken(hidden)") && !shown.contains("SECRET"),
                "{shown}"
            );
        }
    }
}

#[test]
fn incomplete_sas_url_names_what_is_missing_without_the_signature() {
    let service = |url: &str| TableServiceClient::from_sas_url(url).unwrap_err();
    let table = |url: &str| TableClient::<DynamicEntity>::from_sas_url(url).unwrap_err();
    let cloud = "https://contoso.table.core.windows.net";
    let local = "http://127.0.0.1:10002";
    let no_query = "no query: use the whole URL, with the signature after its `?`";
    let no_sig = "no `sig`: copy the whole signature, which may be the last parameter";
    let no_table = "the path names no table: append its name, or use `TableServiceClient`";
    let too_far = "the path continues after the table's name: remove the rest";
    for (error, why) in [
        (service(cloud), no_query),
        (service(&format!("{cloud}/sig=SECRET")), no_query),
        (service(TOKEN), no_query),
        (service(&format!("{cloud}/?")), no_sig),
        (service(&format!("{cloud}/?sv=2019-02-02&sp=r&SECRET")), no_sig),
        (
            service(&format!("{cloud}/?{TOKEN}#x")),
            "characters that no URL can have",
        ),
        (
            service(&format!("{cloud}/?x?{TOKEN}")),
            "a second `?`: use the URL unchanged",
        ),
        (service(&format!("?{TOKEN}")), "it is not an absolute URL"),
        (
            service(&format!("contoso.table.core.windows.net/?{TOKEN}")),
            "it is not an absolute URL",
        ),
        (service(&format!("https://u:SECRET@h/?{TOKEN}")), "user name"),
        (service(&format!("ftp://h/?{TOKEN}")), "http or https"),
        (
            service(&format!("{cloud}/Blogs?{TOKEN}")),
            "the path names a table: use `TableClient::from_sas_url`",
        ),
        (
            service(&format!("{local}/devstoreaccount1/Blogs?{TOKEN}")),
            "the path names a table: use `TableClient",
        ),
        (service(&format!("{cloud}/Blogs/x?{TOKEN}")), "the path names a table"),
        (
            service(&format!("{local}/?{TOKEN}")),
            "the path names no account: an emulator's URL has it before the `?`",
        ),
        (
            service(&format!("https://contoso.blob.core.windows.net/?{TOKEN}")),
            "it is the address of Blob storage, the tables are at https://contoso.table.core.windows.net",
        ),
        (
            service(&format!("{cloud}/?sv=1&sr=b&sig=SECRET")),
            "for another service",
        ),
        (
            service(&format!("{cloud}/?sv=1&ss=bq&sig=SECRET")),
            "for another service",
        ),
        (table(cloud), no_query),
        (table(&format!("{cloud}/Blogs?sv=2019-02-02")), no_sig),
        (table(&format!("{cloud}/?{TOKEN}")), no_table),
        (table(&format!("{cloud}?tn=Blogs&{TOKEN}")), no_table),
        (table(&format!("{local}/devstoreaccount1?{TOKEN}")), no_table),
        (table(&format!("{local}/?{TOKEN}")), no_table),
        (table(&format!("{cloud}/a/Blogs?{TOKEN}")), too_far),
        (table(&format!("{local}/devstoreaccount1/Blogs/x?{TOKEN}")), too_far),
        (
            table(&format!("{cloud}/Blogs(PartitionKey='SECRET',RowKey='r')?{TOKEN}")),
            "the last path segment is not a table name of Azure Table storage",
        ),
        (
            table(&format!("{cloud}/sig%3DSECRET?{TOKEN}")),
            "the last path segment is not a table name of Azure Table storage",
        ),
        (
            table(&format!("{cloud}/Blogs?tn=Orders&{TOKEN}")),
            "the path names the table \"Blogs\", the signature is for \"Orders\" (`tn`)",
        ),
        (
            table(&format!("{cloud}/Blogs?tn=Orders%26sig%3DSECRET&{TOKEN}")),
            "the path names the table \"Blogs\", the signature is for another one (`tn`)",
        ),
    ] {
        let text = format!("{error} {error:?}");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(text.contains(why), "{why} is not in: {text}");
        assert!(error.to_string().starts_with("URL: "), "{text}");
        assert!(!text.contains("SECRET"), "{text}");
    }
}

#[test]
fn table_url_and_a_key_make_a_client() {
    let client = |url: &str, key: AccountKey| TableClient::<DynamicEntity>::from_url(url, key);
    let key = || AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    for url in [
        "https://contoso.table.core.windows.net/Blogs",
        "https://contoso.table.cosmos.azure.com/Blogs",
        "http://127.0.0.1:10002/contoso/Blogs",
        "http://localhost:10002/contoso/Blogs",
        "https://tables.example.com/Blogs",
        // Without an account in the path, as of the emulator of Cosmos DB; with a path of a gateway.
        "http://localhost:8902/Blogs",
        "https://gateway.example.com/contoso/Blogs",
        "https://gw/a/b/Blogs",
    ] {
        let table = client(url, key()).unwrap();
        assert_eq!((table.name().as_str(), table.url().as_str()), ("Blogs", url));
    }
    let of_cosmos = client("https://contoso.table.cosmos.azure.com/na%20me", key()).unwrap();
    assert_eq!(of_cosmos.name().as_str(), "na me");
    for (url, why) in [
        ("https://contoso.table.core.windows.net/", "the path names no table"),
        (
            "https://contoso.table.core.windows.net/Blogs/SECRET",
            "must not have a path",
        ),
        (
            "https://contoso.table.core.windows.net/Blogs(PartitionKey='SECRET')",
            "not a table name",
        ),
        (
            "https://contoso.table.core.windows.net/Blogs?sig=SECRET",
            "needs `from_sas_url`",
        ),
        (
            "https://other.table.core.windows.net/Blogs",
            "belongs to another account",
        ),
        (
            "https://contoso.queue.core.windows.net/Blogs",
            "the address of Queue storage",
        ),
        ("Blogs", "not an absolute URL"),
        // The account of the key is no table.
        ("http://127.0.0.1:10002/contoso", "the path names no table"),
        ("http://127.0.0.1:10002/devstoreaccount1", "the path names no table"),
        (
            "https://contoso-secondary.table.core.windows.net/Blogs",
            "use `https://contoso.table.core.windows.net/Blogs`",
        ),
        (
            "http://127.0.0.1:10002/contoso-secondary/Blogs",
            "use `http://127.0.0.1:10002/contoso/Blogs`",
        ),
    ] {
        let error = client(url, key()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{url}");
        assert!(error.to_string().contains(why), "{why} is not in: {error}");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    }
}

#[test]
fn table_url_of_a_custom_domain_is_not_a_service_url() {
    let service = |url: &str| TableServiceClient::from_sas_url(url);
    for address in [
        "https://tables.contoso.com/Blogs",
        "https://tables.contoso.com:443/Blogs/",
        "http://tables.contoso.com:80/Blogs",
        "https://tables.contoso.com/contoso/Blogs",
    ] {
        let error = service(&format!("{address}?{TOKEN}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{address}");
        let text = error.to_string();
        assert!(
            text.contains("the path names a table") && text.contains("use `TableClient::from_sas_url`"),
            "{text}"
        );
        assert!(!text.contains("SECRET"), "{text}");
    }
    let table = TableClient::<DynamicEntity>::from_sas_url(&format!("https://tables.contoso.com/x/Blogs?{TOKEN}"));
    let error = table.unwrap_err().to_string();
    assert!(error.contains("the path continues after the table's name"), "{error}");
}

#[test]
fn sas_url_of_the_secondary_is_rejected_with_the_primary_address() {
    for (secondary, primary) in [
        (
            "https://contoso-secondary.table.core.windows.net",
            "https://contoso.table.core.windows.net",
        ),
        (
            "https://contoso-secondary.z13.table.storage.azure.net",
            "https://contoso.z13.table.storage.azure.net",
        ),
        (
            "http://127.0.0.1:10002/devstoreaccount1-secondary",
            "http://127.0.0.1:10002/devstoreaccount1",
        ),
    ] {
        let service = TableServiceClient::from_sas_url(&format!("{secondary}/?{TOKEN}"));
        let table = TableClient::<DynamicEntity>::from_sas_url(&format!("{secondary}/Blogs?{TOKEN}"));
        for (error, address) in [
            (service.unwrap_err(), format!("`{primary}`")),
            (table.unwrap_err(), format!("`{primary}/Blogs`")),
        ] {
            let text = format!("{error} {error:?}");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
            assert!(text.contains("secondary") && text.contains(&address), "{text}");
            assert!(!text.contains("SECRET"), "{text}");
        }
    }
    let odd = TableServiceClient::from_sas_url(&format!("http://127.0.0.1:10002/SECRET-secondary?{TOKEN}"));
    assert!(!odd.unwrap_err().to_string().contains("SECRET"));
    // Names of Cosmos DB accounts have hyphens.
    let cosmos = TableServiceClient::from_sas_url(&format!("https://a-secondary.table.cosmos.azure.com/?{TOKEN}"));
    assert_eq!(cosmos.unwrap().endpoint(), "https://a-secondary.table.cosmos.azure.com");
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

#[test]
fn sas_url_is_read_into_its_parts_and_hides_its_signature() {
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let start: DateTime = "2030-01-01T00:00:00Z".parse().unwrap();
    let expiry: DateTime = "2030-01-02T00:00:00Z".parse().unwrap();
    for (endpoint, table) in [
        ("https://contoso.table.core.windows.net", "Orders"),
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
        assert_eq!(
            (parts.table.as_deref(), parts.policy, parts.delegated_by),
            (Some(table), None, None)
        );
        assert_eq!((parts.permissions.as_str(), parts.resources.as_str()), ("rd", ""));
        assert_eq!((parts.start, parts.expiry), (Some(start), Some(expiry)));
        assert_eq!(parts.from, Some(("a&b=c".to_owned(), String::new())));
        assert_eq!(parts.to, Some(("it's".to_owned(), "漢+1".to_owned())));
        assert_eq!(
            (parts.ip.as_deref(), parts.https_only),
            (Some("168.1.5.60-168.1.5.70"), true)
        );

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
        assert_eq!(
            (parts.table, parts.from, parts.to, parts.https_only),
            (None, None, None, false)
        );
    }
    for (wrong, why) in [
        ("https://contoso.table.core.windows.net/Blogs", "no query"),
        ("https://contoso.table.core.windows.net/Blogs?sv=1", "no `sig`"),
        ("http://127.0.0.1:10002/?sv=1&sig=SECRET", "the path names no account"),
        (
            "https://contoso.table.core.windows.net/a/b?sv=1&tn=b&sig=SECRET",
            "the path continues",
        ),
        (
            "https://contoso.table.core.windows.net/Abc?sv=1&tn=Def&sig=SECRET",
            "the signature is for \"Def\"",
        ),
    ] {
        let error = SasUrl::new(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.to_string().contains(why) && !format!("{error:?}").contains("SECRET"),
            "{error}"
        );
    }
}

#[test]
fn only_an_account_key_signs_a_url() {
    let endpoint = "https://contoso.table.core.windows.net";
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let expiry = DateTime::now() + Duration::from_secs(3_600);
    let account = AccountSas::new(AccountPermissions::LIST, AccountResources::TABLES, expiry);
    let table = TableSas::new(&TableName::new("Blogs").unwrap()).permissions(TablePermissions::READ);
    let table = table.expiry(expiry);

    let lite = TableServiceClient::new(endpoint, SharedKeyLite(key.clone())).unwrap();
    assert!(lite.sas_url(&account).is_ok());
    let other = lite.dynamic_table("Orders").unwrap().sas_url(&table).unwrap_err();
    assert!(other.to_string().contains("the signature is for \"Blogs\""), "{other}");

    let shared = TableServiceClient::new(endpoint, SasToken::new(TOKEN).unwrap()).unwrap();
    for error in [
        shared.sas_url(&account).unwrap_err(),
        shared.dynamic_table("Blogs").unwrap().sas_url(&table).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("only an account key signs"), "{error}");
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
    let service = TableServiceClient::new("https://contoso.table.core.windows.net", token).unwrap();
    assert!(!service.to_connection_string().unwrap().contains('?'));
}
