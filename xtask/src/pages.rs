//! The pages that are generated from the documentation of the crates: the guides for a checkout, and two READMEs.
//!
//! The sources are in `src/guide` of each crate, and rustdoc reads them as they are. A page differs in what rustdoc
//! alone understands: hidden lines of programs, links to items, and headings below the name of a module. In a
//! checkout, links lead to other files: those to items, to the files that declare them. On the registry, only docs.rs is
//! reachable.
//!
//! The client cannot name the items of a crate above it. It links to that crate's guides on docs.rs, and a checkout has
//! their files instead.

use std::fs;
use std::path::PathBuf;

use crate::items;
use crate::sources::root;

/// The folder of the client's sources, from the root of the checkout.
pub const SOURCES: &str = "azure-table/src/guide";

/// The folders of the crates with guides. The sources are below in `src/guide`, the guides for a checkout in `docs`.
const CRATES: [&str; 2] = [CLIENT, PATTERNS];
const CLIENT: &str = "azure-table";
const PATTERNS: &str = "azure-table-patterns";

/// The documentation of the client, which docs.rs has on one page. The READMEs have its text above `END`; the section
/// below has a page of its own in a checkout.
const FRONT: &str = "crate";
const END: &str = "<!-- The READMEs end here. -->\n\n# Features\n";
const FEATURES: &str = "features";
/// The list of the client's guides, which is the documentation of their module.
const INDEX: &str = "crate::guide::index";

/// The pages of the client's latest release.
const RELEASE: &str = "https://docs.rs/azure-table/latest/azure_table/";

/// The page of the patterns, and their guides in the latest release.
const PAGE_OF_PATTERNS: &str = "https://docs.rs/azure-table-patterns";
const GUIDES_OF_PATTERNS: &str = "https://docs.rs/azure-table-patterns/latest/azure_table_patterns/guide/";

/// Guides whose title is not the name of their module.
const TITLES: [(&str, &str); 6] = [
    ("compared", "Compared with other clients"),
    ("index", "Guides"),
    ("migrate_azure_data_tables", "Migrate from azure_data_tables"),
    ("migrate_azurite", "Coming from Azurite"),
    ("migrate_dotnet", "Migrate from .NET"),
    ("migrate_others", "Migrate from Java, JavaScript or Python"),
];

/// The place where a page is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// The root of a checkout.
    Root,
    /// The folder of the guides of this crate in a checkout.
    Guides(&'static str),
    /// The page of the client on the registry.
    Registry,
}

impl Place {
    /// Returns the target of a link to an item or an address.
    fn link(self, target: &str) -> String {
        let paths = ["crate::", "azure_table::"];
        let is_item = paths
            .iter()
            .any(|path| target.starts_with(path) || target.contains(&format!("@{path}")));
        let front = target
            .strip_prefix(FRONT)
            .filter(|section| section.is_empty() || section.starts_with('#'));
        let own = match self {
            Self::Guides(own) => own,
            Self::Root => CLIENT,
            Self::Registry if is_item => return released(target),
            Self::Registry => return front.map_or(target.to_owned(), |section| format!("{RELEASE}{section}")),
        };
        let above = if self == Self::Root { "" } else { "../../" };
        if let Some(section) = front {
            let features = || format!("{above}{CLIENT}/docs/{FEATURES}.md");
            let is_below = section.strip_prefix('#') == Some(FEATURES);
            return if is_below {
                features()
            } else {
                format!("{above}README.md{section}")
            };
        }
        let target = if target == "mod@crate::guide" { INDEX } else { target };
        let folder = |of: &str| match self {
            Self::Guides(own) if own == of => String::new(),
            Self::Guides(_) => format!("../../{of}/docs/"),
            _ => format!("{of}/docs/"),
        };
        let guides = [
            ("crate::guide::", own),
            ("azure_table::guide::", CLIENT),
            (GUIDES_OF_PATTERNS, PATTERNS),
        ];
        let guide = guides
            .into_iter()
            .find_map(|(prefix, of)| Some((target.strip_prefix(prefix)?, of)));
        match guide {
            Some((guide, of)) => {
                let (guide, section) = guide.split_at(guide.find('#').unwrap_or(guide.len()));
                format!("{}{}.md{section}", folder(of), guide.trim_end_matches('/'))
            }
            None if target == PAGE_OF_PATTERNS => format!("{}patterns.md", folder(PATTERNS)),
            None if is_item => format!("{above}{}", items::file_of(target)),
            None => target.to_owned(),
        }
    }
}

