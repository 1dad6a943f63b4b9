//! The emulator in place of an account: no difference is reported, nothing is left, and nothing secret is shown.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

use super::service::{
    ACCOUNT, COSMOS, Folder, KEY, OTHER_PANICS, Ran, STORAGE, TOKEN, account_sas, by_key, by_sas, emulator,
    emulator_of_cosmos, run, verify,
};
use crate::command_line::{CommandLine, Rejected, Way};
use crate::comparison::options::Options;
use crate::comparison::report::Verdict;
use crate::service::account::Given;
use crate::service::mask::{decoded, encoded};
use crate::service::output::Exit;
use crate::service::sas;
use crate::service::stop::Stop;

/// Returns the number after a word of the output.
fn number(output: &str, word: &str) -> u64 {
    let (_, rest) = output.split_once(word).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Checks a run on an emulator without differences.
fn assert_alike(ran: &Ran, emulator: &Emulator) {
    let report = ran.report.as_ref().unwrap();
    assert!(report.lines().is_empty(), "{:#?}\n{}", report.lines(), ran.output);
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);
    assert_eq!((ran.file.as_str(), emulator.tables()), ("", Vec::new()));
    let (sent, estimate) = (number(&ran.output, "requests "), number(&ran.output, "estimate "));
    assert!(sent > 0 && sent <= estimate, "{sent} {estimate}");
    assert!(!ran.output.contains(ACCOUNT), "{}", ran.output);
}

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn emulator_of_storage_has_no_difference_by_key_and_nothing_secret_is_shown() {
    let (emulator, folder) = (emulator(), Folder::new());
    let mut options = Options::new(by_key(STORAGE));
    options.change_properties = true;
    options.record = Some(folder.path().to_owned());
    let ran = verify(options, emulator.clone()).await;
    assert_alike(&ran, &emulator);
    assert!(
        !ran.output.contains("203.0.113.1"),
        "the caller's address: {}",
        ran.output
    );
    let progress: Vec<_> = ran.log.lines().collect();
    assert_eq!(progress.len(), 10, "{}", ran.log);
    assert!(progress[9].starts_with("table-parity: 100 %, "), "{}", ran.log);
    let report = ran.report.unwrap();
    assert!(report.passed.len() > 40, "{}", report.passed.len());
    let not_run: Vec<_> = report.not_run.iter().map(|(name, _)| *name).collect();
    // Its address belongs to a live account.
    let not_live = [
        "service::policy_grants_and_revokes_permissions",
        "service::statistics_are_those_of_the_secondary",
    ];
    assert_eq!(not_run, not_live);
    let confirmed = report
        .verdicts
        .values()
        .filter(|verdict| **verdict == Verdict::Confirmed);
    assert!(confirmed.count() > 50, "{}", ran.output);

    let mut exchanges = 0;
    for file in std::fs::read_dir(folder.path().join("storage")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let session: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        exchanges += session.len();
        let secrets = [KEY, &encoded(KEY), "SharedKey ", "contoso", "203.0.113.1"];
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {text:.2000}");
        }
        let others = text.split("sig=").skip(1).filter(|rest| !rest.starts_with("Sanitized"));
        assert_eq!(others.count(), 0, "{text:.2000}");
    }
    assert!(exchanges > 1_000, "{exchanges}");
}

#[tokio::test]
async fn emulator_of_cosmos_has_no_difference() {
    let emulator = emulator_of_cosmos();
    let ran = verify(Options::new(by_key(COSMOS)), emulator.clone()).await;
    assert_alike(&ran, &emulator);
    let report = ran.report.unwrap();
    assert!(report.passed.len() > 20, "{:?}", report.not_run);
    let lines = report
        .verdicts
        .iter()
        .filter(|(line, _)| line.0.starts_with("on Cosmos DB"));
    let confirmed = lines.filter(|(_, verdict)| **verdict == Verdict::Confirmed);
    assert!(confirmed.count() > 12, "{}", ran.output);
}

#[tokio::test]
async fn emulator_has_no_difference_by_signature() {
    let emulator = emulator();
    let sas = account_sas("t", "sco", "rwdlacu");
    let ran = verify(Options::new(by_sas(&sas)), emulator.clone()).await;
    assert_alike(&ran, &emulator);
    assert!(!ran.output.contains(sas::signature(&sas)));
    let by_key = (
        "errors::a_wrong_key_is_unauthenticated",
        "needs the account key".to_owned(),
    );
    assert!(ran.report.unwrap().not_run.contains(&by_key), "{}", ran.output);
}

