//! Enums of entities: one query, several kinds of rows.

use std::collections::BTreeMap;

use azure_table::entity::{MetadataLevel, VariantOf};
use azure_table::{
    DateTime, Descending, DynamicEntity, ETag, EdmValue, ErrorKind, PropertyGroup, ReadEntity, Result, TableClient,
    TableEntity, Versioned,
};

use super::{assert_unreadable, names, row};

/// The beginning of the RowKey selects the variant.
mod by_prefix {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "0001_{id}")]
    pub(super) struct Customer {
        #[table(partition_key)]
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) name: String,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Order {
        #[table(partition_key)]
        pub(super) shop: String,
        #[table(row_key)]
        pub(super) key: String,
        pub(super) total: f64,
        #[table(etag)]
        pub(super) etag: Option<ETag>,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) enum Item {
        #[table(row_key_prefix = "0001_")]
        Customer(Customer),
        #[table(row_key_prefix = "0002_", column = "ORDERS")]
        Order(Order),
        #[table(other)]
        Unknown(DynamicEntity),
    }
}

#[azure_table::test]
async fn variants_are_selected_by_the_prefix_of_the_row_key(table: TableClient<by_prefix::Item>) -> Result<()> {
    use by_prefix::{Customer, Item, Order};
    let customer = Customer {
        shop: "s".into(),
        id: 1,
        name: "Ada".into(),
    };
    let order = Order {
        shop: "s".into(),
        key: "0002_x".into(),
        total: 2.5,
        etag: None,
    };
    table.insert(&Item::Customer(customer.clone())).await?;
    table.insert(&Item::Order(order.clone())).await?;
    let other = row(("s", "0003"), [("X", 1_i64.into())]);
    table.insert(&Item::Unknown(other)).await?;

    let items = table.query().partition("s").all().await?;
    assert_eq!(items.len(), 3);
    assert_eq!(items[0], Item::Customer(customer.clone()));
    assert!(matches!(&items[1], Item::Order(read) if read.etag.is_some() && read.total == 2.5));
    assert!(matches!(&items[2], Item::Unknown(row) if row.get("X") == Some(&EdmValue::Int64(1))));
    assert_eq!(Item::METADATA, MetadataLevel::Minimal);

    for filter in [
        Item::CUSTOMER.only(),
        Item::CUSTOMER.field(Customer::NAME).eq("Ada"),
        Item::ORDERS.field(Order::TOTAL).gt(3.0) | Item::CUSTOMER.only(),
    ] {
        let text = filter.to_string();
        assert_eq!(table.query().filter(filter).all().await?.len(), 1, "{text}");
    }

    // The condition selects the variant.
    table.replace(&items[1]).await?;
    let stale = table.replace(&items[1]).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::ConditionNotMet);
    table.delete(&items[0]).await?;
    assert_eq!(table.get(&items[0]).await?, None);

    let wrong = Item::Order(Order {
        key: "0001_x".into(),
        ..order
    });
    let error = table.insert(&wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "RowKey \"0001_x\": the RowKey of the variant `Order` begins with \"0002_\"";
    assert!(error.to_string().contains(why), "{error}");
    Ok(())
}

/// A property selects the variant.
mod by_tag {
    use super::*;

    #[derive(PropertyGroup, Clone, Debug, PartialEq)]
    pub(super) struct Size {
        pub(super) width: i32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(deny_unknown_properties)]
    pub(super) struct Photo {
        #[table(partition_key)]
        pub(super) album: String,
        #[table(row_key)]
        pub(super) id: String,
        #[table(flatten)]
        pub(super) size: Size,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Video {
        #[table(partition_key)]
        pub(super) album: String,
        #[table(row_key)]
        pub(super) id: u32,
        pub(super) seconds: i32,
        #[table(extra)]
        pub(super) extra: BTreeMap<String, EdmValue>,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(tag = "Kind", rename_all = "snake_case", columns = "ONLY_")]
    pub(super) enum Media {
        Photo(Photo),
        ShortVideo(Video),
        #[table(rename = "long")]
        LongVideo(Video),
    }
}

#[azure_table::test]
async fn variants_are_selected_by_a_tag(table: TableClient<by_tag::Media>) -> Result<()> {
    use by_tag::{Media, Photo, Size, Video};
    let photo = Photo {
        album: "a".into(),
        id: "x".into(),
        size: Size { width: 3 },
    };
    let video = |id, seconds| Video {
        album: "a".into(),
        id,
        seconds,
        extra: BTreeMap::new(),
    };
    let media = [
        Media::ShortVideo(video(1, 5)),
        Media::LongVideo(video(2, 500)),
        Media::Photo(photo),
    ];
    for item in &media {
        table.insert(item).await?;
    }
    assert_eq!(table.query().partition("a").all().await?, media);
    let rows = table.typed::<DynamicEntity>().query().all().await?;
    let tags: Vec<_> = rows.iter().filter_map(|row| row.get("Kind")).collect();
    assert_eq!(tags, [&"short_video".into(), &"long".into(), &"photo".into()]);
    assert_eq!(names(&rows[2]), ["Kind", "width"]);

    let long = Media::ONLY_LONG_VIDEO.field(Video::SECONDS).gt(1);
    assert_eq!(table.query().filter(long).all().await?, media[1..2]);
    assert_eq!(table.query().filter(Media::ONLY_PHOTO.only()).all().await?, media[2..]);

    // An entity is written as it was read: the tag is not an extra property.
    for item in table.query().all().await? {
        table.replace(&item).await?;
    }
    assert_eq!(table.query().all().await?, media);

    let mut video = video(1, 5);
    video.extra.insert("Kind".into(), "photo".into());
    let error = table.replace(&Media::ShortVideo(video)).await.unwrap_err();
    let why = "property `Kind`: the entity has it, and it distinguishes the variants";
    assert!(error.to_string().contains(why), "{error}");

    let versioned: Versioned<Media> = table.get(&media[0]).versioned().await?.unwrap();
    table.replace(&versioned).await?;
    let stale = table.replace(&versioned).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::ConditionNotMet);

