//! List the tables of an account, and make those that are missing.

use std::sync::Arc;

use crate::client::ops::procedure::{Begins, Procedure, Steps, procedure};
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::pipeline::run::Pipeline;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::Call;
use crate::protocol::tables::{self, Creation};

/// The names of the tables of an account, page after page. See
/// [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables).
#[must_use = "nothing is sent until it is awaited"]
pub struct ListTables {
    procedure: Procedure<Listed, Vec<String>>,
}
procedure!(ListTables, Vec<String>);

/// Which tables are wanted.
struct Listed {
    /// What all tables of the client are called by, left out of the names.
    namespace: Arc<str>,
    prefix: String,
}

impl Listed {
    /// What the names begin with, in full.
    fn beginning(&self) -> String {
        format!("{}{}", self.namespace, self.prefix)
    }
}

impl Begins for Listed {
    fn first(self, endpoint: &Endpoint) -> Result<Call> {
        tables::list(endpoint, &self.beginning(), None)
    }
}

impl ListTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, namespace: &Arc<str>) -> Self {
        let wanted = Listed {
            namespace: Arc::clone(namespace),
            prefix: String::new(),
        };
        Self {
            procedure: Procedure::new("list tables", pipeline, wanted, |steps, wanted| {
                Box::pin(list(steps, wanted))
            }),
        }
    }

    /// Only the tables whose names begin so. The service compares; it is not documented whether case counts.
    pub fn starting_with(mut self, prefix: impl Into<String>) -> Self {
        self.procedure.change(|wanted| wanted.prefix = prefix.into());
        self
    }
}

async fn list(steps: Steps, wanted: Listed) -> Result<Vec<String>> {
    let names = names(&steps, &wanted.beginning()).await?;
    let namespace = wanted.namespace;
    let own = |name: String| match name.split_at_checked(namespace.len()) {
        Some((start, own)) if start.eq_ignore_ascii_case(&namespace) => Some(own.to_owned()),
        _ => None,
    };
    Ok(names.into_iter().filter_map(own).collect())
}

/// The names of all tables that begin with `prefix`.
async fn names(steps: &Steps, prefix: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let call = tables::list(steps.endpoint(), prefix, from.as_deref());
        let (page, next) = steps.call(call, tables::listed).await?;
        names.extend(page);
        match next {
            None => return Ok(names),
            next => from = next,
        }
    }
}

/// Makes the tables that are missing. See [`TableServiceClient::ensure_tables`](crate::TableServiceClient::ensure_tables).
#[must_use = "nothing is sent until it is awaited"]
pub struct EnsureTables {
    procedure: Procedure<Ensured, Vec<(String, Creation)>>,
}
procedure!(EnsureTables, Vec<(String, Creation)>);

/// The tables, in full, and what they begin with, left out of what is told of them.
struct Ensured {
    tables: Result<Vec<TableName>>,
    namespace: Arc<str>,
}

impl Begins for Ensured {
    fn first(self, endpoint: &Endpoint) -> Result<Call> {
        if self.tables?.is_empty() {
            return Err(Error::invalid_input("no tables are named: nothing is sent"));
        }
        tables::list(endpoint, &self.namespace, None)
    }
}

impl EnsureTables {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, namespace: &Arc<str>, tables: Result<Vec<TableName>>) -> Self {
        let wanted = Ensured {
            tables,
            namespace: Arc::clone(namespace),
        };
        Self {
            procedure: Procedure::new("ensure tables", pipeline, wanted, |steps, wanted| {
                Box::pin(ensure(steps, wanted))
            }),
        }
    }
}

async fn ensure(steps: Steps, Ensured { tables, namespace }: Ensured) -> Result<Vec<(String, Creation)>> {
    let tables = tables?;
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let present = names(&steps, &namespace).await?;
    let profile = steps.endpoint().profile();
    let mut outcome = Vec::with_capacity(tables.len());
    for table in tables {
        let creation = if present.iter().any(|name| profile.is_same_table(name, table.as_str())) {
            Creation::Existed
        } else {
            // Another may have made it since: that is no failure.
            let call = tables::create_if_not_exists(steps.endpoint(), table.as_str());
            steps.call(call, tables::created_or_existed).await?
        };
        let name = table.as_str().strip_prefix(&*namespace);
        outcome.push((name.unwrap_or(table.as_str()).to_owned(), creation));
    }
    Ok(outcome)
}