/// Returns the generated files, with their contents.
///
/// # Panics
/// A source cannot be read, or a link of the front page does not name the kind of its item.
pub fn generated() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for (package, (path, text)) in CRATES.into_iter().flat_map(|package| {
        let sources = read(&format!("{package}/src/guide")).into_iter();
        sources.map(move |source| (package, source))
    }) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == FRONT {
            let (text, features) = readme(&text);
            pages.push((root().join("README.md"), page(CLIENT, text, Place::Root)));
            let registry = page(CLIENT, text, Place::Registry);
            pages.push((root().join(CLIENT).join("README.md"), registry));
            pages.push(guide(package, FEATURES, features));
        } else {
            pages.push(guide(package, &name, &text));
        }
    }
    pages
}

/// Returns the part of the client's documentation that the READMEs have, and the section below.
fn readme(source: &str) -> (&str, &str) {
    let (above, below) = source.split_once(END).unwrap_or((source, ""));
    (above.trim_end(), below.trim_start())
}

/// Returns the file of a guide in the checkout, with its text.
fn guide(package: &'static str, name: &str, source: &str) -> (PathBuf, String) {
    let file = root().join(package).join("docs").join(format!("{name}.md"));
    (file, page(&title(name), source, Place::Guides(package)))
}

/// Returns the sources of all crates, with their texts.
///
/// # Panics
/// A source cannot be read.
pub fn sources() -> Vec<(PathBuf, String)> {
    let folders = CRATES.map(|package| format!("{package}/src/guide"));
    folders.iter().flat_map(|folder| read(folder)).collect()
}

/// Returns the guides of the checkout, of all crates, with their texts.
///
/// # Panics
/// A guide cannot be read.
pub fn guides() -> Vec<(PathBuf, String)> {
    let folders = CRATES.map(|package| format!("{package}/docs"));
    folders.iter().flat_map(|folder| read(folder)).collect()
}

fn read(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    paths.sort();
    let texts = paths.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    });
    texts.collect()
}

/// Returns the title of a guide.
fn title(name: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(of, _)| *of == name) {
        return (*title).to_owned();
    }
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}

/// Returns the page of a source: a title, no hidden lines, links for the place, headings one level deeper.
fn page(title: &str, source: &str, place: Place) -> String {
    let mut page = format!("# {title}\n\n");
    let mut prose = String::new();
    let mut fence = None;
    for line in source.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), None) => {
                page += &with_links(&prose, place);
                prose.clear();
                // As rustdoc reads it: code without a language is Rust.
                let language = language.split(',').next().unwrap_or_default();
                fence = Some(if language.is_empty() { "rust" } else { language });
                page += &format!("```{}\n", fence.unwrap_or_default());
            }
            (Some(_), Some(_)) => {
                fence = None;
                page += "```\n";
            }
            (None, Some("rust")) if line == "#" || line.starts_with("# ") => {}
            // Blank lines around hidden ones are hidden too.
            (None, Some("rust")) if line.is_empty() && (page.ends_with("```rust\n") || page.ends_with("\n\n")) => {}
            (None, Some(_)) => page += &format!("{line}\n"),
            (None, None) if line.starts_with('#') => prose += &format!("#{line}\n"),
            (None, None) => prose += &format!("{}\n", with_files(line, place)),
        }
    }
    (page + &with_links(&prose, place)).replace("\n\n```\n", "\n```\n")
}

/// Replaces links to items and guides by those of the place.
fn with_links(prose: &str, place: Place) -> String {
    let mut text = String::new();
    let mut rest = prose;
    while let Some((before, after)) = rest.split_once("](") {
        let (target, after) = after.split_once(')').unwrap_or((after, ""));
        let start = beginning(before);
        text += &before[..start];
        let name = &before[start + 1..];
        text += &format!("[{name}]({})", place.link(target));
        rest = after;
    }
    text + rest
}

/// Returns the position of the bracket that opens the name of a link. The name may contain pairs of brackets.
fn beginning(before: &str) -> usize {
    let mut depth = 0;
    let brackets = before.char_indices().rev().filter(|(_, c)| "[]".contains(*c));
    for (at, bracket) in brackets {
        match bracket {
            ']' => depth += 1,
            _ if depth == 0 => return at,
            _ => depth -= 1,
        }
    }
    panic!("a link without a name: {before}")
}

/// Links the files of the checkout, in the README at its root.
fn with_files(line: &str, place: Place) -> String {
    if place != Place::Root {
        return line.to_owned();
    }
    let is_file = |span: &str| {
        let (path, _) = span.split_once('#').unwrap_or((span, ""));
        (path.contains('/') || path.ends_with(".md")) && root().join(path).exists()
    };
    // Every other part is a code span.
    let parts = line.split('`').zip([false, true].into_iter().cycle());
    let parts = parts.map(|(part, is_code)| match is_code {
        true if is_file(part) => format!("[`{part}`]({part})"),
        true => format!("`{part}`"),
        false => part.to_owned(),
    });
    parts.collect()
}

