//! Spans on the terminal, and metrics.

use crate::output;

#[test]
fn retry_and_failure_are_seen_in_spans_and_metrics() {
    let text = output("telemetry");
    for part in [
        "http.request.resend_count=1",
        "azure.table.attempts=2",
        "error.type=\"ServerBusy\"",
        "retrying after",
        "insert attempt 1 503 ServerBusy",
        "db.operation.batch.size=100",
        "251 rows",
        "the account's bill: 10 requests",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (_, metrics) = text.split_once("\nmetric ").unwrap();
    let rows: Vec<Vec<&str>> = metrics.lines().map(|row| row.split_whitespace().collect()).collect();
    for expected in [
        &["db.client.operation.duration", "insert", "EntityAlreadyExists", "1"][..],
        &["db.client.operation.duration", "BATCH", "insert", "3"],
        &[
            "db.client.response.returned_rows",
            "query",
            "1",
            "mean",
            "251.0000",
            "{row}",
        ],
        &["azure.table.client.retries", "insert", "1"],
    ] {
        assert!(rows.iter().any(|row| row.starts_with(expected)), "{expected:?}\n{text}");
    }
}
