//! Errors as responses, with the texts and in the form of each service.
//!
//! Writes the bodies of errors, with Cosmos DB's own texts where they differ from Storage's (`rules/service_error.rs`).
//!
//! Source: REST "Status and error codes"; recorded error bodies of both services.

use azure_table_wire::codec::odata::time::TimeText;
use azure_table_wire::codec::xml;
use azure_table_wire::value::guid::Guid;

use crate::json_text::{name, text_member};
use crate::response::format::{ErrorForm, Level, Prefer};
use crate::response::observer::Note;
use crate::response::{Content, OperationResponse, Trace};
use crate::rules::service_error::{RaisedBy, ServiceError, WRONG_SIGNATURE};
use crate::rules::{STORAGE, ServiceRules};

/// The software that the service names (recorded in 2024 and 2026).
const SDK: &str = "documentdb-dotnet-sdk/2.14.0 Host/64-bit MicrosoftWindowsNT/10.0.20348.0";

/// The type of an error in XML about tables or entities.
const DATA_XML: &str = "application/xml;charset=utf-8";

impl OperationResponse {
    /// Creates the response of an error, in the form that the request requires.
    pub(crate) fn service_error(service_error: &ServiceError, form: ErrorForm, trace: &Trace) -> Self {
        if trace.rules.has_storage_form {
            with_request_id(service_error, form, trace)
        } else {
            with_activity_id(service_error, &form, trace.id)
        }
    }

    /// Creates the only part of the response to a change set with an empty or broken part: XML, and two headers
    /// (recorded of azure-data-tables, `empty_batch`, 2023, and of a C++ SDK).
    pub(crate) fn unreadable_part(trace: &Trace) -> Self {
        let service_error = ServiceError::UNREADABLE_VALUE;
        let document = xml::error_document("", service_error.code, &with_id_and_time(&service_error, trace));
        Self {
            is_odata: false,
            rejected: Some((service_error.raised_by, service_error.code)),
            note: Note::of(&service_error),
            ..Self::new(
                service_error.status,
                document.into(),
                Content::Other(DATA_XML.to_owned()),
            )
        }
    }
}

fn with_id_and_time(service_error: &ServiceError, trace: &Trace) -> String {
    let time = TimeText::seven_digits(trace.time);
    format!("{}\nRequestId:{}\nTime:{time}", service_error.message, trace.id)
}

/// Creates an error as the storage services write it: XML if the response would be, if the version cannot be read
/// (recorded of azure-data-tables, 2020), and for some requests that accept anything (recorded of the same).
fn with_request_id(service_error: &ServiceError, form: ErrorForm, trace: &Trace) -> OperationResponse {
    let message = with_id_and_time(service_error, trace);
    let is_at_the_door = matches!(service_error.raised_by, RaisedBy::FrontEnd | RaisedBy::Challenge);
    let document = |prefix| xml::error_document(prefix, service_error.code, &message).into();
    let (body, content) = if service_error.raised_by == RaisedBy::Version {
        (unreadable_version(service_error, &message), Content::Xml)
    } else if form.is_xml || is_at_the_door && form.is_front_end_xml {
        (document("m:"), Content::Xml)
    } else if form.is_data_xml && !is_at_the_door {
        (document(""), Content::Other(DATA_XML.to_owned()))
    } else {
        let content = match service_error.raised_by {
            RaisedBy::Parsing | RaisedBy::Store => Content::Json(form.level),
            _ => Content::Other("application/json".to_owned()),
        };
        (error_object(service_error.code, "en-US", &message), content)
    };
    // Only errors with `Cache-Control` have the preference (recorded of seven SDKs).
    let has_preference = !form.is_xml && service_error.raised_by == RaisedBy::Store;
    OperationResponse {
        prefer: form.prefer.filter(|_| has_preference),
        is_odata: !form.is_xml,
        rejected: Some((service_error.raised_by, service_error.code)),
        note: Note::of(service_error),
        ..OperationResponse::new(service_error.status, body, content)
    }
}

/// Returns the document for a version that cannot be read.
fn unreadable_version(service_error: &ServiceError, message: &str) -> Vec<u8> {
    format!(
        "{}<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n<error \
         xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\n  <code>{}</code>\n  <message \
         xml:lang=\"en-US\">{message}</message>\n</error>",
        xml::BYTE_ORDER_MARK,
        service_error.code
    )
    .into()
}

/// Creates an error in JSON, even if XML was requested (recorded).
fn with_activity_id(service_error: &ServiceError, form: &ErrorForm, id: Guid) -> OperationResponse {
    let (code, text) = words(service_error, id);
    let mut body = error_object(code, "en-us", &format!("{text}\nRequestID:{id}\n"));
    body.extend_from_slice(b"\r\n");
    let content = match form.level {
        _ if is_one_of(service_error, &[ServiceError::NO_RANGES]) => Content::Json(Level::Minimal),
        _ if form.is_xml || !repeats_level(service_error, form) => Content::Json(Level::Full),
        _ if form.is_plain => Content::Other("application/json".to_owned()),
        level => Content::Json(level),
    };
    // A challenge names the token authority, for either service.
    let raised_by = match service_error.raised_by {
        RaisedBy::Challenge => RaisedBy::Challenge,
        _ => RaisedBy::Store,
    };
    OperationResponse {
        rejected: Some((raised_by, code)),
        note: Note::of(&ServiceError {
            code,
            ..service_error.clone()
        }),
        ..OperationResponse::new(service_error.status, body, content)
    }
}

