//! The list of tables, the rows of one, and the log.

use std::sync::PoisonError;

use axum::extract::{Path, Query, State};
use axum::response::IntoResponse as _;
use azure_table::filter::AccessPath;
use azure_table::{Continuation, DynamicEntity, TableQuery};

use crate::row_selection::RowSelection;
use crate::ui::pages::{self, Typed};
use crate::ui::problem::{Problem, Shown};
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
    Ok(match plan {
        Ok(plan) => pages::plan(&site, &plan).into_response(),
        Err(Problem(_, text)) => pages::note(&text).into_response(),
    })
}

pub(super) async fn rows(State(site): Shared, Path(table): Path<String>, Query(typed): Query<Typed>) -> Shown {
    let query = typed.query(&site, &table)?;
    let plan = query.plan()?;
    // The first rows of a table are a page, not a scan.
    let is_scan = plan.path() == AccessPath::TableScan && !typed.selection().is_everything();
    if is_scan && typed.scan.is_empty() {
        return Ok(pages::rows(&site, &table, &typed, &plan, None).into_response());
    }
    let from: Continuation = match typed.from.is_empty() {
        true => Continuation::default(),
        false => typed.from.parse()?,
    };
    let query = query.allow_table_scan().page_size(PAGE).resume_from(from);
    let page = query.pages().try_next().await?;
    let (rows, next) = match page {
        None => (Vec::new(), None),
        Some(page) => {
            let next = page.has_more().then(|| page.continuation().to_string());
            (page.into_items(), next)
        }
    };
    Ok(pages::rows(&site, &table, &typed, &plan, Some((rows, next))).into_response())
}

pub(super) async fn log(State(site): Shared) -> Shown {
    let lines = site.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(pages::log(&site, lines.iter()).into_response())
}
