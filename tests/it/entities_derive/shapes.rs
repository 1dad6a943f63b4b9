//! Types of unusual shapes: from a macro, generic in types and numbers, with aliases of `Option`, borrowing.

use std::borrow::Cow;
use std::marker::PhantomData;

use azure_table::{Projection, PropertyGroup, TableEntity, TableOperation, TableProperty};

use super::{names, stored, table};

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

#[tokio::test]
async fn types_made_by_a_macro() {
    let table = table::<Made>().await;
    let group = MadeGroup {
        inner: 5,
        choice: MadeChoice::Other("x".into()),
    };
    let made = Made {
        pk: "p".into(),
        id: 7,
        group,
        value: 6,
        plain: 7,
        half: 8,
    };
    table.insert(&made).await.unwrap();
    let filter = Made::GROUP.field(MadeGroup::INNER).eq(5_i64) & Made::PLAIN.gt(1_i64);
    assert_eq!(table.query().filter(filter).all().await.unwrap(), [made]);
    let projected = table.query().project::<MadeProjection>().all().await.unwrap();
    assert_eq!(
        projected,
        [MadeProjection {
            pk: "p".into(),
            id: 7,
            plain: 7
        }]
    );
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

#[tokio::test]
async fn an_alias_of_option_is_an_option() {
    let table = table::<Aliases>().await;
    table.insert(&Aliases::default()).await.unwrap();
    assert_eq!(names(&stored(&table).await), [""; 0]);
    assert_eq!(table.get(()).await.unwrap(), Some(Aliases::default()));
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

#[tokio::test]
async fn generic_types() {
    let table = table::<Holder<f64, 3>>().await;
    let many = Many {
        one: 1.5,
        list: vec![2.5],
        text: None,
        bytes: [1, 2, 3],
    };
    let holder = Holder {
        many,
        kind: PhantomData,
    };
    table.insert(&holder).await.unwrap();
    let one = Holder::<f64, 3>::MANY.field(Many::<f64, 3>::ONE);
    assert_eq!(table.query().filter(one.lt(2.0)).all().await.unwrap(), [holder]);
    assert_eq!(
        azure_table::Property::to_edm(&Wrapped(5)),
        azure_table::Property::to_edm(&5)
    );
}

#[derive(TableProperty)]
struct Name<'a>(&'a str);

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
}

#[tokio::test]
async fn borrowing_types() {
    let table = table::<Aliases>().await;
    let text = String::from("text");
    let borrowing = Borrowing {
        name: Name(&text),
        kind: Kind::Other(&text),
        known: Kind::Known,
        cow: Cow::Borrowed(&text),
        json: &[1],
    };
    table.execute(TableOperation::insert(&borrowing)).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(names(&row), ["cow", "json", "kind", "known", "name"]);
    assert_eq!(row.get("known"), Some(&"Known".into()));
    assert_eq!(row.get("json"), Some(&"[1]".into()));
}
