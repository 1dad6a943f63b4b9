//! CORS: the requests of a browser.

use crate::output;

#[test]
fn allowed_page_writes_and_reads_and_another_one_does_neither() {
    let text = output("cors");
    let [allowed, other] = ["https://contoso.com", "https://fabrikam.com"];
    for exchange in [
        format!(
            "OPTIONS from {allowed}: 200\n  access-control-allow-origin: {allowed}\n  \
             access-control-allow-methods: PUT\n  access-control-allow-headers: content-type\n  \
             access-control-max-age: 3600\n\n"
        ),
        format!(
            "PUT from {allowed}: 204\n  access-control-allow-origin: {allowed}\n  \
             access-control-expose-headers: ETag\n\n"
        ),
        format!(
            "GET from {allowed}: 200\n  access-control-allow-origin: {allowed}\n  \
             access-control-expose-headers: ETag\n  the page sees {{\"Score\":42}}\n\n"
        ),
        format!("OPTIONS from {other}: 403\n  the browser does not send the PUT\n\n"),
        format!("GET from {other}: 200\n  the browser hides the response from the page\n\n"),
    ] {
        assert!(text.contains(&exchange), "{exchange}\n{text}");
    }
    assert_eq!(text.matches("PUT from").count(), 1, "{text}");
    assert!(text.ends_with("stored     Score 42\n"), "{text}");
}
