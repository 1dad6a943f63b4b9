//! Derived code works in strict and unusual code of the user: no prelude, every warning an error, the crate under
//! another name, and items with names that derived code might use.

/// Every attribute, without the prelude, and with every warning as an error.
mod bare {
    #![no_implicit_prelude]
    #![deny(
        warnings,
        missing_docs,
        clippy::all,
        clippy::unwrap_used,
        trivial_numeric_casts,
        unused_qualifications
    )]

    // Names of generated locals, functions and constants.
    #[expect(non_upper_case_globals, dead_code, reason = "it must not be taken for a pattern")]
    const row: i32 = 0;
    #[expect(non_upper_case_globals, dead_code, reason = "it must not be taken for a pattern")]
    const prefix: i32 = 0;
    // Nor is it taken for a discriminant.
    const __D0: i32 = 77;

    /// Types of the user with names of the prelude.
    #[expect(dead_code, reason = "they must not be taken for those of the prelude")]
    mod taken {
        pub(super) struct Box;
        pub(super) struct Option;
        pub(super) struct Result;
        pub(super) struct String;
        pub(super) struct Vec;
        pub(super) trait Clone {}
        pub(super) trait Default {}
        pub(super) trait Extend {}
        pub(super) trait From {}
        pub(super) trait Into {}
        pub(super) trait ToOwned {}
    }
    #[expect(unused_imports, reason = "derived code must not use them")]
    use self::taken::*;

    /// Methods of every type, with names of the prelude's traits.
    #[expect(dead_code, reason = "derived code must not call them")]
    trait Everywhere {
        fn as_ref(&self) {}
        fn borrow(&self) {}
        fn clone(&self) {}
        fn cmp(&self) {}
        fn default() {}
        fn eq(&self) {}
        fn extend(&self) {}
        fn from(&self) {}
        fn into(&self) {}
        fn insert(&self) {}
        fn is_empty(&self) {}
        fn iter(&self) {}
        fn len(&self) {}
        fn map(&self) {}
        fn next(&self) {}
        fn to_owned(&self) {}
        fn to_string(&self) {}
        fn try_from(&self) {}
        fn try_into(&self) {}
        fn unwrap_or_default(&self) {}
    }

    impl<T: ?::std::marker::Sized> Everywhere for T {}

    /// A mood.
    #[derive(::azure_table::TableProperty, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[table(key, rename_all = "lowercase")]
    pub(crate) enum Mood {
        /// Good.
        Good,
        /// Another.
        #[table(other)]
        Other(::std::string::String),
    }

    /// A state.
    #[derive(::azure_table::TableProperty, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    pub(crate) enum State {
        /// Open.
        #[table(rename = "open", alias = "Open")]
        Open,
    }

    /// A level.
    #[derive(
        ::azure_table::TableProperty,
        ::std::default::Default,
        ::std::clone::Clone,
        ::std::marker::Copy,
        ::std::fmt::Debug,
        ::std::cmp::PartialEq,
    )]
    #[table(integer)]
    pub(crate) enum Level {
        /// Low.
        #[default]
        Low = 3,
        /// High.
        High,
    }

    /// A number.
    #[derive(
        ::azure_table::TableProperty, ::std::clone::Clone, ::std::marker::Copy, ::std::fmt::Debug, ::std::cmp::PartialEq,
    )]
    #[table(key)]
    pub(crate) struct Number(pub(crate) u32);

    /// A group.
    #[derive(
        ::azure_table::PropertyGroup,
        ::std::clone::Clone,
        ::std::fmt::Debug,
        ::std::cmp::PartialEq,
        ::std::default::Default,
    )]
    pub(crate) struct Group {
        /// A keyword.
        pub(crate) r#type: i32,
        /// A name of a generated local.
        #[table(default, alias = "old_prefix")]
        pub(crate) prefix: i32,
        /// Text.
        #[table(chunked)]
        pub(crate) row: ::std::option::Option<::std::string::String>,
        /// JSON.
        #[table(json)]
        pub(crate) json: ::std::vec::Vec<i32>,
    }

    /// An entity with one field of each kind.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[table(row_key = "all-{row:04}", upgrade = "Self::upgraded")]
    pub(crate) struct All {
        /// The partition.
        #[table(partition_key)]
        pub(crate) key: Mood,
        /// The row.
        pub(crate) row: Number,
        /// A name of the trait.
        #[table(alias = "scheme")]
        pub(crate) schema: ::std::option::Option<bool>,
        /// A name of a generated local.
        #[table(default)]
        pub(crate) properties: i32,
        /// An enum.
        pub(crate) property: Level,
        /// A group.
        #[table(flatten, prefix = "g_", default)]
        pub(crate) name: Group,
        /// JSON.
        #[table(json)]
        pub(crate) value: ::std::option::Option<i32>,
        /// A conversion.
        #[table(with = "whole")]
        pub(crate) text: i32,
        /// Pieces.
        #[table(chunked)]
        pub(crate) long: ::std::string::String,
        /// The rest.
        #[table(extra)]
        pub(crate) extra: ::std::collections::BTreeMap<::std::string::String, ::azure_table::EdmValue>,
        /// The write.
        #[table(write_id)]
        pub(crate) write_id: ::std::option::Option<::azure_table::Guid>,
        /// The version.
        #[table(etag)]
        pub(crate) etag: ::std::option::Option<::azure_table::ETag>,
        /// The time.
        #[table(timestamp)]
        pub(crate) timestamp: ::std::option::Option<::azure_table::DateTime>,
        /// Nothing.
        #[table(ignore)]
        pub(crate) ignored: (),
    }

    #[expect(dead_code, reason = "items of the user that must not clash")]
    impl All {
        const MAX: i32 = 1;
        const SELECT: i32 = 2;
        const METADATA: i32 = 3;
        fn key(&self) -> i32 {
            Self::MAX + Self::SELECT + Self::METADATA
        }
        fn read(&self) -> i32 {
            self.key()
        }
        fn upgraded(_: &mut ::azure_table::DynamicEntity) -> ::azure_table::Result<Self> {
            ::std::unreachable!("every row is a new one")
        }
    }

    mod whole {
        use ::azure_table::entity::WireValue;
        use ::azure_table::{Edm, EdmType, ValueError};
        use ::std::option::Option::{self, Some};
        use ::std::result::Result::{self, Ok};

        pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

        pub(super) fn to_edm(value: &i32) -> Result<Option<Edm<'_>>, ValueError> {
            Ok(Some(Edm::Int32(*value)))
        }

        pub(super) fn from_wire(value: WireValue<'_>) -> Result<i32, ValueError> {
            value.as_i32()
        }
    }

    /// An entity with indexes.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[table(
        name = "Bare",
        partition_key = "t-{row}",
        rename_all = "PascalCase",
        columns = "COLUMN_",
        deny_unknown_properties,
        index(by_mail = (mail), unique),
        index(by_name = (name, prefix), covers)
    )]
    pub(crate) struct Indexed {
        /// A name of a generated local.
        pub(crate) row: ::std::string::String,
        /// The row.
        #[table(row_key)]
        pub(crate) key: u32,
        /// A unique value.
        #[table(rename = "eMail", column = "MAIL")]
        pub(crate) mail: ::std::string::String,
        /// A value that may be absent.
        pub(crate) name: ::std::option::Option<::std::string::String>,
        /// A name of a generated local.
        pub(crate) prefix: Number,
        /// An older name.
        pub(crate) state: State,
        /// A default.
        #[table(default = "fallback")]
        pub(crate) rows: i32,
    }

    fn fallback() -> i32 {
        7
    }

    /// Rows of several kinds.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    pub(crate) enum Item {
        /// An entity.
        All(All),
        /// Anything else.
        #[table(other)]
        Other(::azure_table::DynamicEntity),
    }

    /// The same with a tag, and without other rows.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[table(tag = "Kind")]
    pub(crate) enum Tagged {
        /// An entity.
        #[table(rename = "Every")]
        All(All),
    }

    /// Marked by their RowKeys.
    #[derive(::azure_table::TableEntity, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    pub(crate) enum Prefixed {
        /// An entity.
        #[table(row_key_prefix = "all-", column = "EVERY")]
        All(All),
        /// Anything else.
        #[table(other)]
        Other(::azure_table::DynamicEntity),
    }

    /// Some columns.
    #[derive(::azure_table::Projection, ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[table(of = All)]
    pub(crate) struct Some {
        /// A key.
        #[table(row_key)]
        pub(crate) row: Number,
        /// A column.
        pub(crate) schema: ::std::option::Option<bool>,
        /// Another.
        #[table(default)]
        pub(crate) property: Level,
    }
}

