//! Operations on tables.
//!
//! Not confirmed: the answer to a reserved name (InvalidInput); which characters of a bad name are looked at first. While a
//! table is being deleted it is not found; live, other operations may see a conflict or even work for a while.
//!
//! Source: REST "Query Tables", "Create Table", "Delete Table".

use std::borrow::Cow;

use crate::codec::url;
use crate::emulator::answer::Answer;
use crate::emulator::body;
use crate::emulator::call::Call;
use crate::emulator::json::{name, text_member};
use crate::emulator::options::{Level, Prefer};
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::row::etag;
use crate::emulator::store::{Store, Table, Tables};
use crate::emulator::token;
use crate::filter::evaluate::matches;
use crate::model::edm::Edm;
use crate::model::name::TableName;
use crate::protocol::profile::Profile;

/// `GET /Tables`.
pub(crate) fn list(store: &Store, call: &Call<'_>) -> Result<Answer> {
    let level = call.level()?;
    let filter = call.filter()?;
    let profile = call.site().profile;
    let earlier = call.options.next_table_name.as_deref();
    let start = earlier.map(|earlier| token::table_name(earlier, profile)).transpose()?;
    let start = start.unwrap_or_default();
    let limit = call.caller.page_size(call.options.top);
    let none = Tables::new();
    let tables = store.account(call.site()).map_or(&none, |account| &account.tables);

    let mut found: Vec<&Table> = Vec::new();
    let mut next = Vec::new();
    for (position, table) in tables.range(start..) {
        let property = |name: &str| (name == "TableName").then(|| Edm::String(Cow::Borrowed(&*table.name)));
        if filter.as_ref().is_some_and(|filter| !matches(filter, &property)) {
            continue;
        }
        if found.len() == limit {
            next = match profile {
                Profile::Storage => token::of_table(position, table.created),
                Profile::Cosmos => token::of_table_in_cosmos(position, earlier, limit),
            };
            break;
        }
        found.push(table);
    }

    // There a full page is never the last: an empty one follows (recorded).
    if let (Some(last), true, Profile::Cosmos) = (found.last(), next.is_empty() && found.len() == limit, profile) {
        next = token::of_table_in_cosmos(&format!("{}\0", last.name), earlier, limit);
    }

    let mut out = vec![b'{'];
    // Cosmos DB writes it last, here and below (recorded).
    let is_first = call.site().profile == Profile::Storage;
    if is_first {
        metadata_url(&mut out, call, level, "");
    }
    name(&mut out, "value");
    out.push(b'[');
    for (n, table) in found.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.push(b'{');
        members(&mut out, call, level, &table.name);
        out.push(b'}');
    }
    out.push(b']');
    if !is_first {
        metadata_url(&mut out, call, level, "");
    }
    out.push(b'}');
    Ok(Answer {
        more: next,
        ..Answer::json(200, out, level)
    })
}

/// `GET /Tables('name')`.
pub(crate) fn get(store: &Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let level = call.level()?;
    let table = store.table(call.site(), table).ok_or(Refusal::RESOURCE_NOT_FOUND)?;
    Ok(Answer::json(200, element(call, level, &table.name), level))
}

/// `POST /Tables`.
pub(crate) fn create(store: &mut Store, call: &Call<'_>) -> Result<Answer> {
    let table = body::table_name(call.json()?)?;
    check_name(&table)?;
    let answer = if call.prefer == Some(Prefer::NoContent) {
        Answer::no_content()
    } else {
        let level = call.level()?;
        Answer::json(201, element(call, level, &table), level)
    };
    store.create_table(call.site(), &table, call.caller.now)?;
    let location = format!("{}/{}", call.site().base, address(&table));
    // Recorded of Cosmos DB alone.
    let has_etag = call.site().profile == Profile::Cosmos;
    Ok(Answer {
        etag: has_etag.then(|| etag(call.caller.now, Profile::Cosmos)),
        location: Some(location),
        prefer: call.prefer,
        ..answer
    })
}

/// `DELETE /Tables('name')`.
pub(crate) fn delete(store: &mut Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let caller = call.caller;
    store.delete_table(caller.site, table, caller.now, caller.settings.deletion_time)?;
    Ok(Answer::no_content())
}

fn check_name(table: &str) -> Result<()> {
    if !(3..=63).contains(&table.chars().count()) {
        return Err(Refusal::TABLE_NAME_LENGTH);
    }
    if table.eq_ignore_ascii_case("tables") {
        return Err(Refusal::INVALID_INPUT);
    }
    // Names with a dollar sign are the service's own.
    if table.starts_with('$') || TableName::new(table).is_err() {
        return Err(Refusal::INVALID_TABLE_NAME);
    }
    Ok(())
}

fn address(table: &str) -> String {
    format!("Tables('{}')", url::encode(table))
}

fn element(call: &Call<'_>, level: Level, table: &str) -> Vec<u8> {
    let mut out = vec![b'{'];
    if call.site().profile == Profile::Storage {
        metadata_url(&mut out, call, level, "/@Element");
        members(&mut out, call, level, table);
    } else {
        members(&mut out, call, level, table);
        metadata_url(&mut out, call, level, "/@Element");
    }
    out.push(b'}');
    out
}

fn metadata_url(out: &mut Vec<u8>, call: &Call<'_>, level: Level, element: &str) {
    if level > Level::None {
        text_member(
            out,
            "odata.metadata",
            &format!("{}/$metadata#Tables{element}", call.site().base),
        );
    }
}

fn members(out: &mut Vec<u8>, call: &Call<'_>, level: Level, table: &str) {
    if level == Level::Full {
        text_member(out, "odata.type", &format!("{}.Tables", call.site().account));
        text_member(out, "odata.id", &format!("{}/{}", call.site().base, address(table)));
        text_member(out, "odata.editLink", &address(table));
    }
    text_member(out, "TableName", table);
}
