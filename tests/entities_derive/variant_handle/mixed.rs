//! Handles and queries that do not belong together: the client rejects them before anything is sent.

use azure_table::testing::Spy;
use azure_table::{Emulator, ErrorKind, TableClient, TableEntity, TableServiceClient};

use super::super::stored;
use super::{Booking, Deposit, Fee, bookings, fee, tag};

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Note {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
}

/// An enum whose variant is itself an enum.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Outer")]
enum All {
    Booking(Booking),
    Note(Note),
}

/// A table and what was sent of it.
async fn all() -> (TableClient<All>, Spy) {
    let spy = Spy::new(Emulator::new());
    let all = TableServiceClient::on(spy.clone()).table::<All>("Things").unwrap();
    all.create_table().await.unwrap();
    spy.clear();
    (all, spy)
}

#[tokio::test]
async fn variant_of_a_variant_is_rejected_before_anything_is_sent() {
    let (all, spy) = all().await;
    let nested = all.variant::<Booking>().variant::<Fee>();
    let mut batch = nested.batch();
    batch.insert(&fee(1)).unwrap();
    let errors = [
        nested.insert(&fee(1)).await.unwrap_err(),
        nested.insert(&fee(1)).via_batch().await.unwrap_err(),
        nested.insert(&fee(1)).request().unwrap_err(),
        nested.clone().typed::<Fee>().get(("a", 1)).await.unwrap_err(),
        nested.delete(("a", 1)).await.unwrap_err(),
        nested.query().all().await.unwrap_err(),
        nested.delete_where(nested.query()).await.unwrap_err().into(),
        batch.commit().await.unwrap_err(),
        nested.bulk().insert([fee(1)]).await.unwrap_err().into(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let text = error.to_string();
        let expected = "`Fee` is a variant of the variant `Booking` of `All`";
        assert!(text.contains(expected), "{text}");
    }
    assert!(spy.exchanges().is_empty(), "{:?}", spy.exchanges());
}

#[tokio::test]
async fn variant_that_is_an_enum_has_both_tags() {
    let (all, _) = all().await;
    let bookings = all.variant::<Booking>();
    bookings.insert(&Booking::Fee(fee(1))).await.unwrap();
    let row = stored(&all).await;
    let tags = (row.get("Outer"), row.get("Kind"));
    assert_eq!(tags, (Some(&"Booking".into()), Some(&"charge".into())));
    assert_eq!(bookings.query().all().await.unwrap(), [Booking::Fee(fee(1))]);
    // A handle of another type is one of the whole table again.
    let again = bookings.variant::<Fee>().typed::<All>();
    assert_eq!(again.query().all().await.unwrap(), [All::Booking(Booking::Fee(fee(1)))]);
}

/// Another type of a variant's name, keys and property names.
mod elsewhere {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Deposit {
        #[table(partition_key)]
        pub(super) account: String,
        #[table(row_key)]
        pub(super) at: u32,
        pub(super) cents: f64,
    }
}

#[tokio::test]
async fn type_with_other_property_types_is_no_variant() {
    let (bookings, _) = bookings().await;
    let others = bookings.typed::<elsewhere::Deposit>();
    assert!(others.get(("a", 1)).await.is_err(), "its cents are no double");
    // Nor is it the type of the handle, whose tag it would be given.
    let others = bookings.variant::<Deposit>().typed::<elsewhere::Deposit>();
    let other = elsewhere::Deposit {
        account: "a".into(),
        at: 2,
        cents: 0.5,
    };
    others.insert(&other).await.unwrap();
    assert_eq!(tag(&bookings, 2).await, None);
}
