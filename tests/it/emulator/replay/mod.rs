//! Recorded live sessions, sent to the emulator: it answers as the live service did.
//!
//! Every exchange is sent with its own signature, at the recorded time, and compared on five levels (`compare.rs`),
//! which the test prints. [`LEFT_OUT`] lists exchanges that cannot be repeated, with the reason. `repeated_session.rs`
//! creates the state that a session assumes. Requests that a recorder masked are reconstructed from their responses
//! (`masked.rs`), and counted separately.

mod compare;
mod masked;
mod repeated_session;
mod session;

use azure_table_tests::fixtures;
use compare::{LEVELS, Seen};
use repeated_session::Replay;

/// Exchanges that cannot be repeated: session, first and last index, reason.
const LEFT_OUT: &[(&str, usize, usize, &str)] = &[
    (
        "node2017_service_003",
        1,
        1,
        "a table of analytics, which the service itself made before the recording and nobody else can make",
    ),
    (
        "go_TestQueryTable_cosmos",
        6,
        7,
        "pages of tables in the order of resource ids that only that account had",
    ),
];
/// Headers that a recorder replaced or omitted: session, header, reason.
const HEADERS_ASIDE: &[(&str, &str, &str)] = &[
    (
        "cpp_TransactionCreateFail",
        "x-ms-client-request-id",
        "replaced in the request and taken out of the answer",
    ),
    (
        "cpp_TransactionCreateFail",
        "location",
        "replaced by https://example.com",
    ),
    (
        "py_test_aad_access_policy_error",
        "server",
        "not in this recording of 2026, nor is x-ms-request-id, which no answer lacks: a recorder may have taken both out",
    ),
];
/// A table of another client that was deleted during a session: session, index of the exchange before the deletion,
/// table. The token that names it is answered before, and the page that begins there does not contain it.
const WENT: &[(&str, usize, &str)] = &[("py2017_table_list_tables_with_marker", 5, "table358619d2")];
/// The number of exchanges of a kind, and of those that are equal on each level.
#[derive(Default)]
struct Tally {
    exchanges: usize,
    left_out: usize,
    levels: [(usize, usize); 5],
}

impl Tally {
    fn line(&self, what: &str) -> String {
        let level = |(equal, all): &(usize, usize)| format!("{:>10}", format!("{equal}/{all}"));
        let levels: String = self.levels.iter().map(level).collect();
        format!("{what:<30}{:>10}{levels}{:>10}", self.exchanges, self.left_out)
    }
}

#[tokio::test]
#[cfg_attr(
    not(recordings),
    ignore = "needs recordings: set AZURE_TABLE_FIXTURES, see tests/README.md"
)]
async fn every_recorded_exchange_is_answered_as_it_was_live() {
    let levels = LEVELS.map(|level| format!("{level:>10}")).concat();
    let mut lines = vec![format!(
        "{:<30}{:>10}{levels}{:>10}",
        "recordings", "exchanges", "left out"
    )];
    let mut differences = Vec::new();
    let mut compared = 0;
    for kind in ["storage", "cosmos"] {
        let sessions = session::sessions(&fixtures::recordings(kind));
        let (mut kept, mut again) = (Tally::default(), Tally::default());
        for (name, session) in &sessions {
            let mut replay = Replay::new(session);
            replay.begin(name, session).await;
            for (index, exchange) in session.iter().enumerate() {
                let tally = if exchange.is_masked { &mut again } else { &mut kept };
                tally.exchanges += 1;
                let requested = match exchange.is_masked {
                    true => masked::made_again(session, index),
                    false => Some(exchange.request.clone()),
                };
                let requested = requested.unwrap_or_else(|| panic!("{name} {index} cannot be made again"));
                // Only these two lists are complete, for an account that other clients also used.
                if name.starts_with("py2017_table_l") && requested.method == "GET" {
                    replay.make_listed(exchange).await;
                }
                for (_, _, table) in WENT.iter().filter(|(of, before, _)| *of == name && *before == index) {
                    let path = format!("Tables('{table}')");
                    replay.set(&requested, "DELETE", &path, "").await;
                }
                // It is sent in any case, because later exchanges may continue from it.
                let own = replay.ask(exchange, &requested).await;
                let mut left_out = LEFT_OUT.iter();
                if left_out.any(|(of, from, to, _)| of == name && (*from..=*to).contains(&index)) {
                    tally.left_out += 1;
                    continue;
                }
                let is_cosmos = requested.is_cosmos();
                let mut responses = [&own, &exchange.response].map(|response| Seen::of(response, is_cosmos));
                for response in &mut responses {
                    for (_, header, _) in HEADERS_ASIDE.iter().filter(|(of, ..)| of == name) {
                        response.headers.remove(*header);
                    }
                    if exchange.response.is_rewritten {
                        response.body.truncate(response.body.trim_end().len());
                    }
                }
                let [own, live] = responses;
                for (level, equal) in own.levels(&live).into_iter().enumerate() {
                    if let Some(equal) = equal {
                        tally.levels[level].0 += usize::from(equal);
                        tally.levels[level].1 += 1;
                    }
                }
                if own != live {
                    let request = format!("{} {}", requested.method, requested.url);
                    differences.push(format!("{name} {index} {request}\n own {own:?}\nlive {live:?}"));
                }
            }
        }
        compared += kept.levels[0].1 + again.levels[0].1;
        lines.push(kept.line(kind));
        if again.exchanges > 0 {
            lines.push(again.line(&format!("{kind}, masked, made again")));
        }
    }
    azure_table_tests::report::print(&lines.join("\n"));
    // No recorded exchange is missing.
    assert!(compared >= 684, "{compared}");
    let count = differences.len();
    assert_eq!(count, 0, "{}", differences.join("\n"));
}
