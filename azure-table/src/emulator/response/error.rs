//! Errors: a refusal as an answer, in the words and the form of each service.
//!
//! Owns the bodies of errors, and the texts of Cosmos DB that differ from those of Storage (`rules/refusal.rs`).
//!
//! Source: REST "Status and error codes"; recorded error bodies of both services.

use crate::codec::odata::time::TimeText;
use crate::codec::xml;
use crate::emulator::request::ErrorForm;
use crate::emulator::request::options::Level;
use crate::emulator::response::observer::Note;
use crate::emulator::response::{Answer, Content, Trace};
use crate::emulator::rules::ErrorText;
use crate::emulator::rules::refusal::{RaisedBy, Refusal};
use crate::emulator::store::json_text::{name, text_member};
use crate::model::guid::Guid;

/// What the service says it is made with (recorded in 2024 and 2026).
const SDK: &str = "documentdb-dotnet-sdk/2.14.0 Host/64-bit MicrosoftWindowsNT/10.0.20348.0";

impl Answer {
    /// A refusal, in the form that the request gives to errors.
    pub(crate) fn refusal(refusal: &Refusal, form: ErrorForm, trace: &Trace) -> Self {
        match trace.rules.error_text {
            ErrorText::RequestIdAndTime => with_request_id(refusal, form, trace),
            ErrorText::ActivityId => with_activity_id(refusal, form, trace.id),
        }
    }
}

/// As the storage services write it: XML where the answer would be.
fn with_request_id(refusal: &Refusal, form: ErrorForm, trace: &Trace) -> Answer {
    let time = TimeText::seven_digits(trace.time);
    let message = format!("{}\nRequestId:{}\nTime:{time}", refusal.message, trace.id);
    let (prefer, body, content) = match form {
        ErrorForm::Xml => {
            let document = xml::error_document(refusal.code, &message);
            (None, document.into(), Content::Xml)
        }
        ErrorForm::Json(level, prefer) => {
            let content = match refusal.raised_by {
                RaisedBy::FrontEnd | RaisedBy::Challenge => Content::Other("application/json".to_owned()),
                RaisedBy::Parsing | RaisedBy::Store => Content::Json(level),
            };
            (prefer, error_object(refusal.code, "en-US", &message), content)
        }
    };
    Answer {
        prefer,
        is_odata: matches!(form, ErrorForm::Json(..)),
        refused: Some((refusal.raised_by, refusal.code)),
        note: Note::of(refusal),
        ..Answer::new(refusal.status, body, content)
    }
}

/// JSON, also where XML was asked for (recorded).
fn with_activity_id(refusal: &Refusal, form: ErrorForm, id: Guid) -> Answer {
    let text = words(refusal, id);
    let mut body = error_object(refusal.code, "en-us", &format!("{text}\nRequestID:{id}\n"));
    // In a batch the line end before the next boundary is the only one (both recorded).
    if !is_in_batch(refusal) {
        body.extend_from_slice(b"\r\n");
    }
    // Seen: metadata levels as asked for in errors about tables and addresses, else full.
    let level = match form {
        ErrorForm::Json(level, _) if is_about_tables(refusal) => level,
        ErrorForm::Json(..) | ErrorForm::Xml => Level::Full,
    };
    // Who is sent for a token is told where, whatever service it is.
    let raised_by = match refusal.raised_by {
        RaisedBy::Challenge => RaisedBy::Challenge,
        _ => RaisedBy::Store,
    };
    Answer {
        refused: Some((raised_by, refusal.code)),
        note: Note::of(refusal),
        ..Answer::json(refusal.status, body, level)
    }
}

fn is_about_tables(refusal: &Refusal) -> bool {
    *refusal == Refusal::TABLE_ALREADY_EXISTS || refusal.message == Refusal::INVALID_URL.message
}

/// The index of the operation of a batch that was refused, and the text.
fn indexed(refusal: &Refusal) -> (Option<&str>, &str) {
    match refusal.message.split_once(':') {
        Some((index, rest)) if index.parse::<usize>().is_ok() => (Some(index), rest),
        _ => (None, &refusal.message),
    }
}

fn is_in_batch(refusal: &Refusal) -> bool {
    indexed(refusal).0.is_some()
}

/// The texts that were seen to differ. In a batch the operation's index stands before them.
fn words(refusal: &Refusal, id: Guid) -> String {
    static OTHER: [(Refusal, &str); 3] = [
        (Refusal::TABLE_ALREADY_EXISTS, "The specified table already exists."),
        (Refusal::PROPERTIES_NEED_VALUE, "PartitionKey/RowKey cannot be empty"),
        (Refusal::UNREADABLE_VALUE, "One of the input values is invalid."),
    ];
    let (index, text) = indexed(refusal);
    let other = OTHER
        .iter()
        .find(|(known, _)| known.code == refusal.code && known.message == text);
    let text = match other {
        Some((_, other)) => other,
        None => text,
    };
    match index {
        // In a batch one more line end follows (recorded).
        Some(index) => format!("{index}:{text}\n"),
        // What the rows decide is said without (recorded of all three), what is wrong with the request with it.
        None if matches!(refusal.status, 404 | 409 | 412) => text.to_owned(),
        None => format!("{text}\r\nActivityId: {id}, {SDK}"),
    }
}

/// The JSON of an error.
fn error_object(code: &str, language: &str, message: &str) -> Vec<u8> {
    let mut body = vec![b'{'];
    name(&mut body, "odata.error");
    body.push(b'{');
    text_member(&mut body, "code", code);
    name(&mut body, "message");
    body.push(b'{');
    text_member(&mut body, "lang", language);
    text_member(&mut body, "value", message);
    body.extend_from_slice(b"}}}");
    body
}
