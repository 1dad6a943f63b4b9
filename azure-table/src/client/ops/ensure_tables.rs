//! Creates the missing tables of a list.

use std::collections::HashSet;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};

use crate::account::table_name::TableName;
use crate::client::ops::call_future::operation;
use crate::client::ops::procedure::{Arguments, Procedure, Steps};
use crate::client::shape::Shape;
use crate::pipeline::Pipeline;
use crate::request::continuation;
use crate::request::query::{self, QueryRequest};
use crate::request::tables::{self, Creation};
use crate::write::call::Call;

operation! {
    /// Creates the tables that are missing.
    ///
    /// See [`TableServiceClient::ensure_tables`](crate::TableServiceClient::ensure_tables).
    EnsureTables -> Vec<(String, Creation)>, Procedure<Ensured>
}

/// The full names of the tables, and the prefix that their outcomes leave out.
struct Ensured {
    tables: Result<Vec<TableName>>,
    namespace: Arc<str>,
}

impl EnsureTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, namespace: &Arc<str>, tables: Result<Vec<TableName>>) -> Self {
        let namespace = Arc::clone(namespace);
        Self {
            operation: Procedure::new(pipeline, Ensured { tables, namespace }),
        }
    }
}

impl Arguments for Ensured {
    type Output = Vec<(String, Creation)>;

    const OPERATION: OperationKind = OperationKind::EnsureTables;

    fn first(self, endpoint: &Endpoint) -> Result<Call> {
        if self.tables?.is_empty() {
            return Err(Error::invalid_input("no tables are named: nothing is sent"));
        }
        QueryRequest::tables(&self.namespace, endpoint.profile()).call(endpoint, None)
    }

    async fn run(self, steps: Steps) -> Result<Vec<(String, Creation)>> {
        let tables = self.tables?;
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let profile = steps.endpoint().profile();
        let present = names(&steps, &self.namespace).await?.into_iter();
        let present: HashSet<String> = present.map(|name| profile.rules().table_in_set(name)).collect();
        let mut outcome = Vec::with_capacity(tables.len());
        for table in tables {
            let creation = if present.contains(&profile.rules().table_in_set(table.as_str().to_owned())) {
                Creation::Existed
            } else {
                // Another client may have created it since, which is not a failure.
                let call = tables::create_if_not_exists(steps.endpoint(), table.as_str());
                steps.call(call, tables::created_or_existed).await?
            };
            let name = table.as_str().strip_prefix(&*self.namespace);
            outcome.push((name.unwrap_or(table.as_str()).to_owned(), creation));
        }
        Ok(outcome)
    }
}

/// Returns the names of all tables that begin with `prefix`.
async fn names(steps: &Steps, prefix: &str) -> Result<Vec<String>> {
    let request = QueryRequest::tables(prefix, steps.endpoint().profile());
    let shape = Shape::of_tables(Arc::from(""));
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let call = request.call(steps.endpoint(), from.as_ref());
        let (next, page) = steps
            .call(call, |response, _| {
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
