//! Spies and recordings keep no key, token or signature, of any credential and in any response.

use std::fs;
use std::time::SystemTime;

use azure_table::auth::AuthorizationContext;
use azure_table::operation::OperationKind;
use azure_table::testing::{Recorder, Replay, ResponseTemplate, Script, Spy};
use azure_table::transport::BoxFuture;
use azure_table::{
    AccountKey, CallOptions, Credential, DateTime, DynamicEntity, Emulator, NoRetry, Result, SasToken,
    TableServiceClient,
};
use azure_table_tests::intercept::Intercept;

use super::recordings::file;

const KEY: &str = "S0VZTUFSS0VSS0VZTUFSS0VS";

/// A credential that sends a token in the form of Entra ID, in a header that it does not mark, and in one of its own.
#[derive(Debug)]
struct Careless;

impl Credential for Careless {
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::Request<bytes::Bytes>,
        _: &'a AuthorizationContext<'_>,
    ) -> BoxFuture<'a, Result<()>> {
        let headers = request.headers_mut();
        headers.insert("authorization", "Bearer TOKENMARKER.part.two".parse().unwrap());
        headers.insert("x-ms-own-proof", "PROOFMARKER".parse().unwrap());
        Box::pin(async { Ok(()) })
    }
}

/// A rejection that repeats its request, as the live service does with signatures.
fn rejection(of: &str) -> ResponseTemplate {
    let message =
        format!("The MAC signature found in the HTTP request '{of}' is not the same as any computed signature.");
    ResponseTemplate::new(403)
        .code("AuthenticationFailed")
        .message(message)
        .header("x-ms-said", of)
}

#[tokio::test]
async fn no_credential_is_recorded() {
    let sas = "sv=2019-02-02&tn=Things&sp=r&se=2030-01-01&sig=SASMARKER%2Bx%2Fy%3D";
    let contoso = "https://contoso.table.core.windows.net";
    let clients = [
        TableServiceClient::new(contoso, AccountKey::new("contoso", KEY).unwrap()).unwrap(),
        TableServiceClient::new(contoso, SasToken::new(sas).unwrap()).unwrap(),
        TableServiceClient::new(contoso, Careless).unwrap(),
    ];
    let shown = ["", "SASMARKER+x/y=", "TOKENMARKER.part.two"];
    for (client, shown) in clients.into_iter().zip(shown) {
        let script = Script::new()
            .then(OperationKind::Insert, ResponseTemplate::written())
            .then_any(rejection(shown));
        let spy = Spy::new(script);
        let file = file("secrets");
        let recorder = Recorder::create(&file, spy.clone()).unwrap();
        let table = client
            .transport(recorder)
            .retry(NoRetry)
            .dynamic_table("Things")
            .unwrap();
        let row = DynamicEntity::new("p", "r");
        table
            .insert(&row)
            .with(&CallOptions::new().header("x-mine", "OWNMARKER"))
            .await
            .unwrap();
        table.get(("p", "r")).await.unwrap_err();

        let recorded = fs::read_to_string(&file).unwrap();
        assert_eq!(recorded.lines().count(), 2);
        assert!(
            recorded.contains("\"authorization\":\"(hidden)\"") || shown.starts_with("SAS"),
            "{recorded}"
        );
        assert!(recorded.contains("\"x-mine\":\"(hidden)\""), "{recorded}");
        let kept = format!("{:#?} {spy:?}", spy.exchanges());
        for text in [recorded, kept] {
            for secret in ["MARKER", KEY, "sig=", "se=2030", "SharedKey ", "Bearer"] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
}

/// The signature of an account key is not known in advance: it is taken from the request.
#[tokio::test]
async fn signature_in_a_rejection_is_hidden() {
    let echo = Intercept::new(Emulator::new(), async |_, request| {
        let authorization = request.headers()["authorization"].to_str().unwrap();
        let signature = authorization.rsplit(':').next().unwrap();
        let body = format!("{authorization} {signature} {}", request.uri());
        Ok(http::Response::builder().status(403).body(body.into()).unwrap())
    });
    let file = file("echo");
    let spy = Spy::new(echo);
    let recorder = Recorder::create(&file, spy.clone()).unwrap();
    let service = TableServiceClient::from_transport(recorder).without_clock_correction();
    service
        .dynamic_table("Things")
        .unwrap()
        .get(("p", "r"))
        .await
        .unwrap_err();
    let body = spy.last().unwrap().response_body().unwrap().into_owned();
    assert!(
        body.starts_with("(hidden) (hidden) http://127.0.0.1:10002/devstoreaccount1/Things("),
        "{body}"
    );
    let recorded = fs::read_to_string(&file).unwrap();
    assert!(
        recorded.contains("\"body\":\"(hidden) (hidden) https://account.invalid/Things("),
        "{recorded}"
    );
    assert!(!recorded.contains("devstoreaccount1"), "{recorded}");
}

/// A key in a response is a secret, too; the replayed key signs nothing.
#[tokio::test]
async fn a_delegation_key_is_not_recorded() {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = i64::try_from(now).unwrap();
    let ask = async |client: TableServiceClient| {
        let start = DateTime::from_unix_seconds(now);
        let expiry = DateTime::from_unix_seconds(now + 3_600);
        client.user_delegation_key(expiry).start(start).await.unwrap()
    };
    #[derive(Debug)]
    struct Token;
    impl Credential for Token {
        fn version(&self) -> &'static str {
            "2020-12-06"
        }
        fn authorize<'a>(
            &'a self,
            request: &'a mut http::Request<bytes::Bytes>,
            _: &'a AuthorizationContext<'_>,
        ) -> BoxFuture<'a, Result<()>> {
            request
                .headers_mut()
                .insert("authorization", "Bearer TOKENMARKER".parse().unwrap());
            Box::pin(async { Ok(()) })
        }
    }
    let client = TableServiceClient::new("https://devstoreaccount1.table.core.windows.net", Token).unwrap();
    let file = file("delegation");
    let recorder = Recorder::create(&file, Emulator::new().token("TOKENMARKER")).unwrap();
    let key = ask(client.transport(recorder)).await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("<Value>aGlkZGVu</Value>") && !text.contains("TOKENMARKER"),
        "{text}"
    );
    let replayed = ask(client.transport(Replay::parse(&text).unwrap())).await;
    assert_eq!(replayed.object_id(), key.object_id());
}

