//! Options: the query string of a request.
//!
//! Parses `$filter`, `$select`, `$top`, `$format` and the continuation parameters. Not confirmed: the code for a `$top`
//! that is not a number (the status of more than 1000 is documented); `$top=0`, here a page without rows and without a
//! continuation (as requested in Azurite's issue 1428); `$select=*`, which means all properties here.
//!
//! Source: REST "Query Entities", "Query Tables".

use std::collections::BTreeSet;

use azure_table_wire::codec::url;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::value::name::begins_name;

use crate::rules::ServiceRules;
use crate::rules::service_error::{Result, ServiceError};

/// The query string.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) filter: Option<String>,
    pub(crate) select: Option<Select>,
    pub(crate) top: Option<usize>,
    pub(crate) format: Option<String>,
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    pub(crate) next_table_name: Option<String>,
}

impl Options {
    pub(crate) fn parse(query: &str, rules: &ServiceRules) -> Result<Self> {
        let mut options = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            match name.as_str() {
                // An empty filter means no filter (Azurite issues 1573 and 1880, seen live).
                "$filter" => options.filter = Some(value).filter(|text| !text.trim().is_empty()),
                "$select" => options.select = Some(Select::new(value, rules)?),
                "$top" => options.top = Some(top(&value, rules)?),
                "$format" => options.format = Some(value),
                "NextPartitionKey" => options.next_partition_key = Some(value),
                "NextRowKey" => options.next_row_key = Some(value),
                "NextTableName" => options.next_table_name = Some(value),
                // $orderby, $skip, $expand, $inlinecount: parts of OData that the service does not support.
                _ if name.starts_with('$') => return Err(ServiceError::NOT_IMPLEMENTED),
                // `timeout` and unknown parameters are ignored; `comp` and `restype` are parts of the resource.
                _ => {}
            }
        }
        Ok(options)
    }
}

fn decode(text: &str) -> Result<String> {
    url::decode_query(text).ok_or(ServiceError::INVALID_INPUT.because("the query is not percent-encoded UTF-8"))
}

/// Parses `$top`, and rejects a number above the limit of the service.
///
/// Source: REST "Query timeout and pagination"; for Cosmos DB, which has no limit, "Azure Cosmos DB for Table:
/// frequently asked questions".
fn top(text: &str, rules: &ServiceRules) -> Result<usize> {
    let most = rules.max_top.unwrap_or(usize::MAX);
    text.parse().ok().filter(|top| *top <= most).ok_or_else(|| {
        let why = match rules.max_top {
            Some(most) => format!("$top: {} is not a number from 0 to {most}", Shown(text)),
            None => format!("$top: {} is not a number", Shown(text)),
        };
        ServiceError::INVALID_INPUT.because(why)
    })
}

/// The requested properties.
#[derive(Debug)]
pub(crate) struct Select {
    /// The text of the query without space around it.
    pub(crate) text: String,
    names: Vec<String>,
}

impl Select {
    /// Parses the text. Cosmos DB leaves the space around a name in it, and the order of the names (recorded of
    /// azure-data-tables, 2020).
    fn new(text: String, rules: &ServiceRules) -> Result<Self> {
        let text = text.trim().to_owned();
        let is_name = |first: char| begins_name(first) || "*,".contains(first);
        if rules.has_storage_form && !text.chars().next().is_none_or(is_name) {
            return Err(ServiceError::no_identifier(0));
        }
        let trimmed = |name| if rules.has_storage_form { str::trim(name) } else { name };
        let mut names: Vec<String> = text
            .split(',')
            .map(trimmed)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.iter().any(|name| name == "*") {
            names.clear();
        }
        if rules.has_storage_form {
            names.sort_by(|a, b| azure_table_wire::value::ordinal::compare(a, b));
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        Ok(Self { text, names })
    }

    /// Returns the names in the order of the response, or `None` if all properties are requested.
    pub(crate) fn names(&self) -> Option<&[String]> {
        if self.names.is_empty() { None } else { Some(&self.names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::STORAGE;

    #[test]
    fn query_is_decoded_once() {
        let options = Options::parse(
            "%24filter=A+eq+%27x%2By%27&$select=b,%20a,b&%24top=5&timeout=30&NextRowKey=",
            &STORAGE,
        )
        .unwrap();
        assert_eq!(options.filter.as_deref(), Some("A eq 'x+y'"));
        assert_eq!(options.select.as_ref().unwrap().text, "b, a,b");
        assert_eq!(options.select.unwrap().names().unwrap(), ["a", "b"]);
        assert_eq!((options.top, options.next_row_key.as_deref()), (Some(5), Some("")));
        let empty = Options::parse("$filter=&$select=", &STORAGE).unwrap();
        assert!(empty.filter.is_none() && empty.select.unwrap().names().is_none());
    }

    #[test]
    fn unsupported_options_are_rejected() {
        for top in ["1001", "-1", "x", ""] {
            assert_eq!(
                Options::parse(&format!("$top={top}"), &STORAGE).unwrap_err(),
                ServiceError::INVALID_INPUT.because(format!("$top: \"{top}\" is not a number from 0 to 1000")),
                "{top}"
            );
        }
        for query in ["$orderby=A", "$skip=1", "%24expand=x"] {
            assert_eq!(
                Options::parse(query, &STORAGE).unwrap_err(),
                ServiceError::NOT_IMPLEMENTED
            );
        }
        assert_eq!(
            Options::parse("$filter=%ff", &STORAGE).unwrap_err(),
            ServiceError::INVALID_INPUT.because("the query is not percent-encoded UTF-8")
        );
    }
}
