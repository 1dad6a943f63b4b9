//! A row as a line of a snapshot.
//!
//! Writes and parses the line. Values are parsed and checked like an insert of the same JSON (`request/body.rs`), but
//! none is dropped; this file locates a fault in the line.

use azure_table_wire::codec::json::write::Object;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::Token;
use azure_table_wire::value::name::property_name_fault;
use bytes::Bytes;

use crate::request::body;
use crate::request::member::{self, Member, MemberFault, OtherAnnotations};
use crate::rules::service_error::ServiceError;
use crate::rules::{MAX_PROPERTIES, ServiceRules};
use crate::settings::LATEST;
use crate::snapshot::line::Fault;
use crate::store::members::Properties;
use crate::store::row::{Row, RowId, check_limits, is_key};

const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];
/// The maximum number of members of a line, far above any entity, as in a request's body.
const MAX_MEMBERS: usize = 4 * MAX_PROPERTIES;

/// Writes a row as a line with the keys first. If the keys have another position among the properties, the Timestamp is
/// first, so that no property is mistaken for the beginning of a table's line.
pub(crate) fn write(id: &RowId, row: &Row) -> Bytes {
    let places = KEYS.map(|key| row.properties().position(|(name, _)| name == key));
    let has_keys_within = !matches!(places, [None, None] | [Some(0), Some(1)]);
    let mut object = Object::new();
    if !has_keys_within {
        object.text("PartitionKey", &id.partition_key);
        object.text("RowKey", &id.row_key);
    }
    object.text("Timestamp", &row.timestamp.to_string());
    for (name, value) in row.properties() {
        if has_keys_within || !is_key(&name) {
            object.property(&name, &value);
        }
    }
    object.finish()
}

/// Returns the keys, the properties and the Timestamp of a line.
pub(crate) fn parse<'a>(
    line: &'a str,
    rules: &ServiceRules,
) -> std::result::Result<(RowId, Properties<'a>, Option<DateTime>), Fault> {
    let timestamp = look(line)?;
    let rejected =
        |service_error: ServiceError| Fault::of_line(format!("{}: {}", service_error.code, service_error.message));
    let (id, properties) = body::stored(line.as_bytes(), rules).map_err(rejected)?;
    check_limits(&id, &properties, rules)
        .map_err(rejected)
        .map_err(|fault| fault.of_entity(&id.partition_key, &id.row_key))?;
    Ok((id, properties, timestamp))
}

/// Checks a line. Returns its Timestamp, or its fault.
fn look(line: &str) -> std::result::Result<Option<DateTime>, Fault> {
    let members = members(line)?;
    for key in KEYS {
        if !members.iter().any(|member| member.name == key) {
            return Err(Fault::of_line(format!("{key} is missing")));
        }
    }
    let mut timestamp = None;
    for member in members {
        let (Member { name, at, .. }, mut value) = (&member, member.value());
        let wrong = |why: &dyn std::fmt::Display| Fault::at(*at, format!("property {}: {why}", Shown(name)));
        match &**name {
            "Timestamp" => {
                value.annotation = None;
                let time = value.as_datetime().map_err(|e| wrong(&e))?;
                if time > LATEST {
                    return Err(wrong(&format_args!(
                        "{time} is later than {LATEST}, the emulator's latest time"
                    )));
                }
                timestamp = Some(time);
            }
            "PartitionKey" | "RowKey" => drop(value.as_str().map_err(|e| wrong(&e))?.len()),
            // As in an insert, null means absence.
            _ if value.token == Token::Null => {}
            _ => {
                if let Some(fault) = property_name_fault(name) {
                    return Err(wrong(&fault));
                }
                value.to_edm().map_err(|e| wrong(&e))?;
            }
        }
    }
    Ok(timestamp)
}

fn members(line: &str) -> std::result::Result<Vec<Member<'_>>, Fault> {
    let most = MAX_MEMBERS;
    member::members(line.as_bytes(), most, OtherAnnotations::Kept, |fault| match fault {
        MemberFault::Json(error) => {
            let (at, what) = error.into_parts();
            Fault::at(at, what.into_owned())
        }
        MemberFault::Type(at, property) => {
            Fault::at(at, format!("property {}: its type is not an EDM type", Shown(property)))
        }
        MemberFault::Duplicate(at, name) => Fault::at(at, format!("property {}: it occurs twice", Shown(name))),
        MemberFault::TooMany(at) => Fault::at(
            at,
            format!("more than {most} properties; an entity has at most {MAX_PROPERTIES}"),
        ),
    })
}
