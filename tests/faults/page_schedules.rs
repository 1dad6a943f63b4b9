//! A service with any schedule of pages and failures: every row arrives once, in order.
//!
//! Sources for the kinds of pages: REST "Query timeout and pagination"; continuation headers of Storage and Cosmos DB.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use azure_table::transport::{Delivery, TransportError};
use azure_table::{Continuation, ExponentialRetry, TableClient, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned};
use azure_table_tests::intercept::{Exchanged, Intercept};
use azure_table_tests::promises::on_paused_clock;
use bytes::Bytes;
use http::{Request, Response};
use proptest::prelude::*;

/// The form of a continuation.
#[derive(Clone, Copy, Debug)]
enum Token {
    Both,
    PartitionOnly,
    /// The other half is present and empty.
    EmptyRow,
    RowOnly,
}

/// A failure before a page.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// 503.
    Busy,
    /// A broken connection, after the request came this far.
    Broken(Delivery),
}

#[derive(Clone, Debug)]
struct PlannedPage {
    rows: usize,
    token: Token,
    faults: Vec<Fault>,
}

/// The pages in order, and the continuations of the requests.
#[derive(Clone, Debug)]
struct Schedule {
    pages: Arc<Vec<PlannedPage>>,
    faults: Arc<Mutex<Vec<VecDeque<Fault>>>>,
    /// The last page has empty headers.
    ends_with_empty_headers: bool,
}

impl Schedule {
    fn new(pages: Vec<PlannedPage>, ends_with_empty_headers: bool) -> Self {
        let faults = pages.iter().map(|page| page.faults.iter().copied().collect()).collect();
        Self {
            pages: Arc::new(pages),
            faults: Arc::new(Mutex::new(faults)),
            ends_with_empty_headers,
        }
    }

    fn rows(&self) -> Vec<String> {
        (0..self.pages.iter().map(|page| page.rows).sum())
            .map(|n| format!("{n:05}"))
            .collect()
    }

    fn page(&self, index: usize) -> Response<Bytes> {
        let before: usize = self.pages[..index].iter().map(|page| page.rows).sum();
        let page = &self.pages[index];
        let row = |n| format!(r#"{{"PartitionKey":"p","RowKey":"{n:05}"}}"#);
        let rows: Vec<_> = (before..before + page.rows).map(row).collect();
        let mut response = Response::builder();
        let position = format!("at {}", index + 1);
        let (partition, row) = match page.token {
            _ if index + 1 == self.pages.len() && self.ends_with_empty_headers => (Some(""), Some("")),
            _ if index + 1 == self.pages.len() => (None, None),
            Token::Both => (Some(&*position), Some("r")),
            Token::PartitionOnly => (Some(&*position), None),
            Token::EmptyRow => (Some(&*position), Some("")),
            Token::RowOnly => (None, Some(&*position)),
        };
        for (name, value) in [("Partition", partition), ("Row", row)] {
            if let Some(value) = value {
                response = response.header(format!("x-ms-continuation-Next{name}Key"), value);
            }
        }
        let body = format!(r#"{{"value":[{}]}}"#, rows.join(","));
        response.body(body.into()).unwrap()
    }

    /// Returns the page that is requested. A continuation that no page returned is an error.
    fn requested(&self, request: &Request<Bytes>) -> usize {
        let query = request.uri().query().unwrap_or_default();
        assert!(
            !query.contains("NextRowKey=&") && !query.ends_with("NextRowKey="),
            "an empty position is refused: {query}"
        );
        let index = query
            .split("at%20")
            .nth(1)
            .map_or(0, |rest| rest.split('&').next().unwrap().parse().unwrap());
        if index > 0 {
            let has = |name: &str| query.contains(name);
            let expected = match self.pages[index - 1].token {
                Token::Both => (true, true),
                Token::PartitionOnly | Token::EmptyRow => (true, false),
                Token::RowOnly => (false, true),
            };
            assert_eq!((has("NextPartitionKey="), has("NextRowKey=")), expected, "{query}");
        }
        index
    }

    fn respond(&self, request: &Request<Bytes>) -> Exchanged {
        let index = self.requested(request);
        let fault = self.faults.lock().unwrap()[index].pop_front();
        match fault {
            None => Ok(self.page(index)),
            Some(Fault::Busy) => Ok(Response::builder().status(503).body(Bytes::new()).unwrap()),
            Some(Fault::Broken(delivery)) => Err(TransportError::new(delivery, "scheduled")),
        }
    }
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let token = proptest::sample::select(vec![Token::Both, Token::PartitionOnly, Token::EmptyRow, Token::RowOnly]);
    let broken = [Delivery::NothingSent, Delivery::MaybeSent, Delivery::ResponseCut].map(Fault::Broken);
    let fault = prop_oneof![1 => Just(Fault::Busy), 3 => proptest::sample::select(broken.to_vec())];
    // Many pages are empty. Three retries are the default.
    let rows = prop_oneof![Just(0), 0..5_usize, Just(1)];
    let page = (rows, token, proptest::collection::vec(fault, 0..=3)).prop_map(|(rows, token, faults)| PlannedPage {
        rows,
        token,
        faults,
    });
    (proptest::collection::vec(page, 1..12), any::<bool>()).prop_map(|(pages, empty)| Schedule::new(pages, empty))
}

fn table(schedule: &Schedule) -> TableClient {
    let schedule = schedule.clone();
    let transport = Intercept::new(Canned::default(), move |_, request| {
        let response = schedule.respond(&request);
        async { response }
    });
    let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
    // Without a budget: a schedule may have more failures than a healthy service.
    let service = service.transport(transport).retry(ExponentialRetry::default());
    service.dynamic_table("Things").unwrap()
}

proptest! {
    #[test]
    fn every_row_arrives_once_and_in_order(
        schedule in schedule(), prefetch in 0..2_usize, limit in proptest::option::of(0..40_usize), seed in any::<u64>(),
    ) {
        on_paused_clock(seed, async {
            let mut query = table(&schedule).query().prefetch(prefetch);
            let mut expected = schedule.rows();
            if let Some(limit) = limit {
                query = query.limit(limit);
                expected.truncate(limit);
            }
            let mut rows = query.stream();
            let mut read = Vec::new();
            while let Some(row) = rows.try_next().await.unwrap() {
                read.push(row.row_key);
            }
            prop_assert_eq!(read, expected);
            prop_assert!(rows.try_next().await.unwrap().is_none(), "the end stays the end");
            Ok(())
        })?;
    }

    /// Each page may be the last one that this process reads: another process resumes from its continuation.
    #[test]
    fn a_continuation_of_any_page_leads_to_the_rest(
        schedule in schedule(), prefetch in 0..2_usize, seed in any::<u64>(),
    ) {
        on_paused_clock(seed, async {
            let table = table(&schedule);
            let mut read = Vec::new();
            let mut from = serde_json::to_string(&Continuation::default()).unwrap();
            let next = |from: &str| {
                let from = serde_json::from_str::<Continuation>(from).unwrap();
                let mut pages = table.query().prefetch(prefetch).resume_from(from).pages();
                async move { pages.try_next().await.unwrap() }
            };
            while let Some(page) = next(&from).await {
                from = serde_json::to_string(page.continuation()).unwrap();
                read.extend(page.into_items().into_iter().map(|row| row.row_key));
            }
            prop_assert_eq!(read, schedule.rows());
            Ok(())
        })?;
    }
}
