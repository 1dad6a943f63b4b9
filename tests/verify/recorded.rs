//! A folder of `--record`, read as `tests/it/emulator/replay` reads the recordings of live accounts.

#[path = "../it/emulator/replay/compare.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod compare;
#[path = "../it/emulator/replay/repeated_session.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod repeated_session;
#[path = "../it/emulator/replay/session.rs"]
#[expect(dead_code, reason = "for the recordings of other clients")]
mod session;

use std::collections::BTreeSet;

use compare::Seen;
use repeated_session::Replay;

use crate::options::Options;
use crate::run::Exit;
use crate::service::{Folder, STORAGE, by_key, emulator, verify};

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
];

// Without the waits for a live account.
#[tokio::test(start_paused = true)]
async fn recorded_exchanges_can_be_added_to_the_recordings() {
    let folder = Folder::new();
    let mut options = Options::new(by_key(STORAGE));
    options.record = Some(folder.path().to_owned());
    let ran = verify(options, emulator()).await;
    assert_eq!(ran.exit, Exit::NoDifference, "{}", ran.output);

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
