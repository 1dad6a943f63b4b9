//! Exchanges in the form of the project's recordings: a JSON list of requests and responses per file.
//!
//! `tests/it/emulator/replay` reads them. It signs the requests again, and knows the account by the first part of the
//! host name.

use std::path::Path;

use azure_table::testing::mask_guids;
use bytes::Bytes;
use http::header::{DATE, WWW_AUTHENTICATE};
use http::{HeaderMap, Request, Response};
use serde_json::{Map, Value, json};

use crate::service::mask::{Mask, shows_properties};

/// Headers that a recording omits: the signature, and headers of the connection.
const OMITTED: [&str; 5] = ["authorization", "connection", "host", "user-agent", "set-cookie"];

#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    request: Request<Bytes>,
    response: Response<Bytes>,
}

impl Exchange {
    pub(crate) fn of(request: &Request<Bytes>, response: &Response<Bytes>) -> Self {
        let mut kept = Response::new(response.body().clone());
        *kept.status_mut() = response.status();
        *kept.headers_mut() = response.headers().clone();
        Self {
            request: request.clone(),
            response: kept,
        }
    }

    fn json(&self, mask: &Mask) -> Option<Value> {
        let mask = &mask.of_request(&self.request);
        self.response.headers().get(DATE)?;
        let text = |body: &Bytes| std::str::from_utf8(body).map(|text| mask.hide(text)).ok();
        let response = text(self.response.body()).filter(|text| !shows_properties(text))?;
        Some(json!({
            "request": {
                "method": self.request.method().as_str(),
                "url": mask.hide(&self.request.uri().to_string()),
                "headers": headers(self.request.headers(), mask),
                "body": text(self.request.body())?,
            },
            "response": {
                "status": self.response.status().as_u16(),
                "headers": headers(self.response.headers(), mask),
                "body": response,
            },
        }))
    }
}

fn headers(headers: &HeaderMap, mask: &Mask) -> Value {
    let kept = headers.iter().filter(|(name, _)| !OMITTED.contains(&name.as_str()));
    let texts = kept.map(|(name, value)| {
        let text = mask.hide(&String::from_utf8_lossy(value.as_bytes()));
        let text = match *name == WWW_AUTHENTICATE {
            // The challenge of a live account names the tenant.
            true => mask_guids(&text),
            false => text,
        };
        (name.as_str().to_owned(), Value::from(text))
    });
    Value::Object(texts.collect::<Map<_, _>>())
}

/// Writes a session, and returns the number of its exchanges. Omits those with a body that is not text, those without a
/// date, at which a replay could not set its clock, and those that read the properties of the service.
pub(crate) fn write(folder: &Path, name: &str, session: &[Exchange], mask: &Mask) -> std::io::Result<usize> {
    let exchanges: Vec<Value> = session.iter().filter_map(|exchange| exchange.json(mask)).collect();
    if !exchanges.is_empty() {
        std::fs::create_dir_all(folder)?;
        let text = serde_json::to_string_pretty(&exchanges)?;
        std::fs::write(folder.join(format!("verify_{name}.json")), text)?;
    }
    Ok(exchanges.len())
}
