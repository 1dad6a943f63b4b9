//! What Cosmos DB for Table does in another way than Table storage.
//!
//! Owns its limits, its words for refusals and their form. Small differences stand where they apply, by the site's `profile`:
//! names of tables with case (`address.rs`), the form of times (`row.rs`), the order and addresses in JSON (`json.rs`), headers
//! (`answer.rs`), pages of any length (`call.rs`).
//! Not confirmed: the codes for a reserved name, a RowKey that is too long, a batch that is too large and a verb that is not
//! taken; how an entity's size is counted (the formula of Table storage here); the limit on the number of properties (252).
//! Not imitated: the lack of an order, filters on Timestamp that do not work, request units.
//!
//! Source: "Azure Cosmos DB for Table: frequently asked questions"; recorded answers.

use crate::emulator::answer::{Answer, error_object};
use crate::emulator::call::ErrorForm;
use crate::emulator::observer::Note;
use crate::emulator::options::Level;
use crate::emulator::refusal::{RaisedBy, Refusal, Result};
use crate::emulator::row::RowId;
use crate::model::edm::{Token, WireValue};
use crate::model::guid::Guid;

/// The most bytes of an entity.
pub(crate) const MAX_ENTITY_BYTES: usize = 2 << 20;
/// The most bytes of a batch.
const MAX_BATCH_BYTES: usize = 2 << 20;
/// The most bytes of a RowKey.
const MAX_ROW_KEY_BYTES: usize = 255;
/// The header with the milliseconds to wait.
pub(crate) const RETRY_AFTER: &str = "x-ms-retry-after-ms";
/// Names that a property cannot have.
const RESERVED: [&str; 5] = ["ID", "id", "rid", "etag", "ResourceId"];

/// What the service says it is made with (recorded in 2024 and 2026).
const SDK: &str = "documentdb-dotnet-sdk/2.14.0 Host/64-bit MicrosoftWindowsNT/10.0.20348.0";
/// What is said of a query that cannot be read.
const INVALID_URL: &str = "Request url is invalid.";

/// A filter that cannot be read.
pub(crate) fn invalid_filter() -> Refusal {
    Refusal {
        message: INVALID_URL.into(),
        ..Refusal::INVALID_INPUT
    }
}

/// Refuses the verbs that are not taken as they are: a merge is tunnelled through POST (seen of an SDK). Not asked at an emulator's
/// address, by which clients do not know the service.
pub(crate) fn check_verb(method: &str) -> Result<()> {
    match method {
        "MERGE" | "PATCH" => Err(Refusal::METHOD_NOT_ALLOWED),
        _ => Ok(()),
    }
}

/// The answer to all that is about the service itself (recorded of its properties).
pub(crate) fn not_supported() -> Refusal {
    Refusal {
        message: "The requested operation is not supported.".into(),
        ..Refusal::METHOD_NOT_ALLOWED
    }
}

/// There is no room for the request. The service counts request units; here a model counts entities.
///
/// Source: azure-sdk-for-net issue 26960.
pub(crate) fn too_many_requests() -> Refusal {
    Refusal {
        status: 429,
        code: "TooManyRequests",
        message: "Request rate is large. More Request Units may be needed, so no changes were made. Please retry this \
                  request later. Learn more: http://aka.ms/cosmosdb-error-429"
            .into(),
        raised_by: RaisedBy::Store,
        why: None,
    }
}

pub(crate) fn check_batch(body: &[u8]) -> Result<()> {
    if body.len() > MAX_BATCH_BYTES {
        return Err(Refusal::BODY_TOO_LARGE);
    }
    Ok(())
}

pub(crate) fn check_keys(id: &RowId) -> Result<()> {
    if id.partition_key.is_empty() || id.row_key.is_empty() {
        return Err(Refusal::PROPERTIES_NEED_VALUE);
    }
    if id.row_key.len() > MAX_ROW_KEY_BYTES {
        return Err(Refusal::INVALID_INPUT);
    }
    Ok(())
}

/// Refuses a bare integer that no type holds; Table storage makes a double of it (live, azure-sdk-for-python).
pub(crate) fn check_number(value: &WireValue<'_>) -> Result<()> {
    match (&value.token, value.annotation) {
        (Token::Number(digits), None) if !digits.contains(['.', 'e', 'E']) && digits.parse::<i64>().is_err() => {
            Err(Refusal::UNREADABLE_VALUE)
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_name(property: &str) -> Result<()> {
    if RESERVED.contains(&property) {
        return Err(Refusal::PROPERTY_NAME_INVALID);
    }
    Ok(())
}

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
    *refusal == Refusal::TABLE_ALREADY_EXISTS || refusal.message == INVALID_URL
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

/// With a space, and without the words about the stream (recorded).
pub(crate) const fn content_type(level: Level) -> &'static str {
    match level {
        Level::None => "application/json; odata=nometadata",
        Level::Minimal => "application/json; odata=minimalmetadata",
        Level::Full => "application/json; odata=fullmetadata",
    }
}
