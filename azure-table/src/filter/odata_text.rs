//! Filters written as OData text, with or without named parameters.
//!
//! This file finds `@name` in a text, and `filter/literal.rs` writes the literals. The service parses the text. Only
//! its quotes and parentheses are checked here, because a part of a larger filter is sent in parentheses of its own.

use std::fmt::Write as _;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::literal::Literal;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::name::continues_name;

use crate::filter::typed::{self, Filter};

impl<E> Filter<E> {
    /// Creates a filter from OData text, which is sent unchanged.
    ///
    /// Quote every value in the text yourself, or let [`with_parameters`](Self::with_parameters) do it.
    ///
    /// The text is one condition: `&`, `|` and `!` put it in parentheses, which it cannot close. The call that uses the
    /// filter returns `InvalidInput` if the text is blank, leaves a quote or a parenthesis open, or closes one that is
    /// not open:
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, ErrorKind, Filter, TableServiceClient};
    /// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// let query = table.query().partition("mine").filter(Filter::raw("A eq 1) or (B eq 2"));
    /// assert_eq!(query.plan().unwrap_err().kind(), ErrorKind::InvalidInput);
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    pub fn raw(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        match fault(&text) {
            None => Self::of(Expression::Raw(text)),
            Some(fault) => typed::fault(format!("the text {} {fault}", Shown(&text))),
        }
    }

    /// Creates a filter from OData text in which `@name` stands for a value.
    ///
    /// Each value becomes a literal of its type with its quotes escaped, so user input cannot change the condition. `@`
    /// inside quotes stays as it is. To compare columns known at compile time, use their constants instead.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Filter};
    /// let author = "O'Brien";
    /// let filter = Filter::<DynamicEntity>::with_parameters(
    ///     "Rating ge @least and Author eq @author",
    ///     [("least", 3.into()), ("author", author.into())],
    /// );
    /// assert_eq!(filter.to_string(), "Rating ge 3 and Author eq 'O''Brien'");
    /// ```
    ///
    /// The call that uses the filter returns `InvalidInput` if the text contains a parameter without a value, if a
    /// value has no parameter in the text, or for the faults that [`raw`](Self::raw) names.
    #[doc(alias("CreateQueryFilter", "parameters"))]
    pub fn with_parameters<N: AsRef<str>>(text: &str, parameters: impl IntoIterator<Item = (N, EdmValue)>) -> Self {
        let parameters: Vec<_> = parameters.into_iter().collect();
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| (name.as_ref(), value)).collect();
        match substitute(text, &parameters) {
            Ok(text) => Self::raw(text),
            Err(why) => typed::fault(why),
        }
    }
}

/// Returns the reason why a text is not a condition, or would not stay one in parentheses, such as `A) or (B`.
fn fault(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some(
            "is blank, and the service reads a blank filter as none; leave out the filter for all rows".into(),
        );
    }
    let (mut open, mut quote) = (Vec::new(), None);
    for (n, c) in text.chars().enumerate() {
        match c {
            // A doubled quote ends the text and begins it again.
            '\'' => quote = quote.xor(Some(n)),
            _ if quote.is_some() => {}
            '(' => open.push(n),
            ')' if open.pop().is_none() => {
                return Some(format!("closes a parenthesis that is not open, at character {}", n + 1));
            }
            _ => {}
        }
    }
    match (quote, open.pop()) {
        (Some(n), _) => Some(format!(
            "leaves the quote open at character {}; double each quote in a value",
            n + 1
        )),
        (None, Some(n)) => Some(format!("leaves the parenthesis open at character {}", n + 1)),
        (None, None) => None,
    }
}

fn substitute(text: &str, parameters: &[(&str, &EdmValue)]) -> Result<String, String> {
    let mut used = vec![false; parameters.len()];
    let mut written = String::with_capacity(text.len());
    // Every second part is inside of quotes. A doubled quote ends one part and begins the next.
    for (n, part) in text.split('\'').enumerate() {
        if n > 0 {
            written.push('\'');
        }
        if n % 2 == 1 {
            written.push_str(part);
            continue;
        }
        let mut pieces = part.split('@');
        written.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let end = piece.find(|c: char| !continues_name(c)).unwrap_or(piece.len());
            let (name, rest) = piece.split_at(end);
            let place = parameters.iter().position(|(known, _)| *known == name);
            let place = place.ok_or_else(|| format!("parameter @{name} has no value"))?;
            used[place] = true;
            // Writing to a String cannot fail.
            let _ = write!(written, "{}{rest}", Literal(parameters[place].1));
        }
    }
    match used.iter().position(|used| !used) {
        Some(unused) => Err(format!(
            "parameter {} does not occur in the text as @{0}",
            Shown(parameters[unused].0)
        )),
        None => Ok(written),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::error::ErrorKind;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::filter::typed;

    fn filter(text: &str, parameters: &[(&str, EdmValue)]) -> Filter<DynamicEntity> {
        Filter::with_parameters(text, parameters.to_vec())
    }

    #[test]
    fn parameters_become_literals_outside_of_quotes() {
        let parameters = [("a", EdmValue::from("' or true or '")), ("a2", EdmValue::from(5_i64))];
        assert_eq!(
            filter("(X eq @a or Y eq @a2) and Z eq 'me@a.com''s' and X ne @a", &parameters).to_string(),
            "(X eq ''' or true or ''' or Y eq 5L) and Z eq 'me@a.com''s' and X ne ''' or true or '''"
        );
    }

    #[test]
    fn text_that_is_no_single_condition_is_an_error() {
        for (text, why) in [
            (
                "a eq 1) or (b eq 2",
                "closes a parenthesis that is not open, at character 7",
            ),
            (")(", "closes a parenthesis that is not open, at character 1"),
            ("(a eq ')'", "leaves the parenthesis open at character 1"),
            ("(('é') and (a", "leaves the parenthesis open at character 12"),
            ("a eq 'O'Brien')", "leaves the quote open at character 14"),
            ("a eq '", "leaves the quote open at character 6"),
            ("a eq ''')", "leaves the quote open at character 8"),
            ("", "is blank"),
            (" \n", "is blank"),
        ] {
            let expected = format!("filter: the text {text:?} {why}");
            for filter in [Filter::<DynamicEntity>::raw(text), filter(text, &[])] {
                for filter in [
                    filter.clone(),
                    !filter.clone(),
                    Filter::raw("B") & filter.clone(),
                    filter | Filter::raw("B"),
                ] {
                    let error = typed::into_expression(filter).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidInput);
                    assert!(error.to_string().contains(&expected), "{error}");
                }
            }
        }
    }

    #[test]
    fn quotes_and_parentheses_of_values_are_no_fault() {
        for text in [
            "B",
            "(B) or N eq 0",
            "a eq ')('",
            "a eq '''(' and (b eq ')''')",
            "not ((a eq ''))",
            "(PartitionKey ) and (RowKey ge '000050')",
        ] {
            assert_eq!(filter(text, &[]).to_string(), text);
            assert_eq!(
                (Filter::<DynamicEntity>::raw(text) & Filter::raw("B")).to_string(),
                format!("({text}) and (B)")
            );
        }
    }

    #[test]
    fn parameters_that_differ_from_the_text_are_errors() {
        let value = EdmValue::from(1);
        for (text, parameters, why) in [
            ("X eq @b", &[("a", value.clone())][..], "parameter @b has no value"),
            ("X eq @", &[("a", value.clone())], "parameter @ has no value"),
            ("X eq '@a'", &[("a", value.clone())], "parameter \"a\" does not occur"),
        ] {
            let error = typed::into_expression(filter(text, parameters))
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
