//! A folder of `--record`, read as `tests/it/emulator/replay` reads the recordings of live accounts.

#[path = "../../../tests/it/emulator/replay/compare.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod compare;
#[path = "../../../tests/it/emulator/replay/repeated_session.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod repeated_session;
#[path = "../../../tests/it/emulator/replay/session.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod session;

use std::collections::BTreeSet;

use azure_table::service::{CorsRule, ServiceProperties};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{Emulator, TableServiceClient};
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use compare::Seen;
use http::header::WWW_AUTHENTICATE;
use http::{Method, Request, Response};
use repeated_session::Replay;

use super::service::{
    COSMOS, FOREIGN, Folder, STORAGE, add_foreign_table, by_key, emulator, emulator_of_cosmos, recordings, verify,
};
use crate::comparison::options::Options;
use crate::service::account::Given;
use crate::service::output::Exit;

/// Exchanges that a replay cannot repeat, by a part of the name of their session or of their URL, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "errors_a_wrong_key_is_unauthenticated",
        "a recording has no signature, and the replay has the key",
    ),
    ("sas_expired_or_foreign_sas_is_rejected", "the same"),
    (
        "RowKey='r')?sv=2019-02-02&tn=verify",
        "the same, of a header beside the signature of the URL",
    ),
    ("&sip=", "a replay has no address of the caller"),
    (
        "probes()?$filter=A%20eq%200%20or",
        "a page of rows that other probes inserted",
    ),
    ("probes/verify", "the same"),
    ("timeout=31", "a replay signs every request"),
];

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn recorded_exchanges_can_be_added_to_the_recordings() {
    let folder = Folder::new();
    let mut options = Options::new(by_key(STORAGE));
    options.record = Some(folder.path().to_owned());
    let emulator = emulator();
    add_foreign_table(&emulator);
    let ran = verify(options, Intercept::at_once(emulator)).await;
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);
    for text in [&ran.output, &ran.log, &recordings(&folder, "storage")] {
        assert!(!text.contains(FOREIGN), "a table of the account's owner is named");
    }

    let sessions = session::sessions(&folder.path().join("storage"));
    let (mut equal, mut different, mut used) = (0, Vec::new(), BTreeSet::new());
    for (name, session) in &sessions {
        let mut replay = Replay::new(session);
        replay.begin(name, session).await;
        for exchange in session {
            let own = replay.ask(exchange, &exchange.request).await;
            let [own, live] = [&own, &exchange.response].map(|response| Seen::of(response, false));
            let url = &exchange.request.url;
            let left_out = LEFT_OUT.iter().map(|(text, _)| *text);
            let left_out: Vec<_> = left_out
                .filter(|text| name.contains(text) || url.contains(text))
                .collect();
            match (own == live, left_out.is_empty()) {
                (true, _) => equal += 1,
                (false, false) => used.extend(left_out),
                (false, true) => different.push(format!("{name} {url:.200}\n own {own:.600?}\nlive {live:.600?}")),
            }
        }
    }
    let number = different.len();
    assert!(different.is_empty(), "{number} differ:\n{}", different.join("\n"));
    assert!(equal > 1_700, "{equal}");
    assert_eq!(used.len(), LEFT_OUT.len(), "only these differ: {used:?}");
}

/// An origin in the properties of the account.
const ORIGIN: &str = "https://intranet.example";
/// The tenant of the account.
const TENANT: &str = "6c3f52f4-0f0e-4c5a-9a57-2f7f0f1f3c11";

/// Applies no change of the properties, or names the tenant in its challenges.
#[derive(Clone, Debug)]
struct Live {
    behind: Emulator,
    keeps_properties: bool,
}

impl Transport for Live {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let is_change = request.method() == Method::PUT
                && request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("comp=properties"));
            if self.keeps_properties && is_change {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = http::StatusCode::ACCEPTED;
                return Ok(response);
            }
            let mut response = self.behind.send(request).await?;
            if let Some(challenge) = response.headers_mut().get_mut(WWW_AUTHENTICATE) {
                let text = challenge.to_str().unwrap();
                let named = text.replace("00000000-0000-0000-0000-000000000000", TENANT);
                assert_ne!(named, text);
                *challenge = named.try_into().unwrap();
            }
            Ok(response)
        })
    }
}

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn properties_of_the_account_are_neither_recorded_nor_reported() {
    for (only, keeps_properties) in [("propert", false), ("propert", true), ("`accept: */*`", false)] {
        let (emulator, folder) = (emulator(), Folder::new());
        let Given::ConnectionString(account) = by_key(STORAGE) else {
            panic!("no connection string")
        };
        let service = TableServiceClient::from_connection_string(&account)
            .unwrap()
            .transport(emulator.clone());
        let own = ServiceProperties::default().cors([CorsRule::new([ORIGIN], ["GET"])]);
        service.set_properties(own).await.unwrap();
        let mut options = Options::new(by_key(STORAGE));
        options.common.only = only.to_owned();
        options.change_properties = true;
        options.record = Some(folder.path().to_owned());
        let ran = verify(
            options,
            Live {
                behind: emulator,
                keeps_properties,
            },
        )
        .await;
        let is_failed = ran.output.contains("failed   service::properties_are_set_and_read");
        assert_eq!(is_failed, keeps_properties, "{}", ran.output);
        let recordings = recordings(&folder, "storage");
        for text in [&ran.output, &ran.log, &recordings] {
            for shown in [ORIGIN, "Logging", "CorsRule {"] {
                assert!(!text.contains(shown), "{only}: {shown} is in {text}");
            }
        }
        // The exchanges of the probes are kept.
        assert!(recordings.contains("\"request\""), "{only}: {recordings}");
    }
}

#[tokio::test]
async fn tenant_in_a_challenge_is_neither_recorded_nor_reported() {
    let folder = Folder::new();
    let mut options = Options::new(by_key(COSMOS));
    options.common.only = "without authorization".to_owned();
    options.record = Some(folder.path().to_owned());
    let behind = emulator_of_cosmos();
    let ran = verify(
        options,
        Live {
            behind,
            keeps_properties: false,
        },
    )
    .await;
    let recordings = recordings(&folder, "cosmos");
    assert!(
        recordings.contains("www-authenticate") && recordings.contains("{guid}"),
        "{recordings}"
    );
    for text in [&ran.output, &ran.log, &recordings] {
        assert!(!text.contains(TENANT), "{text}");
    }
}