/// The crate under another name, and constants that would conflict.
mod renamed {
    use azure_table as tables;

    #[derive(tables::PropertyGroup, Clone, Debug, PartialEq)]
    #[table(crate = "tables", columns = off)]
    pub(super) struct Group {
        pub(super) max: i32,
    }

    impl Group {
        pub(super) const MAX: i32 = 5;
    }

    #[derive(tables::TableProperty, Clone, Debug, PartialEq)]
    #[table(crate = "tables", key)]
    pub(super) enum Kind {
        First,
    }

    #[derive(tables::TableEntity, Clone, Debug, PartialEq)]
    #[table(crate = "tables", row_key = "r-{id}", columns = "COLUMN_")]
    pub(super) struct Row {
        #[table(partition_key)]
        pub(super) kind: Kind,
        pub(super) id: u32,
        #[table(flatten, prefix = "g_")]
        pub(super) group: Group,
        pub(super) max: i32,
    }

    impl Row {
        pub(super) const MAX: i32 = 6;
    }

    #[derive(tables::TableEntity, Clone, Debug, PartialEq)]
    #[table(crate = "tables")]
    pub(super) enum Rows {
        Row(Row),
    }

    #[derive(tables::Projection, Clone, Debug, PartialEq)]
    #[table(crate = "tables", of = Row)]
    pub(super) struct Max {
        #[table(column = "COLUMN_MAX")]
        pub(super) max: i32,
    }
}

