//! The answer to a batch, put together from the answers to its operations.

use std::fmt::Write as _;

use bytes::Bytes;

use crate::testing::answer::Answer;

const OUTER: &str = "batchresponse_test";
const INNER: &str = "changesetresponse_test";

/// The content type, and the body: one set of changes with these parts.
pub(super) fn of(parts: &[Answer]) -> Result<(String, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let mut body = format!("--{OUTER}\r\nContent-Type: multipart/mixed; boundary={INNER}\r\n\r\n");
    for part in parts {
        let part = part.response()?;
        // Writing to a String cannot fail.
        let _ = write!(
            body,
            "--{INNER}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 {}\r\n",
            part.status()
        );
        for (name, value) in part.headers() {
            let _ = write!(body, "{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
        }
        let _ = write!(body, "\r\n{}\r\n", String::from_utf8_lossy(part.body()));
    }
    let _ = write!(body, "--{INNER}--\r\n--{OUTER}--\r\n");
    Ok((format!("multipart/mixed; boundary={OUTER}"), body.into()))
}
