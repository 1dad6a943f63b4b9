//! The claim of azure-table-wire: it holds only what two crates name.
//!
//! A public module of it is named by two of the crates above it, or by another of its modules that is. A parent names
//! its child only if it uses it, not if it declares it.

use std::collections::BTreeSet;

use super::product;

const WIRE: &str = "azure-table-wire";

/// Methods of a parent's type, which have to be in the crate of the type.
const METHODS: [&str; 3] = [
    "azure-table-wire/src/error/in_doubt_write.rs",
    "azure-table-wire/src/error/in_doubt_write/parts.rs",
    "azure-table-wire/src/request/inbound/batch.rs",
];

#[test]
fn wire_has_only_what_two_crates_name() {
    let sources = product();
    let imports = sources.imports();
    let package = |file: usize| sources.files[file].path.split('/').next().unwrap();
    let is_wire = |file: &usize| package(*file) == WIRE;
    let all = (0..sources.files.len()).filter(is_wire);
    let is_parent = |own: usize, used: usize| {
        sources.files[used]
            .path
            .rsplit_once('/')
            .is_some_and(|(folder, _)| sources.files[own].path.strip_suffix(".rs") == Some(folder))
    };
    let name = |file: usize| sources.files[file].modules().last().copied().unwrap_or_default();
    let names = |own: usize, used: usize| {
        let is_used = || sources.files[own].skeleton.contains(&format!("{}::", name(used)));
        imports[own].contains(&used) && (!is_parent(own, used) || is_used())
    };
    let crates_of = |file: usize| -> BTreeSet<&str> {
        let users = (0..sources.files.len()).filter(|&own| names(own, file));
        users.map(package).filter(|user| *user != WIRE).collect()
    };
    let mut shared: BTreeSet<usize> = all.clone().filter(|&file| crates_of(file).len() > 1).collect();
    assert!(shared.len() > 20, "the imports were not found");
    loop {
        let next: Vec<usize> = all
            .clone()
            .filter(|file| !shared.contains(file) && shared.iter().any(|&own| names(own, *file)))
            .collect();
        if next.is_empty() {
            break;
        }
        shared.extend(next);
    }
    let is_public = |file: &usize| {
        let declared = format!("pub mod {};", name(*file));
        let is_declared = |parent: usize| is_parent(parent, *file) && sources.files[parent].code.contains(&declared);
        // A folder only declares modules.
        let is_folder = !sources.files[*file].code.contains("fn ");
        !is_folder && (0..sources.files.len()).any(is_declared)
    };
    let alone: Vec<_> = all
        .filter(|file| !shared.contains(file) && is_public(file))
        .filter(|file| !METHODS.contains(&&*sources.files[*file].path))
        .map(|file| (&*sources.files[file].path, crates_of(file)))
        .collect();
    assert!(
        alone.is_empty(),
        "modules that one crate alone names belong to that crate: {alone:#?}"
    );
}