use azure_table::{DynamicEntity, Result, TableClient};
use azure_table_patterns::Indexed;

/// The derive's tables have the names of the options of items, fields and variants.
#[test]
fn module_has_every_attribute_on_each_kind_of_item() {
    let (_, tables) = include_str!("../../../azure-table-derive/src/attr/table.rs")
        .split_once("\noptions! {")
        .unwrap();
    let (_, own) = include_str!("strict.rs").split_once("mod bare").unwrap();
    let (own, _) = own.split_once("mod renamed").unwrap();
    // Each attribute, and the line after it.
    let attributes = own.split("#[table(").skip(1).filter_map(|rest| {
        let (attribute, rest) = rest.split_once("]\n")?;
        Some((attribute, rest.lines().next()?.trim()))
    });
    let attributes: Vec<(&str, &str)> = attributes.collect();
    let is_on = |kind: &str, line: &str| match kind {
        "Item" => line.contains(" struct ") || line.contains(" enum "),
        "Field" => line.starts_with("pub(crate)") && line.contains(": "),
        _ => line.starts_with(char::is_uppercase),
    };
    let mut count = 0;
    for table in tables.split("Attrs on ").skip(1) {
        let (kind, options) = table.split_once(" {").unwrap();
        let options = options.lines();
        let names = options.filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once("\" ")?.0));
        for name in names.filter(|name| *name != "crate") {
            let has_it = |(attribute, line): &(&str, &str)| {
                let mut words = attribute.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                is_on(kind, line) && words.any(|word| word == name)
            };
            assert!(attributes.iter().any(has_it), "no #[table({name})] on a {kind}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[azure_table::test]
async fn derived_indexes_work_in_strict_surroundings(table: TableClient<bare::Indexed>) -> Result<()> {
    let indexed = bare::Indexed {
        row: "r".into(),
        key: 1,
        mail: "ada@x".into(),
        name: Some("Ada".into()),
        prefix: bare::Number(2),
        state: bare::State::Open,
        rows: 3,
    };
    let rows = Indexed::open(&table).await?;
    rows.build(bare::Indexed::BY_MAIL).await?.ensure_none_taken()?;
    rows.build(bare::Indexed::BY_NAME).await?.ensure_none_taken()?;
    rows.insert(&indexed).await?;
    let by_mail = rows.by(bare::Indexed::BY_MAIL, ("r", "ada@x"))?.first().await?;
    let by_name = rows.by(bare::Indexed::BY_NAME, ("r", "Ada"))?.all().await?;
    assert_eq!((by_mail, by_name), (Some(indexed.clone()), vec![indexed]));
    Ok(())
}

#[azure_table::test]
async fn derived_code_works_in_strict_surroundings(table: TableClient<bare::Item>) -> Result<()> {
    use bare::{All, Group, Item, Level, Mood, Number, Some as Projected, Tagged};
    let all = All {
        key: Mood::Good,
        row: Number(7),
        schema: None,
        properties: 1,
        property: Level::High,
        name: Group {
            r#type: 1,
            prefix: 2,
            row: Some("x".into()),
            json: vec![1],
        },
        value: Some(5),
        text: 6,
        long: "long".into(),
        extra: Default::default(),
        write_id: None,
        etag: None,
        timestamp: None,
        ignored: (),
    };
    table.insert(&Item::All(all.clone())).await?;
    let read = table.query().all().await?.remove(0);
    let Item::All(found) = read else { panic!("{read:?}") };
    assert!(found.write_id.is_some() && found.etag.is_some() && found.timestamp.is_some());
    let plain = All {
        write_id: None,
        etag: None,
        timestamp: None,
        ..found
    };
    assert_eq!(plain, all);
    let filter = All::NAME.field(Group::TYPE).eq(1) & All::PROPERTY.eq(Level::High) & All::KEY.eq(Mood::Good);
    let rows = table.typed::<DynamicEntity>().typed::<All>();
    let projected = rows.query().filter(filter).project::<Projected>().all().await?;
    let expected = Projected {
        row: Number(7),
        schema: None,
        property: Level::High,
    };
    assert_eq!(projected, [expected]);

    let tagged = table.typed::<Tagged>();
    tagged.insert(&Tagged::All(All { row: Number(8), ..all })).await?;
    let Tagged::All(found) = tagged.query().filter(Tagged::ALL.only()).all().await?.remove(0);
    assert_eq!((found.row, found.extra.len()), (Number(8), 0));
    Ok(())
}

#[azure_table::test]
async fn the_crate_may_have_another_name(table: TableClient<renamed::Rows>) -> Result<()> {
    use renamed::{Group, Kind, Max, Row, Rows};
    let row = Row {
        kind: Kind::First,
        id: 1,
        group: Group { max: Group::MAX },
        max: Row::MAX,
    };
    table.insert(&Rows::Row(row.clone())).await?;
    let query = table.query().partition(Kind::First);
    let rows = query.filter(Rows::ROW.field(Row::COLUMN_MAX).eq(6)).all().await?;
    assert_eq!(rows, [Rows::Row(row)]);
    let rows = table.typed::<DynamicEntity>().typed::<Row>();
    let max = rows.get((Kind::First, 1)).project::<Max>().await?;
    assert_eq!(max, Some(Max { max: 6 }));
    Ok(())
}
