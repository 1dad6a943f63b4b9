//! The setters of the public interface, as `packaging/public-api.txt` lists them: methods that return `Self`, or their
//! own type with other parameters.

use std::collections::BTreeSet;

use xtask::sources::root;

/// Returns the setters, as `Type::setter`.
pub(super) fn setters() -> BTreeSet<String> {
    let listing = std::fs::read_to_string(root().join("packaging/public-api.txt")).unwrap();
    let functions = listing
        .lines()
        .filter_map(|line| line.strip_prefix("pub ")?.split_once("fn "));
    functions.filter_map(|(_, function)| setter(function)).collect()
}

fn setter(function: &str) -> Option<String> {
    let (name, rest) = without_generics(function);
    let (path, setter) = name.rsplit_once("::")?;
    let takes_self = ["self", "&self"].iter().any(|own| {
        let rest = rest.strip_prefix('(').and_then(|rest| rest.strip_prefix(own));
        rest.is_some_and(|rest| rest.starts_with([',', ')']))
    });
    let (_, output) = rest.split(" where ").next()?.rsplit_once(" -> ")?;
    let returns_self = output == "Self" || output.split_once('<').is_some_and(|(of, _)| of == path);
    let is_setter = takes_self && setter != "clone" && returns_self;
    is_setter.then(|| format!("{}::{setter}", path.rsplit("::").next().unwrap_or(path)))
}

/// Returns the path of a function without generic parameters, and its arguments and output.
fn without_generics(function: &str) -> (String, &str) {
    let (mut name, mut depth, mut last) = (String::new(), 0, ' ');
    for (at, c) in function.char_indices() {
        match c {
            '(' if depth == 0 => return (name, &function[at..]),
            '<' => depth += 1,
            // The arrow of a bound, as of `FnMut() -> E`, closes nothing.
            '>' if last != '-' => depth -= 1,
            c if depth == 0 => name.push(c),
            _ => {}
        }
        last = c;
    }
    (name, "")
}