/// Returns `true` if an error has the metadata level of the request instead of full metadata.
///
/// This applies to the errors of unconditional requests that depend on rows and tables, unless the request prefers no
/// content, and for a wrong signature. It applies to the errors for a filter, for a table's name that is too long, and
/// for the permissions of a shared access signature. All were recorded (2020 to 2026). It applies to no error in a
/// batch.
fn repeats_level(service_error: &ServiceError, form: &ErrorForm) -> bool {
    let is_of_rows = matches!(service_error.status, 404 | 409) && form.prefer != Some(Prefer::NoContent);
    let is_wrong_signature = service_error.message.starts_with(WRONG_SIGNATURE);
    let known = [
        ServiceError::INVALID_URL,
        ServiceError::TABLE_NAME_TOO_LONG,
        ServiceError::PERMISSION_MISMATCH,
    ];
    (is_of_rows || is_wrong_signature) && !form.is_conditional || is_one_of(service_error, &known)
}

/// Returns `true` if an error is one of the `known` ones. In a batch it is none of them, because its text begins with
/// an index.
fn is_one_of(service_error: &ServiceError, known: &[ServiceError]) -> bool {
    let mut known = known.iter();
    known.any(|known| known.message == service_error.message && known.raised_by == service_error.raised_by)
}

/// Returns the index of the failed operation of a batch, and the text.
fn indexed(service_error: &ServiceError) -> (Option<&str>, &str) {
    match service_error.message.split_once(':') {
        Some((index, rest)) if index.parse::<usize>().is_ok() => (Some(index), rest),
        _ => (None, &service_error.message),
    }
}

/// Returns the code and the text of an error: Cosmos DB's own, if they were seen to differ from Storage's. In a batch
/// the operation's index precedes the text.
fn words(service_error: &ServiceError, id: Guid) -> (&'static str, String) {
    static OTHER: [(ServiceError, &str, &str); 5] = [
        // The brackets are empty (recorded in 2026).
        (
            ServiceError::TABLE_ALREADY_EXISTS,
            "TableAlreadyExists",
            "The specified table: [] already exists.",
        ),
        (
            ServiceError::TABLE_NOT_FOUND,
            "ResourceNotFound",
            "The specified resource does not exist.",
        ),
        (
            ServiceError::PROPERTIES_NEED_VALUE,
            "PropertiesNeedValue",
            "PartitionKey/RowKey cannot be empty",
        ),
        (
            ServiceError::UNREADABLE_VALUE,
            "InvalidInput",
            "One of the input values is invalid.",
        ),
        (
            ServiceError::PERMISSION_MISMATCH,
            "Forbidden",
            "This request is not authorized to perform this operation using this permission.",
        ),
    ];
    let (index, text) = indexed(service_error);
    let other = OTHER
        .iter()
        .find(|(known, ..)| known.code == service_error.code && known.message == text);
    let (code, text) = match other {
        Some((_, code, other)) => (*code, *other),
        None => (service_error.code, text),
    };
    let activity = format!("\r\nActivityId: {id}, {SDK}");
    // In a batch these have an activity id: the errors for its rows together (recorded), and for exceeded capacity
    // (azure-sdk-for-net issue 26960).
    let has_activity = [
        ServiceError::DUPLICATE_ROW,
        ServiceError::OTHER_PARTITION,
        ServiceError::TOO_MANY_REQUESTS,
    ];
    let has_activity = has_activity.iter().any(|known| known.code == code);
    let text = match index {
        Some(index) if has_activity => format!("{index}:{text}{activity}"),
        // In a batch one more line end follows (recorded).
        Some(index) => format!("{index}:{text}\n"),
        // Errors that depend on the state of rows have no activity id (recorded of all three); errors of the request
        // have one.
        None if matches!(service_error.status, 404 | 409 | 412) => text.to_owned(),
        None => format!("{text}{activity}"),
    };
    (code, text)
}

/// Returns the most general error that a service reports with this code.
pub(crate) fn from_code(code: &str, rules: &ServiceRules) -> Option<ServiceError> {
    let is_cosmos = !rules.has_storage_form;
    let reported = |known: &ServiceError| match is_cosmos {
        true => words(known, Guid::default()).0,
        false => known.code,
    };
    let known = ServiceError::all().find(|known| reported(known) == code).cloned();
    known.or_else(|| {
        // Seen of a token for Storage.
        let other = ServiceError::other_audience(STORAGE.token_audience, rules.token_audience);
        (is_cosmos && other.code == code).then_some(other)
    })
}

/// Returns the JSON of an error.
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
