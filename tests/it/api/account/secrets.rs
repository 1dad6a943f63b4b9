//! No output contains a secret. Each public type that contains or processes one is created with a marker, and all its
//! output is searched.

use std::fmt::{Debug, Display};
use std::sync::Mutex;

use azure_table::auth::{
    AccountPermissions, AccountResources, AuthorizationContext, AuthorizationFailure, RenewableSas, SharedKeyLite,
    SharedSas,
};
use azure_table::telemetry::OperationContext;
use azure_table::transport::{BoxFuture, Delivery};
use azure_table::{
    AccountKey, AccountSas, CallOptions, Credential, DateTime, DynamicEntity, Emulator, Error, NoRetry, Result,
    SasToken, TablePermissions, TableSas, TableServiceClient,
};
use azure_table_tests::Network;
use azure_table_tests::canned::{CONTOSO, Canned, Step};

/// The beginning of a key, in base64.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBka";
/// A signature that is not valid base64.
const SIGNATURE: &str = "SIGNATUREMARKER";
const ENDPOINT: &str = "https://contoso.table.core.windows.net";

/// All output.
#[derive(Default)]
struct Shown(String);

impl Shown {
    fn debug(&mut self, value: impl Debug) {
        self.0.push_str(&format!("{value:?}\n{value:#?}\n"));
    }

    fn display(&mut self, value: impl Display) {
        self.0.push_str(&format!("{value}\n{value:#}\n"));
    }

    /// An error with all its sources.
    fn error(&mut self, error: &Error) {
        self.debug(error);
        let mut next: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = next {
            self.display(error);
            next = error.source();
        }
    }

    #[track_caller]
    fn assert_has_not(&self, secrets: &[&str]) {
        for secret in secrets {
            assert!(!self.0.contains(secret), "{secret} in:\n{}", self.0);
        }
    }
}

fn token() -> SasToken {
    SasToken::new(format!("sv=2019-02-02&se=2020-01-01&sig={SIGNATURE}")).unwrap()
}

#[tokio::test]
async fn signature_is_shown_only_on_request() {
    let mut shown = Shown::default();
    let code = [("x-ms-error-code", "AuthenticationFailed")];
    let steps = || {
        [
            Step::status(403),
            Step::Fail(Delivery::MaybeSent),
            Step::response(200, &[], "<html>"),
            Step::response(403, &code, &format!("?sig={SIGNATURE}")),
        ]
    };
    // The renewable signature is rejected twice more, with new signatures.
    let [.., rejected] = steps();
    let more = [rejected.clone(), rejected];
    let canned = Canned::new(steps().into_iter().chain(steps()).chain(more));
    let renewable = RenewableSas::new(|| async { Ok(token()) });
    shown.debug((token(), &renewable, SharedSas::new(token())));
    for service in [
        TableServiceClient::new(ENDPOINT, token()).unwrap(),
        TableServiceClient::new(ENDPOINT, renewable).unwrap(),
    ] {
        let service = service.transport(canned.clone());
        let table = service.dynamic_table("Things").unwrap();
        shown.debug((&service, &table, service.settings(), table.get(("p", "r"))));
        shown.display(service.settings());
        shown.0.push_str(&table.get(("p", "r")).request_text().unwrap());
        let context = OperationContext::new();
        let once = CallOptions::new().context(&context).retry(NoRetry);
        for _ in 0..4 {
            let insert = table.insert(&DynamicEntity::new("p", "r")).with(&once);
            shown.error(&insert.await.unwrap_err());
        }
        shown.debug(context);
    }
    shown.assert_has_not(&[SIGNATURE]);
    let sent = canned.sent();
    assert!(sent[0].uri().query().unwrap().ends_with(SIGNATURE), "it is sent");
    assert!(!sent[0].headers().contains_key("authorization"));
}

#[tokio::test]
async fn key_and_its_signatures_are_never_shown() {
    let mut shown = Shown::default();
    let canned = Canned::new([Step::status(403), Step::status(404), Step::status(500)]);
    let service = TableServiceClient::from_connection_string(CONTOSO)
        .unwrap()
        .transport(canned.clone());
    let table = service.dynamic_table("Things").unwrap();
    let key = service.account_key().unwrap().clone();
    shown.debug((&key, SharedKeyLite(key.clone()), &service, &table, service.settings()));
    shown.display(service.settings());
    let (pages, stream) = (table.query().pages(), table.query().stream());
    shown.debug((table.get(("p", "r")), table.query(), pages, stream));
    shown.debug((service.list_tables(), service.properties(), table.access_policies()));
    shown.error(&table.get(("p", "r")).await.unwrap_err());
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    shown.debug(&batch);
    shown.error(&batch.submit().await.unwrap_err());
    shown.debug(canned.sent());

    let expiry = DateTime::now() + std::time::Duration::from_secs(60);
    let sas = TableSas::new(table.name()).permissions(TablePermissions::READ);
    let sas = sas.expiry(expiry);
    let account_sas = AccountSas::new(AccountPermissions::READ, AccountResources::ENTITIES, expiry);
    let made = [sas.sign(&key).unwrap(), account_sas.sign(&key).unwrap()];
    shown.debug((&sas, &account_sas, &made));
    let owner = TableServiceClient::new(ENDPOINT, key.clone()).unwrap();
    shown.debug((owner.sas_url(&account_sas).unwrap(), made[0].parts()));
    shown.debug(Emulator::new().account("contoso", &format!("{KEY}AAAA")).unwrap());
    shown.assert_has_not(&[KEY, "SharedKey contoso:"]);
    for token in &made {
        let signature = token.expose().rsplit("sig=").next().unwrap();
        shown.assert_has_not(&[signature]);
    }
}

