//! Secrets, account and host, replaced in everything that leaves the program.

use bytes::Bytes;
use http::Request;
use http::header::AUTHORIZATION;

use crate::service::sas;

/// The replacement of a secret.
const HIDDEN: &str = "(hidden)";
/// The replacement of the account's name.
pub(crate) const NAME: &str = "account";

/// The texts to replace, the longest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask {
    texts: Vec<(String, String)>,
    name: String,
}

impl Mask {
    /// Replaces the base URL and the host of an account, and its name where it is a word.
    pub(crate) fn of(base: &str, host: &str, shown_base: &str, name: &str) -> Self {
        let shown_host = shown_base.trim_start_matches("https://").to_owned();
        let mut mask = Self {
            texts: Vec::new(),
            name: name.to_ascii_lowercase(),
        };
        mask.add(base, shown_base);
        // As it is inside of other JSON.
        mask.add(&base.replace('/', "\\/"), shown_base);
        mask.add(host, &shown_host);
        mask
    }

    /// Returns the mask with the signature of a request, which a rejection may repeat.
    pub(crate) fn of_request(&self, request: &Request<Bytes>) -> Self {
        let mut mask = self.clone();
        let authorization = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if let Some((_, signature)) = authorization.and_then(|text| text.rsplit_once([':', ' '])) {
            mask.secret(signature);
        }
        mask.signature(request.uri().query().unwrap_or_default());
        mask
    }

    /// Replaces the signature of a shared access signature, as it is in a URL and decoded.
    pub(crate) fn signature(&mut self, token: &str) {
        let signature = sas::signature(token);
        self.secret(signature);
        self.secret(&decoded(signature));
    }

    /// Replaces a secret, also percent-encoded and escaped in JSON.
    pub(crate) fn secret(&mut self, secret: &str) {
        for text in [
            secret.to_owned(),
            encoded(secret),
            escaped(secret, |byte| format!("%{byte:02x}")),
        ] {
            self.add(&text, HIDDEN);
        }
        self.add(&secret.replace('+', "\\u002B"), HIDDEN);
        self.add(&secret.replace('/', "\\/"), HIDDEN);
    }

    fn add(&mut self, text: &str, shown: &str) {
        // A shorter one is no secret, such as the signatures that some probes invent.
        if text.len() > 4 && !self.texts.iter().any(|(known, _)| known == text) {
            self.texts.push((text.to_owned(), shown.to_owned()));
            self.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
    }

    /// Returns the text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        // First: the rest of a signature that is partly replaced could not be told from it.
        let mut shown = without_signatures(text);
        for (hidden, replacement) in &self.texts {
            if shown.contains(hidden.as_str()) {
                shown = shown.replace(hidden.as_str(), replacement);
            }
        }
        without_caller(&self.without_name(&shown))
    }

    /// Replaces the account's name where it is not part of another word.
    fn without_name(&self, text: &str) -> String {
        if self.name.is_empty() {
            return text.to_owned();
        }
        let lower = text.to_ascii_lowercase();
        let mut shown = String::with_capacity(text.len());
        let mut from = 0;
        for (at, _) in lower.match_indices(&self.name) {
            let end = at + self.name.len();
            let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            if is_part(lower[..at].chars().next_back()) || is_part(lower[end..].chars().next()) {
                continue;
            }
            shown.push_str(&text[from..at]);
            shown.push_str(NAME);
            from = end;
        }
        shown.push_str(&text[from..]);
        shown
    }
}

/// Returns `true` for the properties of a service: they belong to the account, and no output contains them.
pub(crate) fn shows_properties(body: &str) -> bool {
    body.contains("<StorageServiceProperties")
}

/// Replaces the signature of any shared access signature: the probes sign some of their own.
fn without_signatures(text: &str) -> String {
    let mut parts = text.split("sig=");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || "%+/=-_.".contains(c)));
        shown.push_str("sig=Sanitized");
        shown.push_str(&part[end.unwrap_or(part.len())..]);
    }
    shown
}

/// Replaces the address of this machine, which the rejection of another address names.
fn without_caller(text: &str) -> String {
    const BEFORE: &str = "source IP ";
    let mut parts = text.split(BEFORE);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit() || ".:%[]".contains(c));
        // The address and the end of the sentence.
        shown.push_str(BEFORE);
        shown.push_str(if rest.len() < part.len() { "192.0.2.1." } else { "" });
        shown.push_str(rest);
    }
    shown
}

/// Encodes everything but letters and digits, byte by byte.
pub(crate) fn encoded(text: &str) -> String {
    escaped(text, |byte| format!("%{byte:02X}"))
}

/// Encodes the same bytes by `escape`: services and proxies write the digits in either case.
fn escaped(text: &str, escape: impl Fn(u8) -> String) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&escape(byte)),
        }
    }
    encoded
}

/// Decodes each `%` and its two digits into a byte.
pub(crate) fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (*first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (byte, _) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
