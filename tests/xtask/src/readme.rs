//! The README, generated from the documentation of the crate.
//!
//! Owns what differs between the two texts: hidden lines, links to items, and the level of headings. The text itself is
//! `azure-table/docs/crate.md`, which the crate includes as its documentation.

use std::fs;

use crate::sources::root;

/// The documentation of the crate, from the root of the checkout.
pub const SOURCE: &str = "azure-table/docs/crate.md";

/// The pages of the latest release.
const PAGES: &str = "https://docs.rs/azure-table/latest/azure_table/";

/// Returns the README that belongs to the documentation of this checkout.
///
/// # Panics
/// The documentation cannot be read, or links to an item without naming its kind.
pub fn generated() -> String {
    from_documentation(&fs::read_to_string(root().join(SOURCE)).unwrap())
}

/// Returns the README for a documentation: a title, no hidden lines, absolute links, headings one level deeper.
///
/// # Panics
/// A link to an item does not name its kind, such as `struct@crate::TableClient`.
pub fn from_documentation(text: &str) -> String {
    let mut readme = String::from("# azure-table\n\n");
    let mut fence = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), None) => {
                fence = Some(language.split(',').next().unwrap_or_default());
                readme += &format!("```{}\n", fence.unwrap_or_default());
            }
            (Some(_), Some(_)) => {
                fence = None;
                readme += "```\n";
            }
            (None, Some("rust")) if line == "#" || line.starts_with("# ") => {}
            (None, Some(_)) => readme += &format!("{line}\n"),
            (None, None) if line.starts_with('#') => readme += &format!("#{line}\n"),
            (None, None) => readme += &format!("{}\n", with_absolute_links(line)),
        }
    }
    readme
}

fn with_absolute_links(line: &str) -> String {
    let mut parts = line.split("](");
    let mut absolute = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        absolute += &format!("]({}){rest}", page(target).unwrap_or_else(|| target.to_owned()));
    }
    absolute
}

/// The page of an item; `None` for any other link.
fn page(target: &str) -> Option<String> {
    let (target, fragment) = match target.split_once('#') {
        Some((target, fragment)) => (target, format!("#{fragment}")),
        None => (target, String::new()),
    };
    assert!(
        !target.starts_with("crate"),
        "{target}: name its kind, as struct@crate::…"
    );
    let (kind, path) = target.split_once("@crate::")?;
    let mut names: Vec<&str> = path.split("::").collect();
    let last = names.pop().unwrap_or_default();
    let page = match kind {
        "mod" => format!("{last}/"),
        "method" => {
            let owner = names.pop().unwrap_or_default();
            format!("struct.{owner}.html#method.{last}")
        }
        kind => format!("{kind}.{last}.html"),
    };
    let folders: String = names.iter().map(|name| format!("{name}/")).collect();
    Some(format!("{PAGES}{folders}{page}{fragment}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out_of_rust_alone() {
        let text = "# One\n```rust,no_run\n# use a::B;\n#\n#[derive(C)]\nlet d = 1;\n```\n```sh\n# all\n```\n";
        let readme = "# azure-table\n\n## One\n```rust\n#[derive(C)]\nlet d = 1;\n```\n```sh\n# all\n```\n";
        assert_eq!(from_documentation(text), readme);
    }

    #[test]
    fn items_become_pages() {
        let text = "[a](mod@crate::guide::queries#filters), [b](method@crate::Error::kind) and [c](https://d.e)";
        let links = [
            "[a](https://docs.rs/azure-table/latest/azure_table/guide/queries/#filters), ",
            "[b](https://docs.rs/azure-table/latest/azure_table/struct.Error.html#method.kind) and [c](https://d.e)",
        ];
        assert_eq!(with_absolute_links(text), links.concat());
    }
}
