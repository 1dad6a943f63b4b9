//! Derived code works in strict and unusual code of the user: no prelude, every warning an error, the crate under
//! another name, and items with names that derived code might use.

/// Without the prelude, and with every warning as an error.
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
        All(All),
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
