//! The README as a stranger reads it: the text of the crate's documentation, short, with links that lead somewhere.

use std::collections::BTreeSet;
use std::fs;

use xtask::sources::{CRATES, root, rust_files};
use xtask::{chart, pages};

/// The most lines of the README.
const MAX_LINES: usize = 150;
/// The most lines above its first heading: a description, the first program, and three advantages.
const MAX_LINES_OF_FIRST_SCREEN: usize = 45;
/// The most lines of its first program, which has an entity, an insert, a get and a stream.
const MAX_LINES_OF_PROGRAM: usize = 30;

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Returns the blocks of code in this language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let mut parts = text.split("\n```");
    parts.next();
    // A closing fence follows each opening one.
    let blocks = parts.step_by(2).filter_map(|block| block.split_once('\n'));
    blocks
        .filter(|(fence, _)| fence.split(',').next() == Some(language))
        .map(|(_, code)| code)
        .collect()
}

/// The targets of links and pictures.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).collect()
}

#[test]
fn pages_are_generated_from_the_documentation_of_the_crate() {
    let mut unexpected: BTreeSet<_> = pages::guides().into_iter().map(|(path, _)| path).collect();
    for (path, text) in pages::generated() {
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == text, "{} is stale: cargo xtask pages", path.display());
        unexpected.remove(&path);
    }
    assert!(unexpected.is_empty(), "no source: {unexpected:?}");
}

#[test]
fn chart_of_performance_has_the_figures() {
    let stored = fs::read_to_string(root().join(pages::SOURCES).join("performance.md")).unwrap();
    assert!(stored == chart::redrawn(), "the chart is stale: cargo xtask pages");
}

#[test]
fn readme_is_short_and_has_programs() {
    let readme = readme();
    let lines = readme.lines().count();
    assert!(lines <= MAX_LINES, "{lines} lines");
    let rust = blocks(&readme, "rust");
    assert!(rust.len() > 4, "{} programs", rust.len());
}

#[test]
fn first_screen_has_a_description_a_program_and_three_advantages() {
    let readme = readme();
    let (screen, _) = readme.split_once("\n## ").unwrap();
    let lines = screen.lines().count();
    assert!(lines <= MAX_LINES_OF_FIRST_SCREEN, "{lines} lines");
    let (description, _) = screen.split_once("\n```rust\n").unwrap();
    let sentences = description.matches(". ").count() + description.matches(".\n").count();
    assert_eq!(sentences, 2, "{description}");
    assert_eq!(blocks(screen, "rust").len(), 1);
    let advantages: Vec<_> = screen.split("\n- **").skip(1).collect();
    assert_eq!(advantages.len(), 3, "{advantages:?}");
    for advantage in advantages {
        assert!(!links(advantage).is_empty(), "no link: {advantage}");
    }
}

#[test]
fn twenty_names_make_a_service() {
    let source = fs::read_to_string(root().join(pages::SOURCES).join("crate.md")).unwrap();
    let (_, section) = source.split_once("\n# Twenty names make a service\n").unwrap();
    let table = section.split("\n# ").next().unwrap();
    // Every other part is a code span.
    let names: BTreeSet<_> = table.split('`').skip(1).step_by(2).collect();
    assert_eq!(names.len(), 20, "{names:?}");
}

#[test]
fn first_program_is_short_and_has_its_dependencies() {
    let readme = readme();
    let program = blocks(&readme, "rust")[0];
    let steps = [
        "#[derive(TableEntity",
        "fn main",
        ".insert(",
        ".get(",
        ".query().partition(",
        ".stream()",
    ];
    for step in steps {
        assert!(program.contains(step), "no {step}");
    }
    let lines = program.lines().count();
    assert!(lines <= MAX_LINES_OF_PROGRAM, "{lines} lines");

    let manifest = blocks(&readme, "toml")[0];
    for dependency in ["\"emulator\"", "\ntokio = "] {
        assert!(manifest.contains(dependency), "the program needs {dependency}");
    }
}

#[test]
fn all_programs_use_one_entity() {
    let source = fs::read_to_string(root().join(pages::SOURCES).join("crate.md")).unwrap();
    let mut entities = BTreeSet::new();
    let programs = blocks(&source, "rust");
    for block in &programs {
        let code: String = block
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .flat_map(|line| line.split("//").next().unwrap_or_default().split_whitespace())
            .collect();
        for declared in code.split("struct").skip(1) {
            let entity = declared.split('}').next().unwrap();
            entities.insert(entity.trim_end_matches(',').to_owned());
        }
    }
    assert_eq!(entities.len(), 1, "{entities:?}");
}

