//! Rows that are stored before the first request.
//!
//! Defines [`seed`] and [`seed_lines`]. They bypass HTTP and signatures, and nothing else: the rows are the same as
//! after an upsert by a client.

use std::borrow::Cow;
use std::collections::BTreeSet;

use azure_table_wire::account::endpoint::DEVELOPMENT_ACCOUNT;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;

use crate::request::body;
use crate::rules::ServiceRules;
use crate::settings::Settings;
use crate::snapshot::entity;
use crate::snapshot::line::Fault;
use crate::store::account::Replica;
use crate::store::row::RowId;
use crate::store::{Action, Change, SharedStore};

/// An entity to be stored: its keys and its properties.
pub type SeededRow = (String, String, Vec<(Cow<'static, str>, EdmValue)>);

/// Inserts or replaces entities in a table. Creates the table if it is missing.
pub(crate) fn seed(
    shared: &SharedStore,
    settings: &Settings,
    table: &str,
    rows: impl IntoIterator<Item = Result<SeededRow>>,
) -> Result<()> {
    let replica = Replica::primary(DEVELOPMENT_ACCOUNT, settings.rules());
    check_name(table, replica.rules)?;
    let now = settings.clock.now();
    let mut store = shared.write();
    if store.table(replica, table).is_none() {
        let created = store.create_table(replica, table, now);
        created.map_err(|service_error| invalid(table, &service_error.message))?;
    }
    drop(store);
    for row in rows {
        let (partition_key, row_key, properties) = row?;
        let id = RowId::new(partition_key, row_key);
        // The writer of the entity leaves the limits on sizes to the service.
        body::check(&id, &properties, replica.rules).map_err(|service_error| {
            let entity = format!("entity ({}, {})", Shown(&id.partition_key), Shown(&id.row_key));
            invalid(
                table,
                &format!("{entity}: {}: {}", service_error.code, service_error.message),
            )
        })?;
        let change = Change {
            id,
            action: Action::Replace(properties, None),
        };
        // The lock is released in between, so that an iterator may use the emulator itself.
        shared
            .write()
            .apply(replica, table, vec![change], now)
            .map_err(|(_, service_error)| invalid(table, &service_error.message))?;
    }
    shared.block_until_stored()
}

/// Inserts or replaces the entities of JSON lines in a table, all or none. Creates the table if it is missing. See
/// [`Emulator::seed_lines`](crate::Emulator::seed_lines).
pub(crate) fn seed_lines(
    shared: &SharedStore,
    replica: Replica<'_>,
    table: &str,
    lines: &str,
    now: DateTime,
) -> Result<usize> {
    check_name(table, replica.rules)?;
    let lines = lines.strip_prefix('\u{feff}').unwrap_or(lines);
    let lines = (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut ids = BTreeSet::new();
    let changes = lines.map(|(number, line)| {
        let (id, properties, _) = entity::parse(line, replica.rules).map_err(|fault| fault.in_line(number, line))?;
        if !ids.insert(id.clone()) {
            return Err(Fault::twice(&id.partition_key, &id.row_key).in_line(number, line));
        }
        let action = Action::Replace(properties, None);
        Ok(Change { id, action })
    });
    let changes = changes.collect::<Result<Vec<_>>>()?;
    let count = changes.len();
    let mut store = shared.write();
    let is_new = store.table(replica, table).is_none();
    let created = is_new.then(|| store.create_table(replica, table, now));
    let applied = created.unwrap_or(Ok(())).and_then(|()| {
        let applied = store.apply(replica, table, changes, now);
        applied.map(drop).map_err(|(_, service_error)| service_error)
    });
    drop(store);
    applied.map_err(|service_error| invalid(table, &service_error.message))?;
    shared.block_until_stored()?;
    Ok(count)
}

fn check_name(table: &str, rules: &ServiceRules) -> Result<()> {
    let fault = rules.table_names.fault(table);
    fault.map_or(Ok(()), |why| Err(invalid(table, &why)))
}

fn invalid(table: &str, why: &str) -> Error {
    Error::invalid_input(format!("table {table}: {why}"))
}
