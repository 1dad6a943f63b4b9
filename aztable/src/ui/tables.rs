//! The list of tables, the rows of one, and the log.

use std::sync::PoisonError;

use axum::extract::{Path, Query, State};
use axum::response::IntoResponse as _;
use azure_table::filter::AccessPath;
use azure_table::{Continuation, DynamicEntity, Filter, KeyPrefix, TableQuery};

use crate::ui::pages::{self, Plan, Typed};
use crate::ui::problem::{Problem, Shown};
use crate::ui::site::{Shared, Site};

/// The rows of a page.
const PAGE: usize = 50;
/// A request returns 1,000 rows at most.
const REQUESTS_OF_A_MILLION_ROWS: f64 = 1_000.0;

impl Typed {
    fn query(&self, site: &Site, table: &str) -> Result<TableQuery<DynamicEntity>, Problem> {
        let mut query = site.service.dynamic_table(table)?.query();
        match (self.partition.is_empty(), self.prefix.is_empty()) {
            (_, false) => query = query.key_prefix(KeyPrefix::from_text(self.partition.clone(), self.prefix.clone())?),
            (false, true) => query = query.partition(&self.partition),
            (true, true) => {}
        }
        if !self.filter.is_empty() {
            query = query.filter(Filter::raw(self.filter.as_str()));
        }
        Ok(query)
    }

    fn plan(&self, site: &Site, table: &str) -> Result<Plan, Problem> {
        let plan = self.query(site, table)?.plan()?;
        let is_unfiltered = self.partition.is_empty() && self.filter.is_empty();
        Ok(Plan {
            // The first rows of a table are a page, not a scan.
            is_scan: plan.path() == AccessPath::TableScan && !is_unfiltered,
            path: plan.path().to_string(),
            reason: plan.reason().to_owned(),
            request: plan.request_text().lines().next().unwrap_or_default().to_owned(),
            price: site.price.map(|price| price * REQUESTS_OF_A_MILLION_ROWS / 10_000.0),
        })
    }
}

pub(super) async fn list(State(site): Shared) -> Shown {
    let names = site.service.list_tables().all().await?;
    Ok(pages::tables(&site, &names).into_response())
}

/// Shows the plan of a query that is typed.
pub(super) async fn plan(State(site): Shared, Path(table): Path<String>, Query(typed): Query<Typed>) -> Shown {
    Ok(match typed.plan(&site, &table) {
        Ok(plan) => pages::plan(&plan).into_response(),
        Err(Problem(_, text)) => pages::note(&text).into_response(),
    })
}

pub(super) async fn rows(State(site): Shared, Path(table): Path<String>, Query(typed): Query<Typed>) -> Shown {
    let plan = typed.plan(&site, &table)?;
    if plan.is_scan && typed.scan.is_empty() {
        return Ok(pages::rows(&site, &table, &typed, &plan, None).into_response());
    }
    let from: Continuation = match typed.from.is_empty() {
        true => Continuation::default(),
        false => typed.from.parse()?,
    };
    let query = typed
        .query(&site, &table)?
        .allow_table_scan()
        .page_size(PAGE)
        .resume_from(from);
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