#[tokio::test]
async fn hidden_values_of_a_test_are_hidden() {
    let file = file("hiding");
    let recorder = Recorder::create(&file, Emulator::new())
        .unwrap()
        .hiding("Ada")
        .hiding("");
    let table = TableServiceClient::from_transport(recorder)
        .dynamic_table("People")
        .unwrap();
    table.create_table().await.unwrap();
    let row = DynamicEntity::new("Ada", "r");
    table.insert(&row).await.unwrap();
    table.get(("Ada", "r")).await.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("Ada") && text.contains("\\\"PartitionKey\\\":\\\"(hidden)\\\""),
        "{text}"
    );

    let replay = Replay::parse(&text)
        .unwrap()
        .masking(|text| text.replace("Ada", "(hidden)"));
    let table = TableServiceClient::from_transport(replay)
        .dynamic_table("People")
        .unwrap();
    table.create_table().await.unwrap();
    table.insert(&row).await.unwrap();
    assert_eq!(
        table.get(("Ada", "r")).await.unwrap().unwrap().partition_key,
        "(hidden)"
    );
}

/// Keys occur in URLs, filters, bodies, and as base64 in continuation tokens.
#[tokio::test]
async fn hidden_values_are_hidden_in_every_encoding() {
    const JANE: &str = "jane o'doe";
    const WASTE: &str = "m\u{fc}ll";
    async fn talk(service: TableServiceClient) -> Result<usize> {
        let table = service.dynamic_table("People")?;
        table.create_table().await?;
        for n in 0..3 {
            let mut row = DynamicEntity::new(JANE, format!("{WASTE} {n}"));
            row.insert("Text", format!("{JANE} \"{WASTE}\""));
            table.insert(&row).await?;
        }
        let mut batch = table.batch();
        for n in 3..5 {
            batch.insert(&DynamicEntity::new(JANE, format!("{WASTE} {n}")))?;
        }
        batch.submit().await?;
        table.get((JANE, format!("{WASTE} 1").as_str())).await?;
        let all = table.query().partition(JANE).all().await?;
        // The received key: in the replay it is the replacement.
        table.delete((&*all[0].partition_key, &*all[0].row_key)).await?;
        Ok(all.len())
    }
    for emulator in [Emulator::new(), Emulator::cosmos()] {
        let file = file(&format!(
            "spellings-{:?}",
            TableServiceClient::from_transport(emulator.clone()).profile()
        ));
        let recorder = Recorder::create(&file, emulator.page_size(2)).unwrap();
        let recorder = recorder.hiding(JANE).hiding(WASTE);
        assert_eq!(
            talk(TableServiceClient::from_transport(recorder.clone()))
                .await
                .unwrap(),
            5
        );
        recorder.finish().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("NextPartitionKey") && text.contains("PartitionKey='(hidden)'"),
            "{text}"
        );
        // In base64, whatever surrounds them: their first and inner groups of three bytes.
        for spelling in ["jane", "doe", "m\u{fc}", "ll", "amFuZ", "vJ2Rv", "bcO8"] {
            let plain = text
                .replace("null", "")
                .replace("odata=fullmetadata", "")
                .replace("nullable", "");
            assert!(!plain.contains(spelling), "{spelling} in {plain}");
        }
        let replay = Replay::open(&file).unwrap().hiding(JANE).hiding(WASTE);
        assert_eq!(
            talk(TableServiceClient::from_transport(replay.clone())).await.unwrap(),
            5
        );
        replay.finish();
    }
}
