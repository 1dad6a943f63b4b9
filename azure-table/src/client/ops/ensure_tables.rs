//! Creates the missing tables of a list.

use std::collections::HashSet;
use std::sync::Arc;

use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;

use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::steps::Steps;
use crate::client::shape::Shape;
use crate::pipeline::Pipeline;
use crate::request::continuation;
use crate::request::query::{self, QueryRequest};
use crate::request::tables::{self, Creation};

/// Returns the call that creates the missing tables among these. Takes full names; the outcomes have them without the
/// prefix.
pub(crate) fn ensure_tables(
    pipeline: &Arc<Pipeline>,
    namespace: &Arc<str>,
    tables: Result<Vec<TableName>>,
) -> Call<Vec<(String, Creation)>> {
    let namespace = Arc::clone(namespace);
    Call::steps(pipeline, OperationKind::EnsureTables, async move |steps| {
        let tables = tables?;
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let profile = steps.endpoint().profile();
        let present = names(&steps, &namespace).await?.into_iter();
        let present: HashSet<String> = present.map(|name| profile.rules().table_in_set(name)).collect();
        let mut outcome = Vec::with_capacity(tables.len());
        for table in tables {
            let creation = if present.contains(&profile.rules().table_in_set(table.as_str().to_owned())) {
                Creation::Existed
            } else {
                // Another client may have created it since, which is not a failure.
                let create = tables::create_if_not_exists(steps.endpoint(), table.as_str());
                steps.call(create, tables::created_or_existed).await?
            };
            let name = table.as_str().strip_prefix(&*namespace);
            outcome.push((name.unwrap_or(table.as_str()).to_owned(), creation));
        }
        Ok(outcome)
    })
}

/// Returns the names of all tables that begin with `prefix`.
async fn names(steps: &Steps, prefix: &str) -> Result<Vec<String>> {
    let request = QueryRequest::tables(prefix, steps.endpoint().profile());
    let shape = Shape::for_tables(Arc::from(""));
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let page = request.page_request(steps.endpoint(), from.as_ref());
        let (next, page) = steps
            .call(page, |response, _| {
                let next = continuation::of(response.headers())?;
                Ok((
                    next,
                    query::read_response(response, shape.form.metadata, |row| shape.read_or_skip(row))?,
                ))
            })
            .await?;
        names.extend(page);
        match next {
            None => return Ok(names),
            next => from = next,
        }
    }
}
