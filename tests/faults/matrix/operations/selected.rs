//! Writes by query.

use azure_table::bulk::{Interrupted, Leftover, WriteReport};
use azure_table::{Change, Key};

use super::super::check::names_doubt;
use super::super::model::{Cell, OTHER_PARTITION, PARTITION, partition_of};
use super::super::operation::{Chosen, Entry, Given, On, Promise, Report, Reported, Reports, Wanted};

pub(super) const ENTRIES: &[Entry] = entries! {
    "delete where" ["TableClient::delete_where"] .writes_pages() => |given| {
        let partition = *fastrand::choice(&[PARTITION, OTHER_PARTITION]).unwrap();
        let wanted = wanted(given, |row, _, _| (partition_of(row) == partition).then_some(Wanted::Gone));
        selected(wanted, move |on| async move {
            let rows = on.table.query().partition(partition);
            reported(on.table.delete_where(rows).with(&on.call).await)
        })
    };
    "patch where" ["TableClient::patch_where"] .writes_pages() => |given| {
        let value = given.value;
        let wanted = wanted(given, |_, a, b| (a < value - 4).then_some(Wanted::Is(value, b)));
        selected(wanted, move |on| async move {
            let patch = on.table.patch_where(Cell::A.lt(value - 4), [Cell::A.set(value)]);
            reported(patch.with(&on.call).await)
        })
    };
    "update where" ["TableClient::update_where"] .writes_pages() => |given| {
        // Counts, so that a second change of a row is visible; rows with an odd sum are kept.
        let wanted = wanted(given, |_, a, b| match a % 2 {
            0 => Some(Wanted::Is(a + 1_001, b)),
            _ => Some(Wanted::Unchanged),
        });
        selected(wanted, |on| async move {
            let change = |cell: &mut Cell| match cell.a % 2 {
                0 => {
                    cell.a += 1_001;
                    Change::Save
                }
                _ => Change::Keep,
            };
            reported(on.table.update_where(on.table.query(), change).with(&on.call).await)
        })
    };
    "upgrade a table" ["TableClient::upgrade_where"] .writes_pages() => |given| {
        upgraded(given, |_| true, |on| async move {
            let table = on.table.typed::<Newer>();
            reported(table.upgrade_where(table.query()).with(&on.call).await)
        })
    };
    "upgrade where" ["TableClient::upgrade_where"] .writes_pages() => |given| {
        upgraded(given, |row| partition_of(row) == PARTITION, |on| async move {
            let table = on.table.typed::<Newer>();
            reported(table.upgrade_where(table.query().partition(PARTITION)).with(&on.call).await)
        })
    };
};

/// The entity that always has `b`.
#[derive(azure_table::TableEntity, Clone, Debug)]
struct Newer {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    a: i64,
    #[table(default)]
    b: i64,
}

fn upgraded<F: Reports>(given: &Given<'_>, of: fn(&str) -> bool, call: impl FnOnce(On) -> F + 'static) -> Chosen {
    let wanted = wanted(given, |row, a, b| match (of(row), b) {
        (false, _) => None,
        (true, Some(_)) => Some(Wanted::Unchanged),
        (true, None) => Some(Wanted::Is(a, Some(0))),
    });
    selected(wanted, call)
}

/// Returns the rows that are selected, and the intended change of each.
fn wanted(given: &Given<'_>, of: impl Fn(&str, i64, Option<i64>) -> Option<Wanted>) -> Vec<(String, Wanted)> {
    let rows = given.state.rows.iter();
    let rows = rows.filter_map(|(row, stored)| Some((row.clone(), of(row, stored.a, stored.b)?)));
    rows.collect()
}

fn selected<F: Reports>(wanted: Vec<(String, Wanted)>, call: impl FnOnce(On) -> F + 'static) -> Chosen {
    Chosen::new(Promise::Selected(wanted), call)
}

fn reported<E>(ended: Result<WriteReport<E>, Interrupted<WriteReport<E>>>) -> Reported {
    let (report, ended) = match ended {
        Ok(report) => (report, None),
        Err(interrupted) => {
            let (error, report) = interrupted.into_parts();
            (report, Some(error))
        }
    };
    let row = |row: &Leftover<Key<E>>| row.key().row_key().to_owned();
    let leftovers = report.leftovers().iter();
    let names_doubt = leftovers.clone().all(|left| names_doubt(left.error().unwrap()));
    let (in_doubt, rejected): (Vec<_>, Vec<_>) = leftovers.partition(|left| left.error().unwrap().may_have_applied());
    assert_eq!(rejected.len() as u64, report.changed() + report.rejected());
    assert_eq!(in_doubt.len() as u64, report.in_doubt());
    let failed = |left: &Leftover<Key<E>>| (row(left), left.error().unwrap().kind());
    Reported::Selected(Report {
        applied: report.applied() as usize,
        unchanged: report.unchanged() as usize,
        gone: report.gone() as usize,
        failures: rejected.into_iter().map(failed).collect(),
        in_doubt: in_doubt.into_iter().map(row).collect(),
        names_doubt,
        ended,
    })
}
