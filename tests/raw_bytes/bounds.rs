//! Texts that are too large or too deep on purpose: each is parsed or rejected in time linear in its length.
//!
//! A recursive parser would overflow its stack, and one that backtracks would not end.

use std::time::Duration;

use azure_table::{DynamicEntity, Emulator, Filter, SasToken, TableServiceClient};
use azure_table_tests::canned::Canned;
use azure_table_tests::polls::timed;
use azure_table_tests::untrusted::{is_presentable, on_runtime, responded, response, things};

/// A bound of CPU time, so that a busy machine does not matter: far more than any of them needs without optimization, and
/// far less than quadratic time.
const SOON: Duration = Duration::from_secs(10);

#[track_caller]
fn soon<T>(what: &str, run: impl FnOnce() -> azure_table::Result<T>) {
    let (result, time) = timed(run);
    assert!(time < SOON, "{what:.60}: {time:?}");
    let presentable = result.map_or_else(|error| is_presentable(&error), |_| Ok(()));
    assert_eq!(presentable, Ok(()), "{what:.60}");
}

fn nested(open: &str, close: &str) -> String {
    format!("{}{}", open.repeat(100_000), close.repeat(100_000))
}

/// This many members, each with its own name.
fn members(count: usize, member: impl Fn(usize) -> String) -> String {
    (0..count).map(member).collect::<Vec<_>>().join(",")
}

