//! The code that the derive generates for fields other than plain properties, and for enums.

use super::{expansion, flat, has, with};

#[test]
fn conversions_pieces_and_defaults_are_straight_calls() {
    let code = expansion(&with(
        "",
        "#[table(with = \"m::n\", alias = \"old\")] a: A,
         #[table(json, default)] b: B,
         #[table(chunked, alias = \"was\")] c: C,
         #[table(write_id)] d: D,
         #[table(default = \"f::g\")] e: E,",
    ));
    let private = "::azure_table::__private";
    has(
        &code,
        &format!("edm_type: {private}::json::EDM_TYPE, aliases: &[], is_chunked: false, is_json: true"),
    );
    has(
        &code,
        &format!(
            "edm_type: <C as {private}::Chunked>::EDM_TYPE, aliases: &[\"was\"], is_chunked: true, is_json: false"
        ),
    );
    has(&code, &format!("name: \"d\", edm_type: {private}::EdmType::Guid"));
    let import = |call: &str| {
        format!(
            "{{ #[allow(unused_imports)] use {private}::lacking::*;
                {{ #[allow(unused_imports)] use m::n::*; {call} }} }}"
        )
    };
    has(
        &code,
        &format!(
            "{{ name: \"a\", edm_type: {}, aliases: &[\"old\"], is_chunked: false, is_json: false }}",
            import(&format!("{private}::Named::<_, A>::new(EDM_TYPE).edm_type()"))
        ),
    );
    has(
        &code,
        &format!(
            "{private}::Converted::write({}, __properties, \"a\")?;",
            import(&format!("{private}::lend::<_, A>(to_edm, &self.a).call_to_edm()"))
        ),
    );
    has(
        &code,
        &format!("__properties.converted(\"b\", <B as {private}::JsonField>::to_edm(&self.b))?;"),
    );
    has(
        &code,
        &format!("<C as {private}::Chunked>::write(&self.c, __properties, \"c\")?;"),
    );
    has(
        &code,
        &format!(
            "{private}::write_id(<D as {private}::Exactly<{private}::HeldWriteId>>::get(&self.d), __properties, \"d\")?;"
        ),
    );
    has(
        &code,
        &format!(
            "if let ::core::option::Option::Some(__members) = &mut {private}::aliased(__f2.is_some(), __row, \"\", &[\"old\"]) {{
                if let ::core::option::Option::Some(__property) = &__members.property()? {{
                    {private}::put(&mut __f2, {}?);
                }}
            }}",
            import(&format!("{private}::Named::<_, A>::new(from_wire).call_from_wire(__property)"))
        ),
    );
    has(
        &code,
        &format!(
            "let __f2 = {private}::missing::<A>(__f2.take().or_else(|| {private}::WhenAbsent::<A>::NEW.value()), \"\", \"a\")?;"
        ),
    );
    has(
        &code,
        "let __f3 = __f3.take().unwrap_or_else(|| <B as ::core::default::Default>::default());",
    );
    has(
        &code,
        &format!(
            "{private}::missing::<C>(<C as {private}::Chunked>::found(__row, \"\", &[\"c\", \"was\"])?.or_else(|| <C as {private}::Chunked>::absent()), \"\", \"c\")?"
        ),
    );
    has(&code, "let __f6 = __f6.take().unwrap_or_else(|| f::g());");
    for opaque in ["A", "B", "C"] {
        has(
            &code,
            &format!("#[doc(hidden)] const {opaque}: {private}::Opaque<Self, {opaque}> = {private}::Opaque::NEW;"),
        );
    }
    has(&code, "const D: ::azure_table::Column<Self, D> = ");
}

