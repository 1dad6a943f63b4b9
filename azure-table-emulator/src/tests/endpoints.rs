//! Endpoints without an account in their path, as of Cosmos DB's emulator.

use azure_table_wire::codec::url;
use azure_table_wire::sas::parameters::{SasParameters, table_string_to_sign};

use super::*;

const HOST: &str = "http://localhost:8902";
const OTHER_KEY: &str = "AAECAwQFBgc=";
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r"}"#;

fn both() -> [Emulator; 2] {
    [Emulator::new(), Emulator::cosmos()].map(|emulator| emulator.account("localhost", OTHER_KEY).unwrap())
}

async fn send_as(
    emulator: &Emulator,
    (account, key): (&str, &str),
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let mut request = unsigned_at(HOST, method, path, headers, body);
    sign(&mut request, account, key);
    emulator.send(request).await.unwrap()
}

/// Creates a table with a row in the account `localhost`.
async fn fill(emulator: &Emulator) {
    for (path, body) in [("Tables", r#"{"TableName":"Blogs"}"#), ("Blogs", ROW)] {
        let created = send_as(emulator, ("localhost", OTHER_KEY), "POST", path, &[], body).await;
        assert_eq!(created.status(), 201, "{path}");
    }
}

fn statuses(response: &Response<Bytes>) -> Vec<&str> {
    let lines = body(response).lines();
    lines
        .filter_map(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3))
        .collect()
}

#[tokio::test]
async fn request_belongs_to_the_account_of_its_authorization() {
    for emulator in both() {
        fill(&emulator).await;
        let own = ("localhost", OTHER_KEY);
        let get = |account| send_as(&emulator, account, "GET", "Blogs(PartitionKey='p',RowKey='r')", &[], "");
        assert_eq!(get(own).await.status(), 200);
        assert_eq!(get((DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)).await.status(), 404);
        assert_eq!(get(("localhost", DEVELOPMENT_KEY)).await.status(), 403);
        let named = send_to(
            &emulator,
            &format!("{HOST}/{DEVELOPMENT_ACCOUNT}"),
            "GET",
            "Tables",
            &[],
            "",
        )
        .await;
        assert_eq!(named.status(), 200);
    }
}

#[tokio::test]
async fn urls_of_a_response_have_no_account() {
    let emulator = Emulator::new();
    let name = r#"{"TableName":"Blogs"}"#;
    let created = send_to(&emulator, HOST, "POST", "Tables", &[], name).await;
    assert_eq!(header(&created, "location"), "http://localhost:8902/Tables('Blogs')");
    let minimal = [("accept", "application/json;odata=minimalmetadata")];
    let tables = send_to(&emulator, HOST, "GET", "Tables", &minimal, "").await;
    assert!(
        body(&tables).contains(r#""odata.metadata":"http://localhost:8902/$metadata#Tables""#),
        "{}",
        body(&tables)
    );
}

#[tokio::test]
async fn batch_names_its_tables_without_the_account() {
    let kind = [("content-type", "multipart/mixed; boundary=b")];
    for emulator in both() {
        fill(&emulator).await;
        let change = format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             PUT {HOST}/Blogs(PartitionKey='p',RowKey='s') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{ROW}\r\n"
        );
        let batch = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{change}--c--\r\n--b--\r\n");
        let response = send_as(&emulator, ("localhost", OTHER_KEY), "POST", "$batch", &kind, &batch).await;
        assert_eq!((response.status().as_u16(), statuses(&response)), (202, vec!["204"]));
    }
}

#[tokio::test]
async fn request_with_a_shared_access_signature_belongs_to_its_signer() {
    let to_sign = |sas: &SasParameters| table_string_to_sign(sas, "localhost", "blogs");
    let key = SigningKey::from_base64(OTHER_KEY).unwrap();
    for emulator in both() {
        fill(&emulator).await;
        let mut sas = SasParameters::default();
        for (name, value) in super::sas::TABLE {
            // In lower case, as some clients write it.
            sas.add(name, if *name == "tn" { "blogs" } else { value });
        }
        let signature = key.sign(&to_sign(&sas));
        for (signature, status) in [(&*signature, 200), ("AAAA", 403)] {
            let mut signed = sas.clone();
            signed.add("sig", signature);
            let pairs = signed.pairs().iter();
            let query: Vec<_> = pairs
                .map(|(name, value)| format!("{name}={}", url::encode(value)))
                .collect();
            for base in [HOST.to_owned(), format!("{HOST}/localhost")] {
                let path = format!("Blogs()?{}", query.join("&"));
                let response = emulator.send(unsigned_at(&base, "GET", &path, &[], "")).await.unwrap();
                assert_eq!(response.status(), status, "{base} {}", body(&response));
            }
        }
    }
}

