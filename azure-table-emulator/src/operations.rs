//! Operations: their effects on the store, and their responses.
//!
//! Defines [`OperationCall`], a parsed operation with its [`Caller`], which checks a request in the right order and
//! parses its conditions. Each kind of resource has its own file; `operations/operation.rs` chooses among them.
//!
//! Not confirmed: the code for a delete without If-Match (the status is documented); the effect of a missing `Accept`
//! on an operation without a response body (here none); If-None-Match on a merge.
//!
//! Source: REST "Delete Entity", "Update Entity", "Merge Entity", "Payload format for Table service operations".

pub(crate) mod batch;
pub(crate) mod cors;
pub(crate) mod documents;
pub(crate) mod entities;
pub(crate) mod grant;
pub(crate) mod operation;
pub(crate) mod payload;
pub(crate) mod query;
mod scan;
pub(crate) mod seed;
pub(crate) mod tables;

use azure_table_wire::codec::odata::time::is_etag;
use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::filter::parse::parse_to;
use azure_table_wire::request::inbound::target::Target;
use azure_table_wire::request::inbound::{Inbound, Verb};
use azure_table_wire::value::edm::EdmValue;

use crate::operations::grant::{Grant, Rights};
use crate::operations::payload::PayloadShape;
use crate::request::options::Options;
use crate::response::format::{Level, Prefer, is_xml};
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{MAX_PAGE, ServiceRules};
use crate::settings::Settings;
use crate::store::RowCondition;
use crate::store::account::Replica;
use crate::store::site::Site;

/// The caller of an operation: its account, its permissions and the settings.
pub(crate) struct Caller<'a> {
    pub(crate) site: &'a Site,
    pub(crate) grant: Grant,
    pub(crate) settings: &'a Settings,
}

impl Caller<'_> {
    pub(crate) fn is_preflight(&self) -> bool {
        matches!(self.grant.rights, Rights::Preflight)
    }

    /// Returns the maximum number of items per page if `top` are requested.
    pub(crate) fn page_size(&self, top: Option<usize>) -> usize {
        let page_size = self.settings.page_size;
        let most = match self.site.rules.max_top {
            // Without a limit of the service, a page may be as long as requested.
            None if page_size == MAX_PAGE => usize::MAX,
            _ => page_size,
        };
        top.unwrap_or(page_size).min(most)
    }
}

/// A parsed operation that its sender is permitted to call. Its rows are checked once they are known.
pub(crate) struct OperationCall<'a> {
    pub(crate) caller: &'a Caller<'a>,
    pub(crate) verb: Verb,
    pub(crate) target: &'a Target,
    pub(crate) options: Options,
    pub(crate) prefer: Option<Prefer>,
    level: Option<Level>,
    filter: Result<Option<Expression>>,
    request: &'a Inbound<'a>,
}

impl<'a> OperationCall<'a> {
    pub(crate) fn parse(caller: &'a Caller<'a>, request: &'a Inbound<'a>) -> Result<Self> {
        let verb = request.verb?;
        let rules = caller.site.rules;
        let target = request.target.as_ref().map_err(|fault| ServiceError::from(*fault))?;
        let table = target.table();
        caller.grant.check(request, table)?;
        if let Some(table) = table {
            rules.table_names.check_addressed(table)?;
        }
        let options = Options::parse(request.query, rules)?;
        let level = match (&options.format, request.headers.get("accept")) {
            // Operations on the service itself use XML, whatever is requested.
            _ if is_xml(request) => None,
            (Some(format), _) if rules.takes_format => Some(Level::parse(format)?),
            (_, Some(accept)) => Some(Level::parse(&accept)?),
            (_, None) => None,
        };
        Ok(Self {
            caller,
            verb,
            target,
            prefer: Prefer::of(request).filter(|_| verb == Verb::Post || rules.applies_preference_to_updates),
            level,
            filter: filter(&options, rules),
            options,
            request,
        })
    }