/// A caller's header may contain a secret, such as a gateway's key.
#[tokio::test]
async fn header_of_the_caller_is_shown_only_by_name() {
    const SECRET: &str = "HEADERMARKER";
    let mut shown = Shown::default();
    let canned = Canned::new([Step::status(404), Step::status(500)]);
    let options = CallOptions::new().header("x-gateway", SECRET);
    let service = canned.service().with(&options);
    let table = service.dynamic_table("Things").unwrap();
    shown.debug((&options, &service, &table, service.settings(), table.settings()));
    shown.display(service.settings());
    shown.display(table.settings());
    shown.debug((table.get(("p", "r")), service.list_tables(), table.query()));
    let own = CallOptions::new().header("x-own", SECRET);
    for request in [
        table.get(("p", "r")).request_text().unwrap(),
        table.query().request_text().unwrap(),
        service.list_tables().request_text().unwrap(),
        table.delete(("p", "r")).with(&own).request_text().unwrap(),
    ] {
        assert!(request.contains("\nx-gateway: (hidden)\n"), "{request}");
        shown.display(request);
    }
    let context = OperationContext::new();
    for options in [
        CallOptions::new().context(&context).retry(NoRetry),
        CallOptions::new().retry(NoRetry),
        CallOptions::new().header("x-bad", format!("{SECRET}\n")),
    ] {
        shown.error(&table.delete(("p", "r")).with(&options).await.unwrap_err());
    }
    shown.debug(context);
    shown.debug(canned.sent());
    shown.assert_has_not(&[SECRET]);
    assert_eq!(canned.sent()[0].headers()["x-gateway"], SECRET, "it is sent");
}

#[test]
fn errors_do_not_repeat_rejected_secrets() {
    let mut shown = Shown::default();
    for connection_string in [
        format!("AccountName=a;AccountKey={KEY}*"),
        format!("AccountName=a;AccountKey={KEY};{KEY}"),
        format!("TableEndpoint=https://a.table.core.windows.net/?{SIGNATURE};AccountKey={KEY}"),
        format!("TableEndpoint=https://a.table.core.windows.net;SharedAccessSignature=sr=b&sig={SIGNATURE}"),
        format!("UseDevelopmentStorage=true;AccountKey={KEY}"),
    ] {
        shown.error(&TableServiceClient::from_connection_string(&connection_string).unwrap_err());
    }
    shown.error(&AccountKey::new("contoso", &format!("{KEY}*")).unwrap_err());
    shown.error(&SasToken::new(format!("https://x/?sig={SIGNATURE}")).unwrap_err());
    shown.error(&Emulator::new().account("contoso", &format!("{KEY}*")).unwrap_err());
    for url in [
        format!("no url {SIGNATURE}"),
        format!("ftp://user:{SIGNATURE}@127.0.0.1:1"),
    ] {
        let proxy = Network::Hyper.builder().proxy(url);
        shown.debug(&proxy);
        shown.error(&proxy.build().unwrap_err());
    }
    for network in Network::ALL {
        let proxy = network.builder().proxy(format!("http://user:{SIGNATURE}@127.0.0.1:1"));
        shown.debug(proxy.build().unwrap());
    }
    shown.assert_has_not(&[KEY, SIGNATURE]);
}

/// A credential from outside the crate may log what it receives.
#[tokio::test]
async fn credentials_from_outside_receive_no_secret() {
    static SHOWN: Mutex<Shown> = Mutex::new(Shown(String::new()));

    #[derive(Debug)]
    struct Logging;
    impl Credential for Logging {
        fn authorize<'a>(
            &'a self,
            request: &'a mut http::Request<bytes::Bytes>,
            context: &'a AuthorizationContext<'a>,
        ) -> BoxFuture<'a, Result<()>> {
            SHOWN.lock().unwrap().debug((&request, context));
            Box::pin(std::future::ready(Ok(())))
        }

        fn rejected(&self, failure: &AuthorizationFailure<'_>) -> Option<String> {
            SHOWN.lock().unwrap().debug(failure);
            None
        }
    }
    let canned = Canned::new([Step::response(403, &[], &format!("no ?sig={SIGNATURE}&x"))]);
    let service = TableServiceClient::new(ENDPOINT, Logging).unwrap().transport(canned);
    let error = service.ping().await.unwrap_err();
    let mut shown = SHOWN.lock().unwrap();
    shown.error(&error);
    shown.assert_has_not(&[SIGNATURE]);
}