#[tokio::test]
async fn token_belongs_to_the_only_account() {
    let headers = [("authorization", "Bearer good"), ("x-ms-version", "2020-12-06")];
    let request = || unsigned_at("https://localhost:8902", "GET", "Tables", &headers, "");
    let one = Emulator::new().token("good");
    assert_eq!(one.send(request()).await.unwrap().status(), 200);
    let two = one.account("contoso", OTHER_KEY).unwrap();
    assert_eq!(two.send(request()).await.unwrap().status(), 403);
}

/// Returns an emulator, and the reasons of its responses.
fn explained(emulator: Emulator) -> (Emulator, std::sync::Arc<std::sync::Mutex<Vec<Option<String>>>>) {
    let whys = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&whys);
    let emulator = emulator.observer(move |event| sink.lock().unwrap().push(event.why.clone()));
    (emulator, whys)
}

#[tokio::test]
async fn log_explains_the_failure_of_a_mistyped_account() {
    let (emulator, whys) = explained(Emulator::new());
    let name = r#"{"TableName":"Blogs"}"#;
    for (base, path, status) in [
        (format!("{HOST}/devstoreacount1"), "Tables", 404),
        (HOST.to_owned(), "Blogs", 404),
        (HOST.to_owned(), "Tables", 201),
    ] {
        let response = send_to(&emulator, &base, "POST", path, &[], name).await;
        assert_eq!(response.status(), status, "{base}/{path}");
    }
    let why = "the path names no account; served as devstoreaccount1";
    assert_eq!(*whys.lock().unwrap(), [Some(why.to_owned()), None, None]);
}

#[tokio::test]
async fn several_accounts_need_one_in_the_path_of_tokens_and_preflights() {
    let (emulator, whys) = explained(Emulator::new().account("contoso", OTHER_KEY).unwrap());
    let emulator = emulator.token("good");
    let sas = "Blogs()?sv=2019-02-02&tn=blogs&sp=r&se=2099-01-01T00:00:00Z&sig=AAAA";
    let token = [("authorization", "Bearer good"), ("x-ms-version", "2020-12-06")];
    let preflight = [("origin", "https://a.com"), ("access-control-request-method", "GET")];
    let properties = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins>\
                      <AllowedMethods>GET</AllowedMethods><AllowedHeaders>*</AllowedHeaders>\
                      <ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>\
                      </StorageServiceProperties>";
    let path = "?restype=service&comp=properties";
    assert_eq!(send(&emulator, "PUT", path, &[], properties).await.status(), 202);
    let named = format!("https://localhost:8902/{DEVELOPMENT_ACCOUNT}");
    for (base, method, path, headers, status) in [
        ("https://localhost:8902", "GET", sas, &[][..], 403),
        ("https://localhost:8902", "GET", "Tables", &token[..], 403),
        ("https://localhost:8902", "OPTIONS", "Tables", &preflight[..], 403),
        (&named, "GET", "Tables", &token[..], 200),
        (&named, "OPTIONS", "Tables", &preflight[..], 200),
    ] {
        let request = unsigned_at(base, method, path, headers, "");
        let response = emulator.send(request).await.unwrap();
        assert_eq!(response.status(), status, "{method} {base}/{path}");
    }
    let whys = whys.lock().unwrap();
    assert_eq!(
        whys.iter().flatten().collect::<Vec<_>>(),
        ["no account signed it", "a token needs the account in the path"]
    );
}

#[tokio::test]
async fn first_segment_that_is_an_account_is_no_table() {
    let emulator = Emulator::new();
    let name = format!(r#"{{"TableName":"{DEVELOPMENT_ACCOUNT}"}}"#);
    assert_eq!(
        send_to(&emulator, HOST, "POST", "Tables", &[], &name).await.status(),
        201
    );
    let with_keys = format!("{DEVELOPMENT_ACCOUNT}(PartitionKey='p',RowKey='r')");
    assert_eq!(
        send_to(&emulator, HOST, "PUT", &with_keys, &[], ROW).await.status(),
        204
    );
    assert_eq!(
        send_to(&emulator, HOST, "POST", DEVELOPMENT_ACCOUNT, &[], ROW)
            .await
            .status(),
        501
    );
}

#[tokio::test]
async fn log_names_the_account_that_is_missing() {
    let (emulator, whys) = explained(Emulator::new());
    for path in ["Tables", "nobody/Tables"] {
        assert_eq!(
            send_as(&emulator, ("nobody", OTHER_KEY), "GET", path, &[], "")
                .await
                .status(),
            403
        );
    }
    // The host names the account, and the credential another one.
    let host = "https://nobody.table.core.windows.net";
    assert_eq!(send_to(&emulator, host, "GET", "Tables", &[], "").await.status(), 403);
    let whys = whys.lock().unwrap();
    let neither = "neither Authorization nor the address names an account";
    assert_eq!(
        whys.iter().flatten().collect::<Vec<_>>(),
        [neither, "no account \"nobody\"", "no account \"nobody\""]
    );
}
