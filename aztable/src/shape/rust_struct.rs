//! A Rust struct that reads the rows of a table.

use std::collections::BTreeSet;
use std::iter;

use azure_table::EdmType;
use heck::{ToLowerCamelCase as _, ToSnakeCase as _, ToUpperCamelCase as _};

use crate::shape::key_shapes::KeyShapes;
use crate::shape::table_shape::TableShape;
use crate::terminal::counted;

/// The names that a field has as a raw identifier only.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// The names that no field has.
const RESERVED: [&str; 3] = ["self", "super", "crate"];

/// A rule by which the name of a property follows from that of its field, and the attribute with its name.
type Rule = (&'static str, fn(&str) -> String);

const RULES: [Rule; 3] = [
    ("", str::to_owned),
    (", rename_all = \"PascalCase\"", str::to_upper_camel_case),
    (", rename_all = \"camelCase\"", str::to_lower_camel_case),
];

/// Returns the source of a struct for the rows of a table.
pub(crate) fn source(table: &str, name: Option<String>, shape: &TableShape, is_sample: bool) -> String {
    let mut taken = BTreeSet::from(["PARTITION_KEY".to_owned(), "ROW_KEY".to_owned(), "OTHERS".to_owned()]);
    let (mut fields, mut mixed) = (Vec::new(), Vec::new());
    for (property, values) in &shape.properties {
        let types: Vec<EdmType> = values.types.iter().map(|(edm_type, _)| *edm_type).collect();
        match rust_type(&types) {
            Some(rust) => fields.push((property, field_name(property, &mut taken), rust, values)),
            None => mixed.push(format!("{property}: {}", values.types_in_words())),
        }
    }
    let fits = |(_, rule): &Rule| {
        let fitting = fields.iter().filter(|(property, field, ..)| rule(field) == **property);
        fitting.count()
    };
    // The first of equal rules: without an attribute.
    let (rename_all, rule) = RULES.into_iter().rev().max_by_key(fits).unwrap_or(RULES[0]);
    let has_others = !mixed.is_empty() || shape.others > 0;

    let rows = counted(shape.rows, "row");
    let mut lines = vec![match is_sample {
        true if shape.rows == 1 => format!("// From the first row of {table}: others may differ."),
        true => format!("// From the first {rows} of {table}: others may differ."),
        false => format!("// From all of {table}: {rows}."),
    }];
    let uses = |rust: &str| fields.iter().any(|(_, _, used, _)| *used == rust);
    let mut imports = vec!["DateTime", "EdmValue", "Guid", "TableEntity"];
    imports.retain(|name| *name == "TableEntity" || *name == "EdmValue" && has_others || uses(name));
    lines.extend(has_others.then(|| "use std::collections::BTreeMap;\n".to_owned()));
    lines.push(match imports.as_slice() {
        [one] => format!("use azure_table::{one};\n"),
        imports => format!("use azure_table::{{{}}};\n", imports.join(", ")),
    });
    let name = name.unwrap_or_else(|| format!("{}Row", table.to_upper_camel_case()));
    lines.push("#[derive(Clone, Debug, PartialEq, TableEntity)]".into());
    lines.push(format!("#[table(name = {table:?}{rename_all})]\npub struct {name} {{"));
    for (key, shapes) in [("partition_key", &shape.partition_keys), ("row_key", &shape.row_keys)] {
        lines.push(format!("    // {}", words(shapes)));
        lines.push(format!("    #[table({key})]\n    pub {key}: String,"));
    }
    for (property, field, rust, values) in &fields {
        if values.types.len() > 1 {
            lines.push(format!("    // {}", values.types_in_words()));
        }
        if rule(field) != **property {
            lines.push(format!("    #[table(rename = {property:?})]"));
        }
        let optional = format!("Option<{rust}>");
        let rust = if values.rows() < shape.rows { &*optional } else { rust };
        let raw = if KEYWORDS.contains(&field.as_str()) { "r#" } else { "" };
        lines.push(format!("    pub {raw}{field}: {rust},"));
    }
    if has_others {
        lines.extend(mixed.iter().map(|mixed| format!("    // {mixed}")));
        lines.push("    #[table(extra)]\n    pub others: BTreeMap<String, EdmValue>,".into());
    }
    lines.join("\n") + "\n}"
}

/// Returns the type that reads values of all these types, or `None` if only an `EdmValue` does.
fn rust_type(types: &[EdmType]) -> Option<&'static str> {
    let all_of = |held: &[EdmType]| types.iter().all(|edm_type| held.contains(edm_type));
    // All others are sent as text, which a `String` reads.
    let is_literal = |edm_type: &EdmType| matches!(edm_type, EdmType::Boolean | EdmType::Int32 | EdmType::Double);
    match types {
        [EdmType::Boolean] => Some("bool"),
        [EdmType::Int32] => Some("i32"),
        [EdmType::DateTime] => Some("DateTime"),
        [EdmType::Guid] => Some("Guid"),
        [EdmType::Binary] => Some("Vec<u8>"),
        _ if all_of(&[EdmType::Int32, EdmType::Int64]) => Some("i64"),
        _ if all_of(&[EdmType::Int32, EdmType::Double]) => Some("f64"),
        _ if !types.iter().any(is_literal) => Some("String"),
        _ => None,
    }
}

/// Returns the name of a field. Fields differ in the names of their columns' constants.
fn field_name(property: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = property.to_snake_case();
    if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
        name.insert_str(0, "property_");
    }
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let mut names = iter::once(name.clone()).chain(numbered);
    names.find(|name| taken.insert(name.to_uppercase())).unwrap_or_default()
}

/// Returns the shapes of keys in one line.
fn words(shapes: &KeyShapes) -> String {
    let shapes = shapes.in_words();
    let mut words: Vec<_> = shapes.iter().take(3).map(|(shape, _)| shape.as_str()).collect();
    words.extend((shapes.len() > 3).then_some("…"));
    words.join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_are_unique_identifiers() {
        let mut taken = BTreeSet::from(["ROW_KEY".to_owned()]);
        for (property, field) in [
            ("PostedAt", "posted_at"),
            ("postedAt", "posted_at_2"),
            ("HTTPServer2Name", "http_server2_name"),
            ("row_key", "row_key_2"),
            ("2nd", "property_2nd"),
            ("_", "property_"),
            ("Self", "self_"),
            ("a-b", "a_b"),
            ("straße", "straße"),
            ("Strasse", "strasse_2"),
        ] {
            assert_eq!(field_name(property, &mut taken), field, "{property}");
        }
    }
}
