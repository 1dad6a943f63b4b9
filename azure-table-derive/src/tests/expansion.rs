//! The code that the derive generates.

use super::{derive, expansion, flat, has, with};

const BLOG: &str = "pub struct Blog {
    #[table(partition_key)] channel: String,
    #[table(row_key)] posted: Descending<DateTime>,
    #[table(rename = \"rtg\")] pub rating: i32,
    views: Option<i64>,
    #[table(ignore)] cached: Vec<u8>,
}";

#[test]
fn entity_has_the_schema_of_its_stored_form() {
    let blog = expansion(BLOG);
    has(
        &blog,
        "#[automatically_derived] #[allow(deprecated)] impl ::azure_table::TableEntity for Blog",
    );
    has(&blog, "type PartitionFields = (String,);");
    has(&blog, "type KeyFields = (String, Descending<DateTime>,);");
    has(
        &blog,
        "const SCHEMA: &'static ::azure_table::__private::EntitySchema = &::azure_table::__private::EntitySchema {
            name: \"Blog\",
            key: ::azure_table::__private::KeyShape {
                partition_key: &[::azure_table::__private::KeyPiece::Field(\"channel\")],
                row_key: &[::azure_table::__private::KeyPiece::Field(\"posted\")]
            },
            properties: &[
                ::azure_table::__private::PropertySchema {
                    name: \"rtg\", edm_type: <i32 as ::azure_table::__private::PropertyField>::EDM_TYPE, aliases: &[], is_chunked: false, is_json: false
                },
                ::azure_table::__private::PropertySchema {
                    name: \"views\", edm_type: <Option<i64> as ::azure_table::__private::PropertyField>::EDM_TYPE, aliases: &[], is_chunked: false, is_json: false
                }
            ],
            groups: &[],
        };",
    );
}

#[test]
fn entity_is_written_field_by_field() {
    let blog = expansion(BLOG);
    has(
        &blog,
        "<String as ::azure_table::__private::KeyField>::write(&self.channel, __key)?;
         <Descending<DateTime> as ::azure_table::__private::KeyField>::write(&self.posted, __key)?;
         ::core::result::Result::Ok(())",
    );
    has(
        &blog,
        "<i32 as ::azure_table::__private::PropertyField>::write_named(&self.rating, __properties, \"\\\"rtg\\\":\")?;
         <Option<i64> as ::azure_table::__private::PropertyField>::write_named(&self.views, __properties, \"\\\"views\\\":\")?;
         ::core::result::Result::Ok(())",
    );
    assert!(!blog.contains("fn condition"));
}

#[test]
fn entity_is_read_in_one_pass() {
    let blog = expansion(BLOG);
    has(&blog, "impl ::azure_table::ReadEntity for Blog");
    has(&blog, "::azure_table::__private::MetadataLevel::None;");
    has(
        &blog,
        "while let ::core::option::Option::Some(__field) = __members.next(&[\"rtg\", \"views\"])? {
            match __field {
                0usize => { <i32 as ::azure_table::__private::PropertyField>::read(__members, &mut __f2)?; }
                1usize => { <Option<i64> as ::azure_table::__private::PropertyField>::read(__members, &mut __f3)?; }
                _ => {}
            }
        }
        let __row = __members.row();
        let __key = __row.key_parts(&<Self as ::azure_table::TableEntity>::SCHEMA.key)?;
        let __f0 = <String as ::azure_table::__private::KeyField>::read(&__key, 0usize)?;
        let __f1 = <Descending<DateTime> as ::azure_table::__private::KeyField>::read(&__key, 1usize)?;
        let __f2 = <i32 as ::azure_table::__private::PropertyField>::required(__f2.take(), \"\", \"rtg\")?;
        let __f3 = <Option<i64> as ::azure_table::__private::PropertyField>::required(__f3.take(), \"\", \"views\")?;
        let __f4 = <Vec<u8> as ::core::default::Default>::default();
        ::core::result::Result::Ok(Self { channel: __f0, posted: __f1, rating: __f2, views: __f3, cached: __f4 })",
    );
}

#[test]
fn constant_has_the_visibility_of_its_field() {
    let blog = expansion(BLOG);
    has(
        &blog,
        "#[doc = \"The column `rtg`: the field [`rating`](field@Self::rating).\"]
         pub const RATING: ::azure_table::Column<Self, i32>
             = ::azure_table::__private::column(\"rtg\");",
    );
    has(
        &blog,
        "const CHANNEL: ::azure_table::Column<Self, String, ::azure_table::__private::InKey>
             = ::azure_table::__private::column(\"PartitionKey\");",
    );
    has(
        &blog,
        "const POSTED: ::azure_table::Column<Self, Descending<DateTime>, ::azure_table::__private::InKey>
             = ::azure_table::__private::column(\"RowKey\");",
    );
    assert!(!blog.contains("pubconstCHANNEL") && !blog.contains("CACHED"));
}

#[test]
fn constants_can_be_renamed() {
    let fields = "#[table(column = \"OTHER\")] a: i32, b: i32, r#type: i32";
    let prefixed = expansion(&with("#[table(columns = \"COL_\")]", fields));
    for name in ["COL_PK", "COL_RK", "OTHER", "COL_B", "COL_TYPE"] {
        has(&prefixed, &format!("const {name}:"));
    }
    assert!(!expansion(&with("#[table(columns = off)]", "b: i32")).contains("Column"));
}

#[test]
fn etag_and_timestamp_come_from_the_row() {
    let code = expansion(&with(
        "",
        "#[table(etag)] etag: Option<ETag>, #[table(timestamp)] at: Option<DateTime>",
    ));
    has(
        &code,
        "fn condition(&self) -> ::azure_table::__private::Condition {
            ::azure_table::__private::condition(<Option<ETag> as ::azure_table::__private::Exactly<::azure_table::__private::HeldETag>>::get(&self.etag))
        }",
    );
    has(
        &code,
        "fn set_etag(&mut self, __etag: &::azure_table::__private::ETag) {
            <Option<ETag> as ::azure_table::__private::Exactly<::azure_table::__private::HeldETag>>::set(&mut self.etag, ::core::option::Option::Some(::core::clone::Clone::clone(__etag)))
        }",
    );
    has(&code, "::azure_table::__private::MetadataLevel::Minimal;");
    has(
        &code,
        "let __f2 = <Option<ETag> as ::azure_table::__private::Exactly<::azure_table::__private::HeldETag>>::of(__row.etag());",
    );
    has(
        &code,
        "let __f3 = <Option<DateTime> as ::azure_table::__private::TimestampField>::of(__row.timestamp()?)?;",
    );
    has(
        &code,
        "const AT: ::azure_table::Column<Self, ::azure_table::__private::DateTime> = ::azure_table::__private::column(\"Timestamp\");",
    );
    has(&code, "properties: &[],");
    assert!(!code.contains("ETAG"));
}

#[test]
fn templates_become_pieces_and_flat_key_fields() {
    let code = expansion(
        "#[table(partition_key = \"{state};{city}\", row_key = \"o-{{{id}}}\")]
         struct Order { id: u32, city: String, state: String, total: f64 }",
    );
    has(&code, "type PartitionFields = (String, String,);");
    has(&code, "type KeyFields = (String, String, u32,);");
    let piece = "::azure_table::__private::KeyPiece";
    has(
        &code,
        &format!("partition_key: &[{piece}::Field(\"state\"), {piece}::Literal(\";\"), {piece}::Field(\"city\")]"),
    );
    has(
        &code,
        &format!("row_key: &[{piece}::Literal(\"o-{{\"), {piece}::Field(\"id\"), {piece}::Literal(\"}}\")]"),
    );
    has(
        &code,
        "<String as ::azure_table::__private::KeyField>::write(&self.state, __key)?; <String as ::azure_table::__private::KeyField>::write(&self.city, __key)?; <u32 as ::azure_table::__private::KeyField>::write(&self.id, __key)?;",
    );
    has(
        &code,
        "let __f0 = <u32 as ::azure_table::__private::KeyField>::read(&__key, 2usize)?; let __f1 = <String as ::azure_table::__private::KeyField>::read(&__key, 1usize)?; let __f2 = <String as ::azure_table::__private::KeyField>::read(&__key, 0usize)?;",
    );
    assert!(!code.contains("CITY"));
}

#[test]
fn constant_key_has_no_fields() {
    let code = expansion("#[table(partition_key = \"p\", row_key = \"\")] struct S {}");
    has(&code, "type PartitionFields = (); type KeyFields = ();");
    has(
        &code,
        "partition_key: &[::azure_table::__private::KeyPiece::Literal(\"p\")], row_key: &[]",
    );
    assert!(!code.contains("for__property") && !code.contains("Column"));
}

#[test]
fn explicit_name_overrides_the_rule_and_keys_have_none() {
    let code = expansion(&with(
        "#[table(rename_all = \"camelCase\")]",
        "posted_at: i32, #[table(rename = \"rtg\")] my_rating: i32",
    ));
    has(
        &code,
        "<i32 as ::azure_table::__private::PropertyField>::write_named(&self.posted_at, __properties, \"\\\"postedAt\\\":\")?;",
    );
    has(
        &code,
        "<i32 as ::azure_table::__private::PropertyField>::write_named(&self.my_rating, __properties, \"\\\"rtg\\\":\")?;",
    );
    has(&code, "::azure_table::__private::KeyPiece::Field(\"pk\")");
}

#[test]
fn raw_names_lose_their_prefix() {
    let code = expansion(
        "struct r#struct { #[table(partition_key)] r#type: String, #[table(row_key)] rk: String, r#fn: i32 }",
    );
    has(&code, "name: \"struct\",");
    has(&code, "KeyPiece::Field(\"type\")");
    has(
        &code,
        "<i32 as ::azure_table::__private::PropertyField>::write_named(&self.r#fn, __properties, \"\\\"fn\\\":\")?;",
    );
    let template = expansion("#[table(partition_key = \"{type}\", row_key = \"\")] struct S { r#type: String }");
    has(
        &template,
        "<String as ::azure_table::__private::KeyField>::write(&self.r#type, __key)?;",
    );
}

#[test]
fn borrowing_struct_is_written_only() {
    let code =
        expansion("struct S<'a> { #[table(partition_key)] a: &'a str, #[table(row_key)] b: &'a str, c: &'a [u8] }");
    has(&code, "impl<'a> ::azure_table::TableEntity for S<'a>");
    has(&code, "impl<'a> S<'a> {");
    assert!(!code.contains("ReadEntity"));
}

#[test]
fn bounds_are_added_for_types_that_mention_a_parameter() {
    let code = expansion(
        "struct S<K: Clone, T = i32> where T: Copy {
            #[table(partition_key)] k: K, #[table(row_key)] r: String, a: Option<T>, b: Option<T>, c: i32,
            #[table(ignore)] d: PhantomData<T>,
        }",
    );
    let (private, krate) = ("::azure_table::__private", "::azure_table");
    has(
        &code,
        &format!(
            "impl<K: Clone, T> {krate}::TableEntity for S<K, T>
             where T: Copy, K: {private}::TableKey, Option<T>: {private}::Property {{"
        ),
    );
    has(
        &code,
        &format!(
            "impl<K: Clone, T> {krate}::ReadEntity for S<K, T>
             where T: Copy, K: {private}::ReadTableKey, Option<T>: {private}::Property + {private}::ReadProperty,
             PhantomData<T>: ::core::default::Default {{"
        ),
    );
}

#[test]
fn custom_crate_path_is_used_everywhere() {
    let code = expansion(&with(
        "#[table(crate = \"crate::tables\")]",
        "x: i32, #[table(etag)] e: Option<ETag>",
    ));
    has(&code, "impl crate::tables::TableEntity for S");
    has(&code, "crate::tables::__private::column(\"x\")");
    assert!(!code.contains("azure_table"));
}

#[test]
fn struct_with_errors_still_has_its_impls() {
    let code = flat(&derive(&with("", "#[table(ingore)] cache: Cache, x: i32")).to_string());
    has(&code, "impl ::azure_table::TableEntity for S");
    has(&code, "type KeyFields = (String, String,);");
    has(&code, "impl ::azure_table::ReadEntity for S");
    has(&code, "const X:");
    // The user may have meant to ignore the field, so its type has no bounds.
    assert!(!code.contains("Cache"));
    let code = flat(&derive("enum E<'a> { A(&'a str), B }").to_string());
    has(&code, "impl<'a> ::azure_table::TableEntity for E<'a>");
    assert!(!code.contains("ReadEntity"));
    let code = "#[table(partition_key = \"{a}{b}\", row_key = \"{numbr};{day\")]
        struct S { a: String, b: String, number: u32, day: u32 }";
    has(
        &flat(&derive(code).to_string()),
        "type KeyFields = (String, String, u32, u32,);",
    );
}
