//! Queries: their rows, pages and results.

use std::collections::BTreeSet;

use azure_table::entity::VariantOf;
use azure_table::query::{FanOut, Scan};
use azure_table::{Key, Result, TableQuery, Versioned};
use futures::TryStreamExt;

use super::super::model::{Cell, OTHER_PARTITION, PARTITION, State, partition_of};
use super::super::operation::{Chosen, Entry, On, Origin, Parts, View, shown, stored};

/// Pages of two rows, and one that may be empty.
const PAGES: u32 = 5;
/// The most pages that the ranges which a scan finds add to these.
const FOUND: u32 = 12;

pub(super) const ENTRIES: &[Entry] = entries! {
    "query" ["TableQuery::all"] .pages(PAGES) => |_| {
        rows(Parts::One, |on| async move { Ok(texts(&query(&on).all().await?)) })
    };
    "query row by row" ["TableQuery::stream", "EntityStream::try_next"] .pages(PAGES) => |_| {
        rows(Parts::One, |on| async move {
            let (mut stream, mut view) = (query(&on).prefetch(0).stream(), View::new());
            while let Some(row) = stream.try_next().await? {
                view.push(shown(&row));
            }
            Ok(view)
        })
    };
    "query page by page" ["TableQuery::pages", "PageStream::try_next"] .pages(PAGES) => |_| {
        rows(Parts::One, |on| async move {
            let (mut pages, mut view) = (query(&on).pages(), View::new());
            while let Some(page) = pages.try_next().await? {
                view.extend(texts(page.items()));
            }
            Ok(view)
        })
    };
    "first of a query" ["TableQuery::first"] .pages(PAGES) => |_| {
        Chosen::read(Origin::Any, Parts::One, first, |on| async move {
            Ok(Vec::from_iter(query(&on).first().await?.as_ref().map(shown)))
        })
    };
    "last rows of a query" ["TableQuery::last_rows"] .pages(PAGES) => |_| {
        let view = |state: &State| Vec::from_iter(all(state).into_iter().next_back());
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            Ok(texts(&query(&on).last_rows(1, 100).await?))
        })
    };
    "count" ["TableQuery::count"] .pages(PAGES) => |_| {
        count(Parts::One, |on| async move { query(&on).count().await })
    };
    "keys" [] .pages(PAGES) => |_| {
        let view = |state: &State| state.rows.keys().cloned().collect();
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let keys: Vec<Key<Cell>> = on.table.query().keys().with(&on.call).all().await?;
            Ok(keys.iter().map(|key| key.row_key().to_owned()).collect())
        })
    };
    "gather" ["TableQuery::gather"] .pages(PAGES) => |_| {
        rows(Parts::One, |on| async move {
            let found: Vec<Versioned<Found>> = query(&on).gather().await?;
            let found = found.into_iter().map(|found| found.map(|Found(cell)| cell));
            Ok(texts(&found.collect::<Vec<_>>()))
        })
    };
    "fan-out" ["FanOut::all"] .pages(PAGES).concurrent() => |_| {
        rows(Parts::Partitions, |on| async move { Ok(texts(&fan_out(&on).all().await?)) })
    };
    "fan-out row by row" ["FanOut::stream"] .pages(PAGES).concurrent() => |_| {
        rows(Parts::Partitions, |on| async move {
            let rows: Vec<Versioned<Cell>> = fan_out(&on).unordered().stream().try_collect().await?;
            Ok(sorted(texts(&rows)))
        })
    };
    "first of a fan-out" ["FanOut::first"] .pages(PAGES).concurrent() => |_| {
        Chosen::read(Origin::Any, Parts::Partitions, first, |on| async move {
            Ok(Vec::from_iter(fan_out(&on).first().await?.as_ref().map(shown)))
        })
    };
    "count of a fan-out" ["FanOut::count"] .pages(PAGES).concurrent() => |_| {
        count(Parts::Partitions, |on| async move { fan_out(&on).count().await })
    };
    "scan" ["Scan::stream", "ScanStream::try_next"] .pages(PAGES).concurrent() => |_| {
        rows(Parts::Partitions, |on| async move {
            let (mut rows, mut view) = (scan(&on).ranges([OTHER_PARTITION]).stream(), View::new());
            while let Some(row) = rows.try_next().await? {
                view.push(shown(&row));
            }
            Ok(sorted(view))
        })
    };
    "pages of a scan" ["ScanStream::try_next_page"] .pages(PAGES).concurrent() => |_| {
        rows(Parts::Partitions, |on| async move {
            let (mut pages, mut view) = (scan(&on).ranges([OTHER_PARTITION]).stream(), View::new());
            while let Some(page) = pages.try_next_page().await? {
                view.extend(page.iter().map(shown));
            }
            Ok(sorted(view))
        })
    };
    "scan that finds its ranges" [] .pages(PAGES + FOUND).concurrent() => |_| {
        rows(Parts::Partitions, |on| async move {
            let rows: Vec<_> = scan(&on).concurrency(3).stream().try_collect().await?;
            Ok(sorted(texts(&rows)))
        })
    };
    "partition keys of a scan" ["Scan::partition_keys"] .pages(PAGES + FOUND).concurrent() => |_| {
        let view = |state: &State| {
            let keys: BTreeSet<&str> = state.rows.keys().map(|row| partition_of(row)).collect();
            keys.into_iter().map(str::to_owned).collect()
        };
        Chosen::read(Origin::Any, Parts::Partitions, view, |on| async move {
            Ok(sorted(scan(&on).concurrency(3).partition_keys().try_collect().await?))
        })
    };
    "count of a scan" ["Scan::count"] .pages(PAGES).concurrent() => |_| {
        count(Parts::Partitions, |on| async move { scan(&on).ranges([OTHER_PARTITION]).count().await })
    };
};

/// Returns a kind of rows: all of them.
struct Found(Cell);

impl VariantOf<Cell> for Found {
    const VARIANT: &'static str = "Found";

    fn of(entity: Cell) -> Result<Self, Cell> {
        Ok(Self(entity))
    }
}

fn query(on: &On) -> TableQuery<Cell, Versioned<Cell>> {
    on.table.query().versioned().with(&on.call)
}

fn fan_out(on: &On) -> FanOut<Cell, Versioned<Cell>> {
    query(on).fan_out().partitions([PARTITION, OTHER_PARTITION])
}

fn scan(on: &On) -> Scan<Cell, Versioned<Cell>> {
    query(on).scan()
}

fn texts(rows: &[Versioned<Cell>]) -> View {
    rows.iter().map(shown).collect()
}

fn sorted(mut view: View) -> View {
    view.sort();
    view
}

fn all(state: &State) -> View {
    state.rows.keys().filter_map(|row| stored(state, row)).collect()
}

fn first(state: &State) -> View {
    Vec::from_iter(all(state).into_iter().next())
}

/// A read of all rows.
fn rows<F>(parts: Parts, call: impl FnOnce(On) -> F + 'static) -> Chosen
where
    F: Future<Output = Result<View>> + 'static,
{
    Chosen::read(Origin::Any, parts, all, call)
}

/// A read of their number.
fn count<F>(parts: Parts, call: impl FnOnce(On) -> F + 'static) -> Chosen
where
    F: Future<Output = Result<usize>> + 'static,
{
    let view = |state: &State| vec![state.rows.len().to_string()];
    Chosen::read(Origin::Any, parts, view, |on| {
        let count = call(on);
        async move { Ok(vec![count.await?.to_string()]) }
    })
}