    let mut row = rows[0].clone();
    row.insert("Kind", "audio");
    let why = "the row matches no variant of `Media`: its `Kind` is \"audio\"";
    assert_unreadable(&table, &row, why).await;
    // A variant that is written as its own type has no tag.
    row.properties.remove("Kind");
    let why = "it has no property `Kind`, which distinguishes the variants: write it as the enum";
    assert_unreadable(&table, &row, why).await;
    Ok(())
}

/// A segment of the RowKey that is not its beginning selects the variant.
mod by_form {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "{posted}_order")]
    pub(super) struct Order {
        #[table(partition_key)]
        pub(super) shop: String,
        pub(super) posted: Descending<DateTime>,
        pub(super) total: i32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "{posted}_refund")]
    pub(super) struct Refund {
        #[table(partition_key)]
        pub(super) customer: String,
        pub(super) posted: Descending<DateTime>,
        pub(super) reason: String,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "settings")]
    pub(super) struct Settings {
        #[table(partition_key)]
        pub(super) shop: String,
        pub(super) dark: bool,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) enum Entry {
        Order(Order),
        Refund(Refund),
        Settings(Settings),
        #[table(other)]
        Other(DynamicEntity),
    }
}

#[azure_table::test]
async fn variants_are_selected_by_the_form_of_their_keys(table: TableClient<by_form::Entry>) -> Result<()> {
    use by_form::{Entry, Order, Refund, Settings};
    let posted = |seconds| DateTime::from_unix_seconds(seconds).into();
    let order = |at, total| {
        let (shop, posted) = ("s".into(), posted(at));
        Entry::Order(Order { shop, posted, total })
    };
    let refund = Refund {
        customer: "s".into(),
        posted: posted(2),
        reason: "broken".into(),
    };
    let settings = Settings {
        shop: "s".into(),
        dark: true,
    };
    let entries = [
        order(3, 1),
        Entry::Refund(refund),
        order(1, 2),
        Entry::Settings(settings),
    ];
    for entry in &entries {
        table.insert(entry).await?;
    }
    assert_eq!(table.query().partition("s").all().await?, entries);
    assert_eq!(table.get(&entries[1]).await?.as_ref(), Some(&entries[1]));
    table.typed().insert(&DynamicEntity::new("s", "zzz")).await?;
    let all = table.query().all().await?;
    assert!(matches!(&all[4], Entry::Other(row) if row.row_key == "zzz"));
    for (filter, found) in [
        (Entry::SETTINGS.field(Settings::DARK).eq(true), &entries[3..]),
        (Entry::ORDER.field(Order::TOTAL).gt(1), &entries[2..3]),
    ] {
        assert_eq!(table.query().filter(filter).all().await?, found);
    }

    let mut batch = table.batch();
    for entry in &entries {
        batch.merge(entry)?;
    }
    batch.submit().await?;

    let forged = Entry::Other(DynamicEntity::new("s", "settings"));
    let error = table.insert_or_replace(&forged).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "RowKey \"settings\": it has the form of the variant `Settings`";
    assert!(error.to_string().contains(why), "{error}");
    Ok(())
}

/// Enums may borrow, and can then only be written, and may be generic.
#[derive(TableEntity)]
#[table(partition_key = "p", row_key = "b-{id}")]
struct Borrowed<'a> {
    id: u32,
    text: &'a str,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "g-{id}")]
