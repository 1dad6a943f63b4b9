//! What one call may ask for besides what it does.

use std::time::Duration;

use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, DATE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};

use crate::model::error::{Error, Result};
use crate::pipeline::context::OperationContext;

/// Wishes of one call, put on it by the setters of its builder. Checked when the request is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    /// The longest time for the whole call, all attempts and waits included.
    pub(crate) timeout: Option<Duration>,
    /// The caller's own id of the call.
    pub(crate) client_request_id: Option<String>,
    /// Headers besides those that the operation has.
    pub(crate) headers: Vec<(String, String)>,
    /// Where the story of the call is written.
    pub(crate) context: Option<OperationContext>,
}

/// Headers that are made anew for each attempt.
const OWN: [HeaderName; 6] = [
    AUTHORIZATION,
    CONTENT_LENGTH,
    DATE,
    HOST,
    TRANSFER_ENCODING,
    HeaderName::from_static("x-ms-date"),
];

impl CallOptions {
    /// Adds the caller's headers to those of the operation.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) -> Result<()> {
        for (name, value) in &self.headers {
            let known: HeaderName = name
                .parse()
                .map_err(|_| Error::invalid_input(format!("header {name:?}: this is no name of an HTTP header")))?;
            if OWN.contains(&known) || headers.contains_key(&known) {
                return Err(Error::invalid_input(format!(
                    "header {name}: the client sets it itself"
                )));
            }
            // What is in it may be a secret.
            let value = HeaderValue::from_str(value).map_err(|_| {
                Error::invalid_input(format!("header {name}: its value has characters that none can have"))
            })?;
            headers.append(known, value);
        }
        Ok(())
    }
}

/// Gives a builder the setters of [`CallOptions`], which it has at `$options`.
macro_rules! call_options {
    ($name:ident $([$($parameter:ident $(: $bound:path)?),+])?, $($options:ident).+) => {
        impl$(<$($parameter $(: $bound)?),+>)? $name $(<$($parameter),+>)? {
            /// The longest time for this call, all attempts and the waits between them included; of a query for each
            /// page. By default each attempt has 60 s and there is no limit for all of them.
            pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
                self.$($options).+.timeout = Some(timeout);
                self
            }

            /// The caller's own id of this call, sent as `x-ms-client-request-id`; else one is made. It stands in the
            /// service's logs and in errors. At most 1,024 visible ASCII characters, else the call fails before it is sent.
            pub fn client_request_id(mut self, id: impl ::std::convert::Into<::std::string::String>) -> Self {
                self.$($options).+.client_request_id = Some(id.into());
                self
            }

            /// One more header on each attempt. Those that the client sets itself cannot be named; the call fails then
            /// before it is sent.
            pub fn header(
                mut self,
                name: impl ::std::convert::Into<::std::string::String>,
                value: impl ::std::convert::Into<::std::string::String>,
            ) -> Self {
                self.$($options).+.headers.push((name.into(), value.into()));
                self
            }

            /// Where the story of this call is written, to be read afterwards: its attempts, their ids and what they cost.
            pub fn context(mut self, context: &$crate::pipeline::context::OperationContext) -> Self {
                self.$($options).+.context = Some(context.clone());
                self
            }
        }
    };
}
pub(crate) use call_options;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_own_headers_cannot_be_set() {
        let added = |name: &str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept", HeaderValue::from_static("x"));
            let options = CallOptions {
                headers: vec![(name.into(), value.into())],
                ..CallOptions::default()
            };
            options.add_headers(&mut headers).map(|()| headers)
        };
        assert_eq!(added("X-Tenant", "7").unwrap()["x-tenant"], "7");
        for (name, value, why) in [
            ("Authorization", "x", "header Authorization: the client sets it itself"),
            ("accept", "x", "the client sets it itself"),
            ("a b", "x", "no name of an HTTP header"),
            ("x-a", "SECRET\n", "header x-a: its value"),
        ] {
            let text = added(name, value).unwrap_err().to_string();
            assert!(text.contains(why) && !text.contains("SECRET"), "{text}");
        }
    }
}