#[test]
fn flattened_fields_are_groups_of_the_schema_and_nested_columns() {
    let code = expansion(&with("", "#[table(flatten, prefix = \"Home_\")] pub home: Address"));
    let private = "::azure_table::__private";
    has(
        &code,
        &format!(
            "groups: &[{private}::GroupSchema {{
                prefix: \"Home_\",
                properties: <Address as {private}::PropertyGroup>::PROPERTIES,
                groups: <Address as {private}::PropertyGroup>::GROUPS
            }}]"
        ),
    );
    has(&code, "__properties.group::<Address>(\"Home_\", &self.home)?;");
    has(
        &code,
        &format!("<Address as {private}::ReadPropertyGroup>::read_group(__row, \"Home_\")?"),
    );
    has(
        &code,
        &format!(
            "{private}::metadata(&[{private}::MetadataLevel::None, <Address as {private}::ReadPropertyGroup>::METADATA])"
        ),
    );
    has(
        &code,
        &format!("pub const HOME: {private}::Nested<Self, Address> = {private}::Nested::new(\"Home_\");"),
    );
    has(
        &code,
        &format!("const _: () = {private}::assert_distinct(<S as ::azure_table::TableEntity>::SCHEMA);"),
    );
}

#[test]
fn all_other_properties_are_kept_or_rejected() {
    let fields = "#[table(alias = \"old\")] a: i32, #[table(chunked)] c: String, #[table(flatten)] g: G,";
    let private = "::azure_table::__private";
    let arms = format!(
        "\"old\" => {{}}
         __name if {private}::chunked::owns(\"c\", __name) => {{}}
         __name if {private}::in_group::<G>(\"\", __name) => {{}}"
    );
    let rejecting = expansion(&with("#[table(deny_unknown_properties)]", fields));
    has(
        &rejecting,
        &format!("{arms} _ => return ::core::result::Result::Err({private}::unknown(&__property)),"),
    );
    let kept = expansion(&with("", &format!("{fields} #[table(extra)] more: M")));
    has(
        &kept,
        &format!("{arms} _ => {private}::keep(&mut __extra, &__property)?,"),
    );
    has(
        &kept,
        &format!(
            "{private}::write_extra(<M as {private}::Exactly<{private}::Extra>>::get(&self.more), __properties, |__name| match __name {{ \"a\" | \"old\" | \"c\" => true,
                __name if {private}::chunked::owns(\"c\", __name) => true,
                __name if {private}::in_group::<G>(\"\", __name) => true,
                _ => false
            }})?;"
        ),
    );
    has(
        &kept,
        &format!("{private}::metadata(&[{private}::MetadataLevel::Minimal,"),
    );
}

#[test]
fn widths_are_pieces_and_are_asserted() {
    let code = expansion("#[table(partition_key = \"p\", row_key = \"{n:04}\")] struct S { n: u32 }");
    let private = "::azure_table::__private";
    has(
        &code,
        &format!("row_key: &[{private}::KeyPiece::Padded(\"n\", 4usize)]"),
    );
    has(
        &code,
        &format!("const _: () = {private}::assert_digits(<u32 as {private}::KeyField>::DIGITS);"),
    );
    let generic = expansion("#[table(partition_key = \"p\", row_key = \"{n:04}\")] struct S<N> { n: N }");
    has(
        &generic,
        &format!("const {{ {private}::assert_digits(<N as {private}::TableKey>::DIGITS) }}"),
    );
    assert!(!generic.contains("const_:"));
}

#[test]
fn enum_is_read_and_written_by_variant() {
    let code = expansion("#[table(tag = \"Kind\")] pub enum E { One(X), #[table(other)] Two(Y) }");
    let (krate, private) = ("::azure_table", "::azure_table::__private");
    has(
        &code,
        &format!("type PartitionFields = <X as {krate}::TableEntity>::PartitionFields;"),
    );
    has(&code, &format!("type KeyFields = {private}::KeysDifferByVariant;"));
    has(
        &code,
        &format!(
            "Self::One(__entity) => {{
                __properties.tag(\"Kind\", \"One\")?;
                <X as {krate}::TableEntity>::write_properties(__entity, __properties)
            }},
            Self::Two(__entity) => {{
                {private}::check_tag_of_other::<Y>(__entity, \"Kind\", &[(\"One\", \"One\")])?;
                <Y as {krate}::TableEntity>::write_properties(__entity, __properties)
            }},"
        ),
    );
    has(
        &code,
        &format!(
            "let __mark = __row.get(\"Kind\");
             if {private}::is_tag(__mark, \"One\") {{
                return <X as {krate}::ReadEntity>::read_upgraded(&{private}::untagged(__row, \"Kind\"), __removed)
                    .map(Self::One);
             }}
             <Y as {krate}::ReadEntity>::read_upgraded(__row, __removed).map(Self::Two)"
        ),
    );
    has(
        &code,
        &format!(
            "pub const ONE: {private}::Variant<Self, X> = {private}::Variant::new(const {{ {private}::VariantMark::Tag {{ property: \"Kind\", tag: \"One\" }} }});"
        ),
    );
    let code = expansion("#[table(tag = \"Kind\")] enum E { One(X) }");
    has(&code, &format!("{private}::no_tagged(\"E\", \"Kind\", __mark)"));
    let code = expansion("enum E { #[table(row_key_prefix = \"1\")] One(X) }");
    has(
        &code,
        &format!(
            "{private}::write_marked_key::<X>(__entity, __key, const {{ {private}::VariantMark::RowKeyPrefix(\"1\") }}, \"One\")"
        ),
    );
    has(&code, &format!("{private}::no_variant(\"E\")"));
    has(
        &code,
        &format!("Variant::new(const {{ {private}::VariantMark::RowKeyPrefix(\"1\") }})"),
    );
    let code = expansion("enum E<'a> { One(X<'a>) }");
    assert!(!code.contains("ReadEntity"));
    has(
        &code,
        &format!("KeyForm {{ form: &<X<'a> as {krate}::TableEntity>::SCHEMA.key, earlier: &[] }}"),
    );
}

#[test]
fn entity_of_exactly_one_variant_is_identified_by_its_type() {
    let of = |code: &str, ty: &str| code.contains(&flat(&format!("VariantOf<E> for {ty} {{")));
    let code =
        expansion("#[table(tag = \"Kind\")] enum E { One(X), Two(a::X), Three(Y), Four(Y), #[table(other)] Five(Z) }");
    has(
        &code,
        "impl ::azure_table::entity::VariantOf<E> for X {
            const VARIANT: &'static str = \"One\";
            const MARK: ::core::option::Option<::azure_table::__private::VariantMark> = ::core::option::Option::Some(
                ::azure_table::__private::VariantMark::Tag { property: \"Kind\", tag: \"One\" }
            );
            fn of(__entity: E) -> ::core::result::Result<Self, E> {
                match __entity {
                    E::One(__entity) => ::core::result::Result::Ok(__entity),
                    __entity => ::core::result::Result::Err(__entity),
                }
            }
        }",
    );
    assert!(of(&code, "a::X") && of(&code, "Z") && !of(&code, "Y"), "{code}");

    // Two types that a parameter may make equal are as uncertain as a type that is a parameter.
    let code = expansion("enum E<T, U> where T: Copy { One(X<T>), Two(X<u8>), Three(Y<U>), Four(u::Z), Five(U::Out) }");
    let of = |ty: &str| code.contains(&flat(&format!("VariantOf<E<T, U>> for {ty} where T: Copy")));
    assert!(!of("X<T>") && !of("X<u8>") && !of("Y<U>") && !of("U::Out"), "{code}");
    assert!(!of("u::Z"), "{code}");
    let code = expansion("enum E<T, U> where T: Copy { One(X<T>), Two(Y<U>), Three(u::Z) }");
    let of = |ty: &str| code.contains(&flat(&format!("VariantOf<E<T, U>> for {ty} where T: Copy")));
    assert!(of("X<T>") && of("Y<U>") && of("u::Z"), "{code}");
    has(
        &code,
        "earlier: &[(\"One\", &<X<T> as ::azure_table::TableEntity>::SCHEMA.key)]",
    );
    assert!(!expansion("enum E<'a> { One(X<'a>), Two(Y) }").contains("VariantOf"));
}