#[test]
fn links_of_the_repository_lead_to_files_and_sections() {
    let readme = readme();
    let headings: BTreeSet<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(anchor)
        .collect();
    let links = links(&readme);
    for link in &links {
        if let Some(section) = link.strip_prefix('#') {
            assert!(headings.contains(section), "{link}: {headings:?}");
        } else if !link.starts_with("https://") {
            let (path, section) = link.split_once('#').unwrap_or((link, ""));
            assert!(root().join(path).exists(), "{link}");
            let text = fs::read_to_string(root().join(path)).unwrap_or_default();
            assert!(section.is_empty() || anchors(&text).contains(section), "{link}");
        }
    }
    assert!(links.len() > 20, "{links:?}");
    let own = ["docs.rs/azure-table", "crates.io/crates/azure-table"];
    assert!(
        !own.iter().any(|page| readme.contains(page)),
        "no release has these pages"
    );
}

#[test]
fn links_of_guides_lead_to_files_and_sections() {
    let mut seen = 0;
    for (path, text) in pages::guides() {
        let prose: String = text.split("\n```").step_by(2).collect();
        for link in links(&prose) {
            assert!(
                !link.contains("crate::") && !link.contains("azure_table::"),
                "{}: {link}",
                path.display()
            );
            if link.starts_with("https://") {
                continue;
            }
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => text.clone(),
                file => fs::read_to_string(path.with_file_name(file)).unwrap_or_default(),
            };
            assert!(!target.is_empty(), "{}: {link}", path.display());
            let is_found = section.is_empty() || !file.ends_with(".md") || anchors(&target).contains(section);
            assert!(is_found, "{}: {link}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen} links");
}

/// Returns the anchors of the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    // A closing fence follows each opening one, so that every other part is prose.
    let prose = text.split("\n```").step_by(2).flat_map(str::lines);
    let headings = prose.filter(|line| line.starts_with('#') && line.contains("# "));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// The command lines of a text, without their comments.
fn commands(text: &str) -> Vec<&str> {
    let lines = blocks(text, "sh").into_iter().flat_map(str::lines);
    lines
        .map(|line| line.split(" #").next().unwrap_or_default().trim())
        .collect()
}

#[test]
fn readme_contributing_and_ci_have_the_two_commands_of_a_clone() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let readme = readme();
    let (_, install) = readme.split_once("\n## Install\n").unwrap();
    let install = install.split("\n## ").next().unwrap();
    let (contributing, ci) = (read("CONTRIBUTING.md"), read(".ci/run"));
    for (step, command) in [
        ("\"quickstart\" quickstart_counts", "cargo run --example quickstart"),
        ("\"tests\"", "cargo test"),
    ] {
        assert!(
            commands(install).contains(&command),
            "{command} is not below \"Install\""
        );
        assert!(
            commands(&contributing).contains(&command),
            "{command} is not in CONTRIBUTING.md"
        );
        let step = format!("step {step} {command}");
        assert!(ci.lines().any(|line| line == step), "no {step:?} in .ci/run");
    }
    // Without `--workspace`, cargo tests the default members: all but the tools, which have a step of their own.
    let manifest = read("Cargo.toml");
    let members = |name: &str| {
        manifest
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = ").map(str::to_owned))
    };
    let all = members("members");
    let all = all.unwrap().replace("\"aztable\", \"table-parity\", ", "");
    assert_eq!(members("default-members"), Some(all));
    assert!(ci.contains("step \"tools\" tools"));
}

/// The columns of code that a page of the documentation shows.
const MAX_COLUMNS: usize = 90;

#[test]
fn code_of_pages_is_not_cut_off() {
    let mut pages = vec![root().join("README.md")];
    pages.extend(pages::guides().into_iter().map(|(path, _)| path));
    let mut wide = Vec::new();
    let mut seen = 0;
    for page in pages {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&page).unwrap();
        let mut language = None;
        for (line, number) in text.lines().zip(1..) {
            match (line.strip_prefix("```"), language) {
                (Some(fence), None) => language = fence.split(',').next(),
                (Some(_), Some(_)) => language = None,
                (None, None) => {}
                (None, Some(language)) => {
                    seen += 1;
                    // The story of an exploration has one line for each request.
                    let is_story = name == "explorations.md" && language == "text";
                    let columns = line.chars().count();
                    if columns > MAX_COLUMNS && !is_story {
                        wide.push(format!("{name}:{number}: {columns} columns"));
                    }
                }
            }
        }
    }
    assert!(seen > 1_000, "{seen} lines of code");
    assert!(wide.is_empty(), "more than {MAX_COLUMNS} columns:\n{}", wide.join("\n"));
}

/// Returns the anchor that rustdoc derives from a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// rustdoc checks the page of a link, not its section.
#[test]
fn links_of_doc_comments_lead_to_sections_of_guides() {
    let mut sections = BTreeSet::new();
    for (path, text) in pages::guides() {
        let page = path.file_stem().unwrap().to_string_lossy().into_owned();
        sections.extend(anchors(&text).into_iter().map(|section| format!("{page}#{section}")));
    }
    let mut seen = 0;
    for (path, text) in CRATES.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        for rest in text.split("::guide::").skip(1) {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-#".contains(c)));
            let target = &rest[..end.unwrap_or(rest.len())];
            if target.contains('#') {
                assert!(sections.contains(target), "{}: no section {target}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 3, "{seen} links");
}