#[tokio::test]
async fn emulator_has_no_difference_by_token() {
    let emulator = emulator();
    let given = Given::Token {
        endpoint: STORAGE.to_owned(),
        token: TOKEN.to_owned(),
    };
    let ran = verify(Options::new(given), emulator.clone()).await;
    assert_alike(&ran, &emulator);
    assert!(!ran.output.contains(TOKEN));
}

#[tokio::test]
async fn token_is_not_sent_unencrypted() {
    let given = Given::Token {
        endpoint: "http://127.0.0.1:10002/contoso".to_owned(),
        token: TOKEN.to_owned(),
    };
    let Err(error) = crate::service::account::Account::new(&given, false) else {
        panic!("it was accepted")
    };
    assert!(error.contains("HTTPS") && !error.contains(TOKEN), "{error}");
}

/// Counts the requests.
#[derive(Clone, Debug)]
struct Counted {
    behind: Emulator,
    requests: Arc<Mutex<u64>>,
}

impl Transport for Counted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        *self.requests.lock().unwrap() += 1;
        self.behind.send(request)
    }
}

#[tokio::test]
async fn run_stops_at_the_maximum_and_cleans_up() {
    let emulator = emulator();
    let counted = Counted {
        behind: emulator.clone(),
        requests: Arc::default(),
    };
    let mut options = Options::new(by_key(STORAGE));
    options.common.max_requests = Some(70);
    let ran = verify(options, counted.clone()).await;
    assert_eq!(ran.exit, Exit::NotFinished);
    assert!(ran.output.contains("would exceed the maximum of 70"), "{}", ran.output);
    assert_eq!((ran.file.as_str(), emulator.tables()), ("", Vec::new()));
    let sent = *counted.requests.lock().unwrap();
    // The cleanup deletes a table per request.
    assert!((70..100).contains(&sent), "{sent}");
}

