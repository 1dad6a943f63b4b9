//! The list of tables, the rows of one, and the log.

use std::sync::PoisonError;

use axum::extract::{Path, Query, State};
use axum::response::IntoResponse as _;
use azure_table::filter::AccessPath;
use azure_table::{DynamicEntity, Page, TableQuery};

use crate::row_selection::RowSelection;
use crate::ui::pages::{self, Problem, Shown, Typed};
use crate::ui::site::{Shared, Site};

/// The rows of a page.
const PAGE: usize = 50;
impl Typed {
    fn selection(&self) -> RowSelection {
        RowSelection::from_texts(&self.partition, &self.prefix, &self.filter)
    }

    fn query(&self, site: &Site, table: &str) -> Result<TableQuery<DynamicEntity>, Problem> {
        Ok(self.selection().query(&site.service.dynamic_table(table)?)?)
    }
}

pub(super) async fn list(State(site): Shared) -> Shown {
    let names = site.service.list_tables().all().await?;
    Ok(pages::tables(&site, &names).into_response())
}

/// Shows the plan of a query that is typed.
pub(super) async fn plan(State(site): Shared, Path(table): Path<String>, Query(typed): Query<Typed>) -> Shown {
    let plan = typed.query(&site, &table).and_then(|query| Ok(query.plan()?));
    let shown = plan.map_or_else(|Problem(_, text)| pages::note(&text), |plan| pages::plan(&site, &plan));
    Ok(shown.into_response())
}

pub(super) async fn rows(State(site): Shared, Path(table): Path<String>, Query(typed): Query<Typed>) -> Shown {
    let mut query = typed.query(&site, &table)?;
    let plan = query.plan()?;
    // The first rows of a table are a page, not a scan.
    let is_scan = plan.path() == AccessPath::TableScan && !typed.selection().is_everything();
    if is_scan && typed.scan.is_empty() {
        return Ok(pages::rows(&site, &table, &typed, &plan, None).into_response());
    }
    if !typed.from.is_empty() {
        query = query.resume_from(typed.from.parse()?);
    }
    let page = query.allow_table_scan().page_size(PAGE).pages().try_next().await?;
    let next = page.as_ref().filter(|page| page.has_more());
    let next = next.map(|page| page.continuation().to_string());
    let rows = page.map(Page::into_items).unwrap_or_default();
    Ok(pages::rows(&site, &table, &typed, &plan, Some((rows, next))).into_response())
}

pub(super) async fn log(State(site): Shared) -> Shown {
    let lines = site.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(pages::log(&site, lines.iter()).into_response())
}
