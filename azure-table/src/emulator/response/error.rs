//! Refusals in the words and the form of Cosmos DB for Table.
//!
//! Owns the texts that differ from those of Storage. What else differs is a rule (`rules.rs`).
//!
//! Source: recorded answers.

use crate::emulator::operations::call::ErrorForm;
use crate::emulator::request::options::Level;
use crate::emulator::response::answer::{Answer, error_object};
use crate::emulator::response::observer::Note;
use crate::emulator::rules::refusal::{RaisedBy, Refusal};
use crate::model::guid::Guid;

/// What the service says it is made with (recorded in 2024 and 2026).
const SDK: &str = "documentdb-dotnet-sdk/2.14.0 Host/64-bit MicrosoftWindowsNT/10.0.20348.0";

/// A refusal in its words and its form: JSON, also where XML was asked for (recorded).
pub(crate) fn refusal(refusal: &Refusal, form: ErrorForm, id: Guid) -> Answer {
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