#[tokio::test]
async fn table_of_the_user_is_not_touched() {
    let emulator = emulator_of_cosmos();
    emulator
        .seed_lines(ACCOUNT, "Q", r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
    emulator
        .seed_lines(ACCOUNT, "verify0", r#"{"PartitionKey":"p","RowKey":"r"}"#)
        .unwrap();
    let before = emulator.tables();
    let mut options = Options::new(by_key(COSMOS));
    options.common.only = "a table's name of one character".to_owned();
    let ran = verify(options, emulator.clone()).await;
    assert!(ran.output.contains("the account has a table \"Q\""), "{}", ran.output);
    assert_eq!(emulator.tables(), before);
}

#[tokio::test]
async fn unusable_account_is_reported_without_its_secrets() {
    for text in [
        "AccountName=contoso;AccountKey=no base64!",
        "AccountKey=a2V5",
        "contoso",
    ] {
        let options = Options::new(Given::ConnectionString(text.to_owned()));
        let (ran, ..) = run(&options, emulator(), &Stop::default()).await;
        assert_eq!(Exit::of(&ran), Exit::Usage);
        let Err(why) = ran else { panic!("{text} was accepted") };
        assert!(!why.contains("no base64!") && !why.contains("a2V5"), "{why}");
    }
}

#[tokio::test]
async fn stopped_run_creates_nothing_more_and_names_its_file() {
    let (emulator, folder, stop) = (emulator(), Folder::new(), Stop::default());
    let mut options = Options::new(by_key(STORAGE));
    options.common.yes = true;
    options.common.only = "tables::".to_owned();
    options.common.tables = Some(folder.path().join("tables"));
    let stopping = Stopping {
        behind: emulator.clone(),
        stop: stop.clone(),
    };
    let (ran, ..) = run(&options, stopping, &stop).await;
    assert_eq!(Exit::of(&ran), Exit::NotFinished);
    assert_eq!(stop.file(), options.common.tables.as_deref());
    assert!(!stop.file().unwrap().exists());
    assert_eq!(emulator.tables(), []);
}

/// Stops the run at its first table.
#[derive(Clone, Debug)]
struct Stopping {
    behind: Emulator,
    stop: Stop,
}

impl Transport for Stopping {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        if request.method() == http::Method::POST {
            self.stop.stop();
        }
        self.behind.send(request)
    }
}

#[test]
fn panic_outside_of_the_suite_is_shown() {
    super::service::hide_panics();
    let before = OTHER_PANICS.load(Ordering::SeqCst);
    assert!(std::panic::catch_unwind(|| panic!("expected: outside of the suite")).is_err());
    assert!(OTHER_PANICS.load(Ordering::SeqCst) > before);
}

#[test]
fn arguments_and_environment_are_parsed() {
    let parse = |arguments: &[&str], variables: &[(&str, &str)]| {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let words = ["table-parity", "account"].iter().chain(arguments);
        match CommandLine::of(words.map(Into::into)) {
            Ok(CommandLine {
                way: Some(Way::Account(arguments)),
                ..
            }) => Options::of(*arguments, variable),
            Ok(_) => panic!("another way"),
            Err(Rejected::Help(text) | Rejected::Mistake(text)) => Err(text),
        }
    };
    let account = [("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")];
    let options = parse(&["--yes", "--max-requests", "5", "--only", "Queries"], &account).unwrap();
    assert_eq!(
        (
            options.common.yes,
            options.common.max_requests,
            options.common.only.as_str()
        ),
        (true, Some(5), "Queries")
    );
    assert!(options.common.names("queries::take"));
    let Given::ConnectionString(text) = options.account else {
        panic!("no connection string")
    };
    assert_eq!(text, "UseDevelopmentStorage=true");
    let token = parse(&["--endpoint", STORAGE], &[("AZURE_TABLE_TOKEN", TOKEN)]).unwrap();
    let Given::Token { endpoint, token } = token.account else {
        panic!("no token")
    };
    assert_eq!((endpoint.as_str(), token.as_str()), (STORAGE, TOKEN));
    let Err(help) = parse(&["--help"], &[]) else {
        panic!("no help")
    };
    assert!(help.contains("--cleanup"), "{help}");
    for (arguments, why) in [
        (&["--max-requests", "0"][..], "--max-requests"),
        (&["--max-requests"], "a value is required"),
        (&["--unknown"], "--unknown"),
        (&["AccountKey=a2V5"], "every argument is an option"),
        (&["--endpoint", STORAGE], "AZURE_TABLE_TOKEN"),
    ] {
        let Err(error) = parse(arguments, &account) else {
            panic!("{arguments:?} was accepted")
        };
        assert!(error.contains(why) && !error.contains("a2V5"), "{error}");
    }
    assert!(parse(&[], &[]).is_err());
}

/// Repeats the authorization and the address of a request in each rejection.
#[derive(Clone, Debug)]
struct Echoing {
    behind: Emulator,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Transport for Echoing {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let header = request.headers().get("authorization");
        let authorization = header.map_or("", |value| value.to_str().unwrap()).to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let echo = format!(
            "{authorization} {} {} /{ACCOUNT}/Tables {KEY}",
            request.uri(),
            sas::signature(&query)
        );
        self.seen.lock().unwrap().extend([
            authorization.rsplit(':').next().unwrap_or_default().to_owned(),
            sas::signature(&query).to_owned(),
        ]);
        Box::pin(async move {
            let mut response = self.behind.send(request).await?;
            if response.status().is_client_error() {
                let message = serde_json::json!({"lang": "en-US", "value": echo});
                let error = serde_json::json!({"odata.error": {"code": "Echo", "message": message}});
                *response.body_mut() = error.to_string().into();
            }
            Ok(response)
        })
    }
}

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn rejection_that_repeats_secrets_is_shown_and_recorded_without_them() {
    let folder = Folder::new();
    let echoing = Echoing {
        behind: emulator(),
        seen: Arc::default(),
    };
    let mut texts = Vec::new();
    for (only, echo) in [
        ("signature", "Echo: "),
        ("newest known", "Echo: SharedKey account:(hidden)"),
    ] {
        let mut options = Options::new(by_key(STORAGE));
        options.common.only = only.to_owned();
        options.record = Some(folder.path().to_owned());
        let ran = verify(options, echoing.clone()).await;
        assert!(ran.output.contains(echo), "{}", ran.output);
        texts.push(ran.output);
    }
    for file in std::fs::read_dir(folder.path().join("storage")).unwrap() {
        texts.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let mut secrets = echoing.seen.lock().unwrap().clone();
    secrets.retain(|secret| secret.len() > 4);
    secrets.extend([KEY.to_owned(), ACCOUNT.to_owned()]);
    assert!(secrets.len() > 10, "{secrets:?}");
    for (text, secret) in texts
        .iter()
        .flat_map(|text| secrets.iter().map(move |secret| (text, secret)))
    {
        assert!(!text.contains(secret.as_str()), "{secret}: {text}");
        assert!(!text.contains(&decoded(secret)), "{secret}: {text}");
    }
}
