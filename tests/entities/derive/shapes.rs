//! Types of unusual shapes: from a macro, generic in types and numbers, with aliases of `Option`, borrowing.

use std::borrow::Cow;
use std::marker::PhantomData;

use azure_table::{
    Projection, Property as _, PropertyGroup, Result, TableClient, TableEntity, TableOperation, TableProperty,
};

use super::{names, stored};

macro_rules! family {
    ($entity:ident, $group:ident, $choice:ident, $projection:ident, $field:ident: $type:ty) => {
        #[derive(TableProperty, Clone, Debug, Default, PartialEq)]
        enum $choice {
            #[default]
            One,
            #[table(other)]
            Other(String),
        }

        #[derive(PropertyGroup, Clone, Debug, Default, PartialEq)]
        struct $group {
            $field: $type,
            choice: $choice,
        }

        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(row_key = "{id:04}")]
        struct $entity {
            #[table(partition_key)]
            pk: String,
            id: u32,
            #[table(flatten, default)]
            group: $group,
            #[table(json, default)]
            value: $type,
            #[table(default = "Default::default")]
            plain: $type,
            #[table(with = "halves")]
            half: i32,
        }

        #[derive(Projection, Clone, Debug, PartialEq)]
        #[table(of = $entity)]
        struct $projection {
            pk: String,
            #[table(row_key)]
            id: u32,
            plain: $type,
        }
    };
}
family!(Made, MadeGroup, MadeChoice, MadeProjection, inner: i64);

mod halves {
    use azure_table::entity::WireValue;
    use azure_table::{Edm, EdmType, ValueError};

    pub(super) const EDM_TYPE: EdmType = EdmType::Int32;

    pub(super) fn to_edm(value: &i32) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Int32(*value / 2)))
    }

    pub(super) fn from_wire(value: WireValue<'_>) -> Result<i32, ValueError> {
        Ok(value.as_i32()? * 2)
    }
}

#[azure_table::test]
async fn types_made_by_a_macro(table: TableClient<Made>) -> Result<()> {
    let made = Made {
        pk: "p".into(),
        id: 7,
        group: MadeGroup {
            inner: 5,
            choice: MadeChoice::Other("x".into()),
        },
        value: 6,
        plain: 7,
        half: 8,
    };
    table.insert(&made).await?;
    let filter = Made::GROUP.field(MadeGroup::INNER).eq(5_i64) & Made::PLAIN.gt(1_i64);
    assert_eq!(table.query().filter(filter).all().await?, [made]);
    let projected = table.query().project::<MadeProjection>().all().await?;
    let [projected] = &projected[..] else {
        panic!("{projected:?}")
    };
    assert_eq!((&*projected.pk, projected.id, projected.plain), ("p", 7, 7));
    Ok(())
}

type Maybe<T> = Option<T>;

#[derive(TableEntity, Clone, Debug, Default, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Aliases {
    plain: Maybe<i32>,
    #[table(json)]
    json: Maybe<Vec<i32>>,
    #[table(chunked)]
    chunked: Maybe<String>,
}

#[azure_table::test]
async fn an_alias_of_option_is_an_option(table: TableClient<Aliases>) -> Result<()> {
    table.insert(&Aliases::default()).await?;
    assert_eq!(names(&stored(&table).await), [""; 0]);
    assert_eq!(table.get(()).await?, Some(Aliases::default()));
    Ok(())
}

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
struct Many<T, const N: usize>
where
    T: Clone,
{
    #[table(default)]
    one: T,
    #[table(json)]
    list: Vec<T>,
    #[table(chunked)]
    text: Option<String>,
    bytes: [u8; N],
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Holder<T: Clone, const N: usize> {
    #[table(flatten)]
    many: Many<T, N>,
    #[table(ignore)]
    kind: PhantomData<T>,
}

#[derive(TableProperty, Clone, Debug, PartialEq)]
struct Wrapped<T>(T);

#[azure_table::test]
async fn generic_types(table: TableClient<Holder<f64, 3>>) -> Result<()> {
    let holder = Holder {
        many: Many {
            one: 1.5,
            list: vec![2.5],
            text: None,
            bytes: [1, 2, 3],
        },
        kind: PhantomData,
    };
    table.insert(&holder).await?;
    let one = Holder::<f64, 3>::MANY.field(Many::<f64, 3>::ONE);
    assert_eq!(table.query().filter(one.lt(2.0)).all().await?, [holder]);
    assert_eq!(Wrapped(5).to_edm(), 5.to_edm());
    Ok(())
}

#[derive(TableProperty)]
struct Name<'a>(&'a str);

#[derive(PropertyGroup)]
struct Pair<'a, T> {
    left: T,
    right: &'a str,
}

#[derive(TableProperty)]
enum Kind<'a> {
    Known,
    #[table(other)]
    Other(&'a str),
}

#[derive(TableEntity)]
#[table(partition_key = "p", row_key = "r")]
struct Borrowing<'a> {
    name: Name<'a>,
    kind: Kind<'a>,
    known: Kind<'a>,
    cow: Cow<'a, str>,
    #[table(json)]
    json: &'a [i32],
    #[table(flatten)]
    pair: Pair<'a, &'a str>,
}

#[azure_table::test]
async fn borrowing_types(table: TableClient<Aliases>) -> Result<()> {
    let text = String::from("text");
    let borrowing = Borrowing {
        name: Name(&text),
        kind: Kind::Other(&text),
        known: Kind::Known,
        cow: Cow::Borrowed(&text),
        json: &[1],
        pair: Pair {
            left: &text,
            right: "r",
        },
    };
    table.execute(TableOperation::insert(&borrowing)).await?;
    let row = stored(&table).await;
    assert_eq!(names(&row), ["cow", "json", "kind", "known", "left", "name", "right"]);
    assert_eq!(row.get("known"), Some(&"Known".into()));
    assert_eq!(row.get("json"), Some(&"[1]".into()));
    assert_eq!(row.get("left"), Some(&"text".into()));
    assert_eq!(row.get("right"), Some(&"r".into()));
    Ok(())
}
