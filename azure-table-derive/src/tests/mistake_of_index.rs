//! One test for each error in the declaration of an index, by its message, and the code of a correct one.

use super::{expansion, has, one};

const FIELDS: &str = "#[table(partition_key)] p: String, #[table(row_key)] r: u32, mail: String, name: Option<String>,";

fn index(declaration: &str) -> String {
    one(&format!("#[table({declaration})] struct S {{ {FIELDS} }}"))
}

#[test]
fn malformed_declaration_shows_the_correct_form() {
    for wrong in [
        "index",
        "index = \"by_mail\"",
        "index(by_mail)",
        "index(by_mail = mail)",
        "index(by_mail = ())",
        "index(by_mail = (mail), uniq)",
        "index(by_mail = (mail) unique)",
        "index(by_mail = (mail)) unique",
    ] {
        assert_eq!(
            index(wrong),
            "`index` takes a name and fields, then `unique` or `covers`: write `index(by_mail = (mail), unique)`",
            "{wrong}"
        );
    }
}

#[test]
fn index_names_properties_of_the_struct_once() {
    assert_eq!(
        index("index(by_mail = (mial))"),
        "no field is named `mial`: did you mean `mail`?"
    );
    assert_eq!(
        index("index(by_mail = (mail, mail))"),
        "`mail` occurs twice in the index: name a field only once"
    );
    assert_eq!(
        index("index(by_r = (r))"),
        "`r` cannot be part of an index: name a property that is stored as its plain value"
    );
    assert_eq!(
        index("index(by_mail = (mail)), index(by_mail = (name))"),
        "another index has the name `by_mail`: choose another"
    );
    assert_eq!(
        index("index(by_mail = (mail), unique, covers)"),
        "a unique index finds one row, which `get` reads: remove `covers`"
    );
    assert_eq!(
        one(&format!(
            "#[table(index(by_mail = (mail), covers))] struct S {{ {FIELDS} #[table(etag)] e: Option<ETag> }}"
        )),
        "the rows of an index have no `e` of their entity: remove `covers`, or the field"
    );
    assert_eq!(
        one(&format!("#[table(index(by_t = (t)))] struct S<T> {{ {FIELDS} t: T }}")),
        "a struct with an index has no parameters: remove them, or the index"
    );
    assert_eq!(
        index("index(mail = (name))"),
        "the index and the field `mail` have one constant, `MAIL`: rename the index"
    );
    assert_eq!(
        one(&format!(
            "#[table(index(by_mail = (mail), covers))] struct S {{ {FIELDS} #[table(write_id)] w: Option<Guid> }}"
        )),
        "the rows of an index have no `w` of their entity: remove `covers`, or the field"
    );
    assert_eq!(
        one(&format!(
            "#[table(index(by_mail = (mail), covers), upgrade = \"f\")] struct S {{ {FIELDS} }}"
        )),
        "`upgrade` reads entities, and no rows of an index: remove it, or `covers`"
    );
}

#[test]
fn index_has_an_entity_for_its_rows() {
    let code = expansion(&format!(
        "#[table(index(by_mail = (mail), unique))] #[table(index(by_name = (name, mail)))] struct S {{ {FIELDS} }}"
    ));
    has(
        &code,
        r#"#[table(row_key = "$ix;by_mail {mail}", crate = "::azure_table")]"#,
    );
    has(
        &code,
        r#"struct SByMail { #[table(partition_key)] p: String, mail: ::azure_table::key::Escaped<String>,
            #[table(rename = "IndexedRow")] __row: ::std::string::String, }"#,
    );
    has(
        &code,
        r#"#[table(row_key = "$ix;by_name {name} {mail} {r}", crate = "::azure_table")]"#,
    );
    has(&code, "const BY_NAME: ::azure_table::index::Index<SByName>");
    has(
        &code,
        "name: ::azure_table::key::Escaped(::core::clone::Clone::clone(__entity.name.as_ref()?)),",
    );
}
