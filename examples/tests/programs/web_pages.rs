//! The web service: its statuses and its pages, by requests to its routes.

#[path = "../../web_pages/html.rs"]
mod html;
#[path = "../../web_pages/service.rs"]
mod service;

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use azure_table::key::Day;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{Descending, Emulator, NoRetry, TableClient, TableServiceClient};
use tower_service::Service as _;

use self::service::{Blog, CHANNEL, router};

/// The service on an emulator with blogs of October.
struct Site {
    router: axum::Router,
    blogs: TableClient<Blog>,
    faults: Faults,
}

/// A response: its status, headers and body.
struct Received(StatusCode, HeaderMap, String);

impl Site {
    async fn new(emulator: Emulator, days: u8) -> Self {
        let faults = Faults::new(emulator);
        let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
        let blogs = service.table::<Blog>("Blogs").unwrap();
        blogs.create_table().await.unwrap();
        for day in 1..=days {
            blogs.insert(&blog(day)).await.unwrap();
        }
        let router = router(blogs.clone());
        Self { router, blogs, faults }
    }

    async fn send(&self, request: Request<Body>) -> Received {
        let response = self.router.clone().call(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Received(head.status, head.headers, String::from_utf8(body.into()).unwrap())
    }

    async fn get(&self, path: &str) -> Received {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Received {
        self.send(form(Request::post(path), fields)).await
    }

    async fn text(&self, day: u8) -> String {
        self.blogs.get((CHANNEL, key(day))).await.unwrap().unwrap().text
    }
}

fn key(day: u8) -> Descending<Day> {
    Descending(Day::new(2026, 10, day).unwrap())
}

fn blog(day: u8) -> Blog {
    let (channel, title, text) = (CHANNEL.into(), format!("title {day}"), format!("text {day}"));
    Blog {
        channel,
        day: key(day),
        title,
        text,
    }
}

fn form(request: axum::http::request::Builder, fields: &[(&str, &str)]) -> Request<Body> {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(body.into()).unwrap()
}

/// Returns each text between two others.
fn between<'t>(text: &'t str, start: &'t str, end: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(start)
        .skip(1)
        .map(move |rest| rest.split_once(end).unwrap().0)
}

/// Returns the version in the form of a page.
fn etag(page: &str) -> String {
    let escaped = between(page, "name=\"etag\" value=\"", "\">").next().unwrap();
    escaped.replace("&quot;", "\"")
}

/// Follows the links from the first page to the last one. Returns the days of each page.
async fn pages(site: &Site) -> Vec<Vec<String>> {
    let (mut path, mut pages) = ("/".to_owned(), Vec::new());
    loop {
        let Received(status, _, page) = site.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        pages.push(between(&page, "<time>", "</time>").map(str::to_owned).collect());
        match between(&page, "rel=\"next\" href=\"", "\"").next() {
            Some(next) => path = next.to_owned(),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn links_lead_to_every_blog_once_the_latest_first() {
    let expected: Vec<String> = (1..=25).rev().map(|day| format!("2026-10-{day:02}")).collect();
    // Full pages, then pages that end early, as on a service that splits its ranges.
    for (emulator, sizes) in [
        (Emulator::new(), vec![10, 10, 5]),
        (Emulator::new().page_size(4), vec![4, 4, 4, 4, 4, 4, 1]),
    ] {
        let site = Site::new(emulator, 25).await;
        let pages = pages(&site).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        assert_eq!(pages.concat(), expected);
    }
    let empty = Site::new(Emulator::new(), 0).await;
    assert!(empty.get("/").await.2.contains("No blogs."));
}

#[tokio::test]
async fn blog_that_is_added_or_deleted_between_two_pages_shifts_no_row() {
    let site = Site::new(Emulator::new(), 25).await;
    let Received(_, _, first) = site.get("/").await;
    let next = between(&first, "rel=\"next\" href=\"", "\"").next().unwrap();
    site.blogs.insert(&blog(30)).await.unwrap();
    site.blogs.delete((CHANNEL, key(25))).await.unwrap();
    let Received(_, _, second) = site.get(next).await;
    let days: Vec<&str> = between(&second, "<time>2026-10-", "</time>").collect();
    assert_eq!(days, ["15", "14", "13", "12", "11", "10", "09", "08", "07", "06"]);
}

#[tokio::test]
async fn second_save_of_one_version_is_a_conflict_that_shows_both_texts() {
    let site = Site::new(Emulator::new(), 1).await;
    let (ada, ben) = (site.get("/2026-10-01").await, site.get("/2026-10-01").await);
    let save = async |text: &str, etag: &str| {
        let fields = [("title", "goals"), ("text", text), ("etag", etag)];
        site.post("/2026-10-01", &fields).await
    };
    let Received(status, headers, _) = save("by ada", &etag(&ada.2)).await;
    assert_eq!(
        (status, &headers[header::LOCATION]),
        (StatusCode::SEE_OTHER, &"/".parse().unwrap())
    );

    let Received(status, _, conflict) = save("by ben", &etag(&ben.2)).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{conflict}");
    assert!(conflict.contains("by ada") && conflict.contains("by ben"), "{conflict}");
    assert_eq!(site.text(1).await, "by ada");

    assert_eq!(save("by ben", &etag(&conflict)).await.0, StatusCode::SEE_OTHER);
    assert_eq!(site.text(1).await, "by ben");
}

#[tokio::test]
async fn program_saves_under_if_match() {
    let site = Site::new(Emulator::new(), 1).await;
    let put = |etag: Option<&str>, text: &str| {
        let mut request = Request::put("/2026-10-01");
        if let Some(etag) = etag {
            request = request.header(header::IF_MATCH, etag);
        }
        site.send(form(request, &[("title", "t"), ("text", text)]))
    };
    let seen = site.get("/2026-10-01").await.1[header::ETAG].clone();
    let seen = seen.to_str().unwrap();
    assert_eq!(put(None, "first").await.0, StatusCode::PRECONDITION_REQUIRED);
    let Received(status, headers, _) = put(Some(seen), "first").await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(put(Some(seen), "second").await.0, StatusCode::PRECONDITION_FAILED);
    // The state that is asked for is there already: the response to the first save may have been lost.
    assert_eq!(put(Some(seen), "first").await.0, StatusCode::NO_CONTENT);
    assert_eq!(put(Some("no etag"), "third").await.0, StatusCode::BAD_REQUEST);
    // Not ASCII. The field of the form must not take its place.
    let request = Request::put("/2026-10-01").header(header::IF_MATCH, "\"ä\"");
    let current = headers[header::ETAG].to_str().unwrap();
    let fields = [("title", "t"), ("text", "third"), ("etag", current)];
    assert_eq!(site.send(form(request, &fields)).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(site.text(1).await, "first");
    assert_eq!(put(Some(current), "second").await.0, StatusCode::NO_CONTENT);
    assert_eq!(site.text(1).await, "second");
}

#[tokio::test]
async fn second_blog_of_a_day_is_a_conflict_and_its_text_stays_in_the_form() {
    let site = Site::new(Emulator::new(), 1).await;
    let publish = |day: &'static str| {
        let fields = [("day", day), ("title", "<b>bold</b>"), ("text", "one & two")];
        let site = &site;
        async move { site.post("/", &fields).await }
    };
    let Received(status, _, page) = publish("2026-10-01").await;
    assert_eq!(status, StatusCode::CONFLICT, "{page}");
    assert!(
        page.contains("one &amp; two") && page.contains("href=\"/2026-10-01\""),
        "{page}"
    );
    assert_eq!(publish("2026-10-02").await.0, StatusCode::SEE_OTHER);
    let Received(_, _, list) = site.get("/").await;
    assert!(
        list.contains("&lt;b&gt;bold&lt;/b&gt;") && !list.contains("<b>"),
        "{list}"
    );
}

#[tokio::test]
async fn mistakes_of_visitors_have_their_statuses() {
    let site = Site::new(Emulator::new(), 12).await;
    let Received(_, _, first) = site.get("/").await;
    let token = between(&first, "?after=", "\"").next().unwrap();
    for (path, status) in [
        ("/2026-10-31", 404),
        ("/2026-10-01/text", 404),
        ("/2026-02-30", 404),
        ("/favicon.ico", 404),
        ("/?after=none", 400),
        (&format!("/?after={}", &token[..token.len() - 4]), 400),
        (&format!("/?after={token}"), 200),
    ] {
        let Received(found, _, page) = site.get(path).await;
        assert_eq!(found.as_u16(), status, "{path}\n{page}");
        assert!(
            status == 200 || page.contains(&format!("HTTP status {status}")),
            "{page}"
        );
    }
    let saved = etag(&site.get("/2026-10-01").await.2);
    site.blogs.delete((CHANNEL, key(1))).await.unwrap();
    let fields = [("title", "t"), ("text", "t"), ("etag", &saved)];
    assert_eq!(site.post("/2026-10-01", &fields).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn rejected_form_is_shown_again_with_its_text() {
    let site = Site::new(Emulator::new(), 1).await;
    let seen = etag(&site.get("/2026-10-01").await.2);
    let long = "x".repeat(32_769);
    for (path, day, text, note) in [
        ("/", "2026-10-31", &*long, "up to 32,768 characters"),
        ("/2026-10-01", "", &*long, "up to 32,768 characters"),
        ("/", "2026-02-30", "half time", "Choose a day"),
        ("/", "", "half time", "Choose a day"),
    ] {
        let fields = [("day", day), ("title", "kick-off"), ("text", text), ("etag", &seen)];
        let Received(status, _, page) = site.post(path, &fields).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {day}");
        assert!(page.contains(note), "{path} {day}");
        // The title and text are those of the form.
        assert!(
            page.contains("value=\"kick-off\"") && page.contains(text),
            "{path} {day}"
        );
        assert!(path == "/" || etag(&page) == seen, "{path}");
        assert!(!page.contains("in table") && !page.contains("Blogs:"), "{path} {day}");
    }
    assert_eq!(site.text(1).await, "text 1");
}

#[tokio::test]
async fn line_break_of_a_form_is_one_unit() {
    let site = Site::new(Emulator::new(), 0).await;
    // As long as the browser lets it be: the form submits 49,152 units.
    let text = "x\r\n".repeat(16_384);
    let fields = [("day", "2026-10-01"), ("title", "t"), ("text", &*text)];
    assert_eq!(site.post("/", &fields).await.0, StatusCode::SEE_OTHER);
    assert!(site.text(1).await == "x\n".repeat(16_384));
}

#[tokio::test]
async fn missing_table_is_a_fault_and_no_deleted_blog() {
    let site = Site::new(Emulator::new(), 1).await;
    let seen = etag(&site.get("/2026-10-01").await.2);
    site.blogs.delete_table().await.unwrap();
    let fields = [("title", "t"), ("text", "t"), ("etag", &*seen)];
    for Received(status, _, page) in [site.get("/").await, site.post("/2026-10-01", &fields).await] {
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{page}");
        assert!(!page.contains("deleted the blog"), "{page}");
    }
}

#[tokio::test]
async fn faults_of_the_store_have_their_statuses() {
    let site = Site::new(Emulator::new(), 2).await;
    let busy = |status: u16, code: &str| {
        // The service names 6.2 s, and a header of whole seconds must not be earlier.
        let response = ResponseTemplate::new(status).code(code);
        Fault::Respond(response.header("x-ms-retry-after-ms", "6200"))
    };
    for (fault, status, retry_after) in [
        (busy(503, "ServerBusy"), 503, Some("7")),
        (busy(429, "TooManyRequests"), 429, Some("7")),
        (
            Fault::Respond(ResponseTemplate::new(500).code("InternalError")),
            502,
            None,
        ),
        (Fault::LoseRequest, 502, None),
        (
            Fault::Respond(ResponseTemplate::new(403).code("AuthorizationFailure")),
            500,
            None,
        ),
    ] {
        site.faults.clear();
        site.faults.add(FaultRule::new(fault));
        let Received(found, headers, page) = site.get("/").await;
        assert_eq!(found.as_u16(), status, "{page}");
        assert_eq!(
            headers.get(header::RETRY_AFTER).map(|value| value.to_str().unwrap()),
            retry_after
        );
        assert_eq!(page.contains("again in 7 s"), retry_after.is_some(), "{page}");
        // Names of tables and requests are for the log.
        assert!(!page.contains("Blogs:") && !page.contains("in table"), "{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn slow_store_is_a_timeout_and_a_lost_save_is_found_or_in_doubt() {
    let site = Site::new(Emulator::new(), 2).await;
    site.faults
        .add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(3_600))).on_reads());
    assert_eq!(site.get("/").await.0, StatusCode::GATEWAY_TIMEOUT);

    site.faults.clear();
    let seen = etag(&site.get("/2026-10-01").await.2);
    site.faults.add(FaultRule::new(Fault::LoseResponse).on_writes());
    let fields = [("title", "t"), ("text", "in doubt"), ("etag", &seen)];
    let Received(status, _, page) = site.post("/2026-10-01", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "it is stored: {page}");
    assert_eq!(site.text(1).await, "in doubt");

    site.faults.clear();
    let seen = etag(&site.get("/2026-10-01").await.2);
    site.faults.add(FaultRule::new(Fault::LoseRequest).on_writes());
    let fields = [("title", "t"), ("text", "on its way"), ("etag", &seen)];
    let Received(status, _, page) = site.post("/2026-10-01", &fields).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY, "{page}");
    assert!(page.contains("may have been saved"), "{page}");
    assert_eq!(site.text(1).await, "in doubt");
}