/// Returns the page of an item in the release.
fn released(item: &str) -> String {
    let (path, fragment) = item.split_at(item.find('#').unwrap_or(item.len()));
    let (kind, path) = path.split_once('@').unwrap_or(("mod", path));
    assert!(
        kind != "mod" || !path.contains(char::is_uppercase),
        "{item}: name its kind, as struct@…"
    );
    let mut names: Vec<&str> = path.trim_start_matches("crate::").split("::").collect();
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
    format!("{RELEASE}{folders}{page}{fragment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out_of_rust_alone() {
        let text = "# One\n```\n# use a::B;\n#\n\n#[derive(C)]\nlet d = 1;\n\n# e\n```\n```sh\n# all\n```\n";
        let expected = "# A\n\n## One\n```rust\n#[derive(C)]\nlet d = 1;\n```\n```sh\n# all\n```\n";
        assert_eq!(page("A", text, Place::Guides(CLIENT)), expected);
    }

    #[test]
    fn items_become_pages_on_the_registry() {
        let text = "[a](crate::guide::queries#filters), [b](method@crate::Error::kind) and [c](https://d.e)";
        let links = [
            "[a](https://docs.rs/azure-table/latest/azure_table/guide/queries/#filters), ",
            "[b](https://docs.rs/azure-table/latest/azure_table/struct.Error.html#method.kind) and [c](https://d.e)",
        ];
        assert_eq!(with_links(text, Place::Registry), links.concat());
    }

    #[test]
    fn guides_and_files_become_paths_in_the_checkout() {
        let text = "[a\nb](crate::guide::queries#filters), [`#[c(d)]`](macro@crate::TableEntity#c), `examples/README.md`, \
                    `DESIGN.md#e`, `no/file.md`";
        let root = "[a\nb](azure-table/docs/queries.md#filters), \
                    [`#[c(d)]`](azure-table/src/entity/table_entity.rs), \
                    [`examples/README.md`](examples/README.md), [`DESIGN.md#e`](DESIGN.md#e), `no/file.md`";
        assert_eq!(with_links(&with_files(text, Place::Root), Place::Root), root);
        let guide = "[a\nb](queries.md#filters), [`#[c(d)]`](../../azure-table/src/entity/table_entity.rs), \
                     `examples/README.md`, `DESIGN.md#e`, `no/file.md`";
        assert_eq!(with_links(text, Place::Guides(CLIENT)), guide);
    }

    #[test]
    fn readme_ends_above_the_marker() {
        let text = format!("One.\n\n{END}\nTwo.\n");
        assert_eq!(readme(&text), ("One.", "Two.\n"));
    }

    #[test]
    fn front_page_and_list_of_guides_have_a_page_everywhere() {
        let text = "[a](crate), [b](crate#features), [d](mod@crate::guide)";
        let places = [
            (
                Place::Root,
                "[a](README.md), [b](azure-table/docs/features.md), [d](azure-table/docs/index.md)",
            ),
            (
                Place::Guides(CLIENT),
                "[a](../../README.md), [b](../../azure-table/docs/features.md), [d](index.md)",
            ),
            (
                Place::Registry,
                "[a](https://docs.rs/azure-table/latest/azure_table/), \
                 [b](https://docs.rs/azure-table/latest/azure_table/#features), \
                 [d](https://docs.rs/azure-table/latest/azure_table/guide/)",
            ),
        ];
        for (place, links) in places {
            assert_eq!(with_links(text, place), links);
        }
    }

    #[test]
    fn guides_of_another_crate_become_paths_to_its_folder() {
        let text = "[a](crate::guide::patterns#b), [c](azure_table::guide::queries#d), [e](azure_table::Error::kind)";
        let guide = "[a](patterns.md#b), [c](../../azure-table/docs/queries.md#d), \
                     [e](../../azure-table-wire/src/error.rs)";
        assert_eq!(with_links(text, Place::Guides(PATTERNS)), guide);

        let text = format!("[a]({GUIDES_OF_PATTERNS}systems/#b), [c]({PAGE_OF_PATTERNS})");
        let folder = "azure-table-patterns/docs";
        let places = [(Place::Root, ""), (Place::Guides(CLIENT), "../../")];
        for (place, above) in places {
            let links = format!("[a]({above}{folder}/systems.md#b), [c]({above}{folder}/patterns.md)");
            assert_eq!(with_links(&text, place), links);
        }
        assert_eq!(with_links(&text, Place::Registry), text);
    }
}
