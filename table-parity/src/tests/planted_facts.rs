//! Differences that are planted in a service: a run finds each, in the facts about it alone.

use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::service::output::Exit;

use super::facts::measured;
use super::planted::{Plant, Planted, body, set};
use super::service::{STORAGE, by_key, emulator};

/// A planted difference, and the part of the response in which it is found.
const PLANTS: &[(&str, Plant, &str)] = &[
    (
        "status",
        Plant::Response("GET", "RowKey='", |r| {
            if r.status() == StatusCode::NOT_FOUND {
                *r.status_mut() = StatusCode::GONE;
            }
        }),
        "status",
    ),
    (
        "code",
        Plant::Response("GET", "RowKey='", |r| {
            body(r, |text| text.replace("ResourceNotFound", "EntityNotFound"));
        }),
        "code",
    ),
    (
        "message",
        Plant::Response("GET", "RowKey='", |r| {
            body(r, |text| text.replace("resource does not exist", "entity is missing"));
        }),
        "message",
    ),
];

#[tokio::test(start_paused = true)]
async fn planted_difference_is_found_in_its_part() {
    let (_, before) = measured(by_key(STORAGE), false, emulator()).await;
    for (name, plant, part) in PLANTS {
        let planted = Planted {
            behind: emulator(),
            plants: vec![*plant],
        };
        let (exit, results) = measured(by_key(STORAGE), false, planted).await;
        assert_eq!(exit, Exit::Difference, "{name}");
        let parts = |index: usize| {
            let exchanges: &[_] = &results.facts[index].exchanges;
            exchanges.iter().flat_map(|exchange| &exchange.mismatches)
        };
        let changed: Vec<usize> = (0..before.facts.len())
            .filter(|index| before.facts[*index].parts().is_empty() && !results.facts[*index].parts().is_empty())
            .collect();
        assert!(!changed.is_empty(), "{name} is not found");
        for index in changed {
            let found: Vec<_> = parts(index).map(|mismatch| mismatch.part.as_str()).collect();
            // A fact may expect a whole body, too.
            let is_here = |found: &&str| found == part || *found == "body";
            assert!(found.contains(part) && found.iter().all(is_here), "{name}: {found:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn write_without_an_effect_is_found() {
    let planted = Planted {
        behind: emulator(),
        plants: vec![Plant::Lost("POST", "parity")],
    };
    let (exit, results) = measured(by_key(STORAGE), false, planted).await;
    assert_eq!(exit, Exit::Difference);
    let all = results.all();
    assert!(all.alike < all.of, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn missing_header_is_found_where_a_fact_expects_it() {
    let planted = Planted {
        behind: emulator(),
        plants: vec![Plant::Response("POST", "parity", |r| {
            set(r, "preference-applied", "return-nothing");
        })],
    };
    let (exit, results) = measured(by_key(STORAGE), false, planted).await;
    assert_eq!(exit, Exit::Difference);
    let parts = results
        .facts
        .iter()
        .flat_map(|fact| &fact.exchanges)
        .flat_map(|exchange| &exchange.mismatches);
    let parts: Vec<_> = parts.map(|mismatch| mismatch.part.to_lowercase()).collect();
    assert!(parts.contains(&"header preference-applied".to_owned()), "{parts:?}");
}

/// A service that answers only the check, and then nothing.
#[derive(Debug)]
struct Silent(azure_table::Emulator);

impl Transport for Silent {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if request.uri().path().contains("probes(") {
                std::future::pending::<()>().await;
            }
            self.0.send(request).await
        })
    }
}

// The waits for responses take no time.
#[tokio::test(start_paused = true)]
async fn request_without_a_response_is_a_difference_of_its_fact_alone() {
    let (exit, results) = measured(by_key(STORAGE), false, Silent(emulator())).await;
    assert_eq!(exit, Exit::Difference);
    let failed: Vec<_> = results.facts.iter().filter_map(|fact| fact.failed.as_deref()).collect();
    assert!(
        !failed.is_empty() && failed.len() < results.facts.len(),
        "{}",
        failed.len()
    );
    assert!(
        failed.iter().all(|why| why.contains("no response within 60s")),
        "{failed:?}"
    );
}