    pub(crate) fn site(&self) -> &'a Site {
        self.caller.site
    }

    /// Returns the addressed account, in its location.
    pub(crate) fn replica(&self) -> Replica<'a> {
        self.caller.site.replica()
    }

    /// Returns the format of a response with entities. Writes have no selection.
    pub(crate) fn shape<'s>(&'s self, table: &'s str, level: Level) -> PayloadShape<'s> {
        let select = self.options.select.as_ref().filter(|_| self.verb == Verb::Get);
        PayloadShape {
            site: self.site(),
            table,
            level,
            select,
        }
    }

    /// Returns `true` if the caller accepts any media type.
    pub(crate) fn accepts_anything(&self) -> bool {
        self.request.headers.get("accept").as_deref() == Some("*/*")
    }

    /// Returns the body of an operation that uses XML.
    pub(crate) fn xml(&self) -> &'a [u8] {
        self.request.body
    }

    /// Returns the parsed `$filter`.
    pub(crate) fn filter(&self) -> Result<Option<&Expression>> {
        self.filter.as_ref().map(Option::as_ref).map_err(ServiceError::clone)
    }

    /// Returns the format of a response with a body. Without `Accept` or `$format` it would be Atom, which is no longer
    /// supported.
    pub(crate) fn level(&self) -> Result<Level> {
        self.level.ok_or(ServiceError::ATOM_FORMAT_NOT_SUPPORTED)
    }

    /// Returns the body, which must be JSON if it has a content type.
    pub(crate) fn json(&self) -> Result<&'a [u8]> {
        if let Some(content_type) = self.request.headers.get("content-type") {
            Level::parse(&content_type)?;
        }
        Ok(self.request.body)
    }

    /// Returns the condition of a write, or `None` without one.
    pub(crate) fn condition(&self) -> Result<Option<RowCondition>> {
        let if_match = self.request.headers.get("if-match");
        if self.request.headers.get("if-none-match").is_some() {
            return Err(match (if_match, self.verb) {
                (Some(_), _) => ServiceError::BOTH_CONDITIONS,
                (None, Verb::Delete) => ServiceError::IF_NONE_MATCH_ON_DELETE,
                (None, Verb::Put) => ServiceError::IF_NONE_MATCH_ON_PUT,
                (None, _) => ServiceError::INVALID_INPUT,
            });
        }
        match if_match.as_deref().map(str::trim) {
            None => Ok(None),
            Some("*") => Ok(Some(RowCondition::Exists)),
            Some(etag) if is_etag(etag) => Ok(Some(RowCondition::Matches(etag.to_owned()))),
            Some(etag) => Err(ServiceError::invalid_etag(etag)),
        }
    }
}

/// Returns a filter by which `X'…'` also equals the text with these bytes.
fn with_texts(filter: Expression) -> Expression {
    match filter {
        Expression::Comparison {
            name,
            operator: Comparison::Eq,
            value: EdmValue::Binary(bytes),
        } => {
            let text = std::str::from_utf8(&bytes)
                .ok()
                .map(|text| EdmValue::from(text.to_owned()));
            let text = text.map(|text| Expression::comparison(name.clone(), Comparison::Eq, text));
            let own = Expression::comparison(name, Comparison::Eq, EdmValue::Binary(bytes));
            text.into_iter().fold(own, Expression::or)
        }
        Expression::And(parts) => Expression::And(parts.into_iter().map(with_texts).collect()),
        Expression::Or(parts) => Expression::Or(parts.into_iter().map(with_texts).collect()),
        Expression::Not(inner) => Expression::Not(Box::new(with_texts(*inner))),
        other => other,
    }
}

fn filter(options: &Options, rules: &ServiceRules) -> Result<Option<Expression>> {
    let parsed = options.filter.as_deref().map(parse_to).transpose();
    let parsed = parsed.map(|filter| {
        if rules.compares_bytes_with_text {
            filter.map(with_texts)
        } else {
            filter
        }
    });
    parsed.map_err(|(error, at)| {
        let service_error = rules.invalid_filter.clone();
        let service_error = service_error.unwrap_or_else(|| ServiceError::from(error));
        service_error.because(format!("$filter: not understood from byte {at} on"))
    })
}