#[test]
fn json_of_any_shape_ends_soon() {
    let types = members(100_000, |n| format!(r#""P{n}@odata.type":"Edm.Int64""#));
    let values = members(100_000, |n| format!(r#""P{n}":"5""#));
    let digits = "9".repeat(1_000_000);
    for row in [
        nested("[", "]"),
        "[".repeat(100_000),
        nested("{\"a\":", "}"),
        format!("{{\"odata.x\":{}}}", nested("[", "]")),
        format!("{{\"odata.x\":{}}}", "{\"a\":".repeat(100_000)),
        // The types of many properties, all before and all after them, and in the other order.
        format!("{{{types},{values}}}"),
        format!("{{{values},{types}}}"),
        format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",{types}}}"),
        format!("{{\"A\":{digits}}}"),
        format!("{{\"A\":{digits}.{digits}e-{digits}}}"),
        format!("{{\"A@odata.type\":\"{digits}\"}}"),
        format!("{{\"A@odata.type\":\"Edm.Guid\",\"A\":\"{digits}\"}}"),
        format!("{{\"{digits}\":{{}}}}"),
        format!("{{\"{digits}@odata.type\":\"Edm.Guid\",\"{digits}\":\"x\"}}"),
        format!("{{\"PartitionKey\":\"{digits}\",\"RowKey\":\"{digits}\",\"A\":[]}}"),
        format!("{{\"Timestamp\":\"{digits}\",\"PartitionKey\":\"p\",\"RowKey\":\"r\"}}"),
        format!("{{\"A\":\"{}", "\\ud83d\\ude00".repeat(100_000)),
    ] {
        soon(&row, || {
            let service = responded([response(200, &[], row.as_bytes())]);
            on_runtime(async { things(&service).get(("p", "r")).await })
        });
        soon(&row, || {
            let page = format!("{{\"odata.nextLink\":null,\"value\":[{row},{row}]}}");
            let service = responded([response(200, &[], page.as_bytes())]);
            on_runtime(async { things(&service).query().all().await })
        });
        soon(&row, || {
            let service = responded([response(200, &[], row.as_bytes())]);
            on_runtime(async { service.list_tables().await })
        });
    }
}

#[test]
fn errors_of_any_shape_end_soon() {
    let long = "x\r\n".repeat(300_000);
    for body in [
        nested("[", "]"),
        format!("{{\"odata.error\":{}}}", nested("{\"a\":", "}")),
        format!("{{\"odata.error\":{{\"code\":\"{}\"}}}}", "x".repeat(1_000_000)),
        format!(
            "{{\"odata.error\":{{\"code\":\"X\",\"message\":{{\"value\":\"{}\"}}}}}}",
            "sig=a ".repeat(200_000)
        ),
        nested("<a>", "</a>"),
        "<a/>".repeat(300_000),
        "<".repeat(1_000_000),
        "&".repeat(1_000_000),
        format!("<Error><Code>{}</Code></Error>", "&amp;".repeat(200_000)),
        format!("<Error><Code {}>X</Code></Error>", "a='b' ".repeat(200_000)),
        "<!--".repeat(300_000),
        "<![CDATA[".repeat(100_000),
        "<?".repeat(300_000),
        "sig=".repeat(300_000),
        long,
    ] {
        soon(&body, || {
            let service = responded([response(400, &[], body.as_bytes())]);
            on_runtime(async { things(&service).query().all().await })
        });
        soon(&body, || {
            let service = responded([response(200, &[], body.as_bytes())]);
            on_runtime(async { service.properties().await })
        });
        soon(&body, || {
            let service = responded([response(200, &[], body.as_bytes())]);
            on_runtime(async { things(&service).access_policies().await })
        });
    }
}

#[test]
fn batches_of_any_shape_end_soon() {
    let part = "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n";
    let part_of_response = "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n";
    for body in [
        "\n".repeat(3_000_000),
        "--b\n".repeat(500_000),
        "--b\r\n\r\n".repeat(500_000),
        part.repeat(50_000),
        format!("{}--b--", part.repeat(50_000)),
        format!("{}--b--", part_of_response.repeat(50_000)),
        format!("--b\r\n{}\r\n\r\n--b--", "a:b\r\n".repeat(500_000)),
        format!("--b\r\n\r\n{}--b--", "\r\n".repeat(500_000)),
        format!("--b\r\n\r\nHTTP/1.1 {}\r\n\r\n--b--", "9".repeat(1_000_000)),
    ] {
        soon(&body, || {
            let service = responded([response(
                202,
                &[("content-type", "multipart/mixed; boundary=b")],
                body.as_bytes(),
            )]);
            let mut batch = things(&service).batch();
            batch.insert(&DynamicEntity::new("p", "1")).unwrap();
            on_runtime(async { batch.submit().await })
        });
    }
}

#[test]
fn filters_of_any_shape_end_soon() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Things")
        .unwrap();
    on_runtime(async {
        table.create_table().await.unwrap();
        table.insert(&DynamicEntity::new("p", "1")).await.unwrap();
    });
    // A URL has at most 65,534 characters, and all but letters and digits take three.
    for filter in [
        "(".repeat(20_000),
        "not".repeat(20_000),
        "not ".repeat(10_000),
        "not(".repeat(10_000),
        "'".repeat(20_000),
        "''".repeat(10_000),
        vec!["A eq 1"; 5_000].join(" or "),
        vec!["A eq 1"; 5_000].join(" and "),
        format!("A eq {}", "9".repeat(60_000)),
        format!("A eq X'{}'", "f".repeat(60_000)),
        "x".repeat(100_000),
    ] {
        soon(&filter, || {
            on_runtime(async { table.query().filter(Filter::raw(filter.as_str())).all().await })
        });
    }
}

#[test]
fn credentials_of_any_length_end_soon() {
    for text in [
        (0..200_000).map(|n| format!("a{n}=b;")).collect::<String>(),
        ";".repeat(1_000_000),
        "=".repeat(1_000_000),
        format!("AccountName={};AccountKey=AAAA", "a".repeat(1_000_000)),
        format!("AccountName=a;AccountKey={}", "A".repeat(1_000_000)),
        format!(
            "AccountName=a;AccountKey=AAAA;TableEndpoint=https://{}",
            "a.".repeat(300_000)
        ),
        format!(
            "TableEndpoint=https://a;SharedAccessSignature={}",
            "sig=a&".repeat(200_000)
        ),
    ] {
        soon(&text, || {
            TableServiceClient::from_connection_string(&text).map(|service| service.transport(Canned::default()))
        });
    }
    for text in [
        "sig=a&".repeat(200_000),
        format!("sig={}", "+".repeat(60_000)),
        "?".repeat(1_000_000),
        "%".repeat(65_000),
    ] {
        soon(&text, || SasToken::new(&text).map(|token| token.expiry()));
    }
}

#[test]
fn a_position_of_any_length_ends_soon() {
    let long = "x".repeat(200_000);
    soon("position", || {
        let page = response(
            200,
            &[("x-ms-continuation-nextpartitionkey", &long)],
            br#"{"value":[]}"#,
        );
        let service = responded([page]);
        on_runtime(async { things(&service).query().all().await })
    });
}
