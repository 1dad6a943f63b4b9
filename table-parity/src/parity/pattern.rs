//! Patterns of expected texts: `fact.rs` lists their parts.

use std::collections::BTreeMap;

/// The names of a recording, by the parts that stand for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bound(BTreeMap<String, String>);

#[derive(Debug)]
enum Token<'p> {
    Literal(&'p str),
    Etag,
    Time,
    Id,
    Text,
    Some,
    /// A name of a run, which stands for the same text at each place.
    Name(&'p str),
}

const WILDCARDS: [(&str, Token<'_>); 5] = [
    ("{etag}", Token::Etag),
    ("{time}", Token::Time),
    ("{id}", Token::Id),
    ("{text}", Token::Text),
    ("{some}", Token::Some),
];

/// Returns `true` if the pattern matches the whole text.
pub(crate) fn is(pattern: &str, text: &str, bound: &mut Bound) -> bool {
    matches(&tokens(pattern), text, true, bound)
}

/// Returns `true` if the pattern matches a part of the text.
pub(crate) fn has(pattern: &str, text: &str, bound: &mut Bound) -> bool {
    let tokens = tokens(pattern);
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.into_iter().any(|at| matches(&tokens, &text[at..], false, bound))
}

fn tokens(pattern: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut literal, mut at) = (0, 0);
    while at < pattern.len() {
        let rest = &pattern[at..];
        let found = WILDCARDS
            .into_iter()
            .find_map(|(part, token)| Some((token, rest.strip_prefix(part).map(|_| part.len())?)));
        let found = found.or_else(|| name(rest).map(|name| (Token::Name(name), name.len())));
        match found {
            Some((token, length)) => {
                tokens.extend((literal < at).then(|| Token::Literal(&pattern[literal..at])));
                tokens.push(token);
                at += length;
                literal = at;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    tokens.extend((literal < at).then(|| Token::Literal(&pattern[literal..])));
    tokens
}

/// Returns the name of a run with which a pattern begins.
fn name(pattern: &str) -> Option<&str> {
    if let Some(rest) = pattern.strip_prefix("<N>") {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        return Some(&pattern[..pattern.len() - rest.len() + end]);
    }
    ["<T>", "<K>", "<base>"]
        .into_iter()
        .find(|part| pattern.starts_with(part))
}

fn matches(tokens: &[Token<'_>], text: &str, is_whole: bool, bound: &mut Bound) -> bool {
    let Some((first, rest)) = tokens.split_first() else {
        return !is_whole || text.is_empty();
    };
    let end = match first {
        Token::Literal(literal) => text.starts_with(literal).then_some(literal.len()),
        Token::Etag => etag(text),
        Token::Time | Token::Id => {
            let is_part = |c: char| match first {
                Token::Time => c.is_ascii_digit() || "T:.-Z%A".contains(c),
                _ => c.is_ascii_hexdigit() || c == '-',
            };
            let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
            let mut ends = (1..=length).rev();
            return ends.any(|end| matches(rest, &text[end..], is_whole, bound));
        }
        Token::Text | Token::Some => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let mut ends = ends.skip_while(|end| *end == 0 && matches!(first, Token::Some));
            return ends.any(|end| matches(rest, &text[end..], is_whole, bound));
        }
        Token::Name(name) => match bound.0.get(*name) {
            Some(value) => text.starts_with(value.as_str()).then_some(value.len()),
            None => return binds(name, rest, text, is_whole, bound),
        },
    };
    end.is_some_and(|end| matches(rest, &text[end..], is_whole, bound))
}

/// Binds a name to the shortest text with which the rest matches.
fn binds(name: &str, rest: &[Token<'_>], text: &str, is_whole: bool, bound: &mut Bound) -> bool {
    let is_part = |c: char| match name {
        "<base>" => !"\"<>' \\".contains(c),
        _ => !"\"<>'/\\ (),&".contains(c),
    };
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let ends = text[..end].char_indices().map(|(at, _)| at).skip(1).chain([end]);
    for end in ends.filter(|end| *end > 0) {
        bound.0.insert(name.to_owned(), text[..end].to_owned());
        if matches(rest, &text[end..], is_whole, bound) {
            return true;
        }
        bound.0.remove(name);
    }
    false
}

/// Returns the length of the ETag with which a text begins, also as it is inside of JSON.
fn etag(text: &str) -> Option<usize> {
    let quoted = |text: &'_ str| -> Option<usize> {
        let rest = text.strip_prefix('\\').unwrap_or(text);
        rest.starts_with('"').then(|| text.len() - rest.len() + 1)
    };
    let after = text.strip_prefix("W/")?;
    let after = after[quoted(after)?..].strip_prefix("datetime'")?;
    let (_, after) = after.split_once('\'')?;
    Some(text.len() - after.len() + quoted(after)?)
}
