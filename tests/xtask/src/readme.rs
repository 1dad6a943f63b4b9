//! The READMEs, generated from the documentation of the crate: one for the repository, one for the registry.
//!
//! Contains what differs between the texts: hidden lines, links, and the level of headings. The text itself is
//! `azure-table/docs/crate.md`, which the crate includes as its documentation. In the repository, links to guides and
//! the names of files become relative links. On the registry, only docs.rs is reachable.

use std::fs;

use crate::links::body;
use crate::sources::root;

/// The documentation of the crate, from the root of the checkout.
pub const SOURCE: &str = "azure-table/docs/crate.md";

/// The pages of the latest release.
const PAGES: &str = "https://docs.rs/azure-table/latest/azure_table/";

/// The place where a README is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// A checkout or a code host.
    Repository,
    /// The page of the crate on the registry.
    Registry,
}

impl Place {
    /// Returns the file of its README, from the root of the checkout.
    pub fn file(self) -> &'static str {
        match self {
            Self::Repository => "README.md",
            Self::Registry => "azure-table/README.md",
        }
    }

    /// Returns the link for a label of the documentation; `None` if the place has no page for it.
    fn link(self, label: &str) -> Option<String> {
        if self == Self::Registry {
            return Some(page(label));
        }
        let guide = label.strip_prefix("guide::")?;
        let (guide, section) = guide.split_at(guide.find('#').unwrap_or(guide.len()));
        Some(format!("azure-table/docs/{guide}.md{section}"))
    }
}

/// Returns the README that belongs to the documentation of this checkout.
///
/// # Panics
/// The documentation cannot be read, or links to an item without naming its kind.
pub fn generated(place: Place) -> String {
    from_documentation(&fs::read_to_string(root().join(SOURCE)).unwrap(), place)
}

/// Returns the README for a documentation: a title, no hidden lines, links for the place, headings one level deeper.
///
/// # Panics
/// A link to an item does not name its kind, such as `struct@TableClient`.
pub fn from_documentation(text: &str, place: Place) -> String {
    let mut readme = String::from("# azure-table\n\n");
    let mut fence = None;
    for line in body(text).lines() {
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
            (None, None) => readme += &format!("{}\n", with_files(&with_links(line, place), place)),
        }
    }
    readme
}

/// Replaces links by label.
fn with_links(line: &str, place: Place) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("][") {
        let (Some(start), Some((label, after))) = (before.rfind('['), after.split_once(']')) else {
            break;
        };
        let name = &before[start + 1..];
        text += &before[..start];
        text += &match place.link(label) {
            Some(link) => format!("[{name}]({link})"),
            None => name.to_owned(),
        };
        rest = after;
    }
    text + rest
}

/// Links the files of the checkout, in a README of the repository.
fn with_files(line: &str, place: Place) -> String {
    if place == Place::Registry {
        return line.to_owned();
    }
    let is_file = |span: &str| (span.contains('/') || span.ends_with(".md")) && root().join(span).exists();
    // Every other part is a code span.
    let parts = line.split('`').zip([false, true].into_iter().cycle());
    let parts = parts.map(|(part, is_code)| match is_code {
        true if is_file(part) => format!("[`{part}`]({part})"),
        true => format!("`{part}`"),
        false => part.to_owned(),
    });
    parts.collect()
}

/// Returns the page of a label.
fn page(label: &str) -> String {
    let (path, fragment) = label.split_at(label.find('#').unwrap_or(label.len()));
    let (kind, path) = match path.split_once('@') {
        Some(both) => both,
        None => ("mod", path),
    };
    assert!(
        kind != "mod" || !path.contains(char::is_uppercase),
        "{label}: name its kind, as struct@…"
    );
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
    format!("{PAGES}{folders}{page}{fragment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out_of_rust_alone() {
        let text = "# One\n```rust,no_run\n# use a::B;\n#\n#[derive(C)]\nlet d = 1;\n```\n```sh\n# all\n```\n";
        let readme = "# azure-table\n\n## One\n```rust\n#[derive(C)]\nlet d = 1;\n```\n```sh\n# all\n```\n";
        assert_eq!(from_documentation(text, Place::Registry), readme);
    }

    #[test]
    fn labels_become_pages_on_the_registry() {
        let text = "[a][guide::queries#filters], [b][method@Error::kind] and [c](https://d.e)";
        let links = [
            "[a](https://docs.rs/azure-table/latest/azure_table/guide/queries/#filters), ",
            "[b](https://docs.rs/azure-table/latest/azure_table/struct.Error.html#method.kind) and [c](https://d.e)",
        ];
        assert_eq!(with_links(text, Place::Registry), links.concat());
    }

    #[test]
    fn labels_and_files_become_paths_in_the_repository() {
        let text = "[a][guide::queries#filters], [`kind`][method@Error::kind], `examples/README.md`, `no/file.md`";
        let links = "[a](azure-table/docs/queries.md#filters), `kind`, \
                     [`examples/README.md`](examples/README.md), `no/file.md`";
        let place = Place::Repository;
        assert_eq!(with_files(&with_links(text, place), place), links);
    }
}