struct Generic<T> {
    id: u32,
    value: T,
}

#[derive(TableEntity)]
#[table(columns = off)]
enum Written<'a> {
    Borrowed(Borrowed<'a>),
    Generic(Generic<&'a str>),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
enum Either<T> {
    Generic(Generic<T>),
    #[table(other)]
    Other(DynamicEntity),
}

#[azure_table::test]
async fn enums_may_borrow_and_may_be_generic(table: TableClient<Either<String>>) -> Result<()> {
    let text = String::from("text");
    for written in [
        Written::Borrowed(Borrowed { id: 1, text: &text }),
        Written::Generic(Generic { id: 2, value: &text }),
    ] {
        table.execute(azure_table::TableOperation::insert(&written)).await?;
    }
    let read = table.query().all().await?;
    assert!(matches!(&read[0], Either::Other(row) if row.get("text") == Some(&"text".into())));
    assert_eq!(read[1], Either::Generic(Generic { id: 2, value: text }));
    let generic = Either::<String>::GENERIC.field(Generic::<String>::VALUE);
    assert_eq!(table.query().filter(generic.eq("text")).all().await?.len(), 1);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Tagged {
    #[table(rename = "fixed")]
    Fixed(Fixed),
    #[table(other)]
    Other(DynamicEntity),
}

#[azure_table::test]
async fn row_of_other_that_would_be_read_as_a_variant_is_rejected(
    items: TableClient<by_prefix::Item>,
    rows: TableClient<Tagged>,
) -> Result<()> {
    let other = by_prefix::Item::Unknown(DynamicEntity::new("s", "0001_x"));
    let error = items.insert(&other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "RowKey \"0001_x\": it begins with \"0001_\", as the RowKeys of the variant `Customer`";
    assert!(error.to_string().contains(why), "{error}");

    let mut row = row(("p", "r"), [("Kind", "fixed".into())]);
    let error = rows.insert(&Tagged::Other(row.clone())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let why = "property `Kind`: \"fixed\" is the tag of the variant `Fixed`";
    assert!(error.to_string().contains(why), "{error}");
    // A tag that no variant has stays with its row.
    row.insert("Kind", "Fixed");
    rows.insert(&Tagged::Other(row.clone())).await?;
    let read = rows.query().all().await?;
    assert!(matches!(&read[0], Tagged::Other(other) if other.properties == row.properties));
    rows.delete(&read[0]).await?;
    Ok(())
}

/// The type parameters select no variant: a row that fits two variants fits neither alone.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind", columns = off)]
enum Several<T, U, const N: usize>
where
    T: Clone,
{
    First(Generic<T>),
    Second(Generic<U>),
    Third(Generic<String>),
    Wide(Wide<N>),
    Fixed(Fixed),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind", columns = off)]
enum Any<T> {
    Whatever(T),
    Fixed(Fixed),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(columns = off)]
enum Sole<T> {
    Generic(Generic<T>),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "s-{id}")]
struct Wide<const N: usize> {
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "fixed")]
struct Fixed {
    value: i32,
}

macro_rules! of_types {
    ($name:ident: $($variant:ident $ty:ty),*) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(tag = "Kind", columns = off)]
        enum $name {
            $($variant($ty)),*
        }
    };
}
of_types!(OfTypes: One Fixed, Two Wide<1>, Three Wide<2>, Four Wide<1>);

#[test]
fn entities_of_generic_enums_are_their_variants() {
    fn name<E, V: VariantOf<E>>() -> &'static str {
        V::VARIANT
    }
    type Mixed = Several<i32, i64, 3>;
    assert_eq!(name::<Mixed, Wide<3>>(), "Wide");
    assert_eq!(name::<Mixed, Fixed>(), "Fixed");
    assert_eq!(name::<Versioned<Mixed>, Versioned<DynamicEntity>>(), "Other");
    assert_eq!(name::<Sole<i32>, Generic<i32>>(), "Generic");
    assert_eq!(name::<Either<String>, Generic<String>>(), "Generic");
    assert_eq!(name::<OfTypes, Fixed>(), "One");
    assert_eq!(name::<OfTypes, Wide<2>>(), "Three");

    let fixed = Fixed { value: 1 };
    let any = Any::<Fixed>::Fixed(fixed.clone());
    assert!(matches!(any, Any::Fixed(_)));
    assert_eq!(Fixed::of(Mixed::Fixed(fixed.clone())), Ok(fixed.clone()));
    let other = Mixed::Wide(Wide { id: 1 });
    assert_eq!(Fixed::of(other.clone()), Err(other));
    let sole = Sole::Generic(Generic { id: 1, value: 2 });
    assert_eq!(Generic::of(sole), Ok(Generic { id: 1, value: 2 }));
}
