//! Handles and queries of different tables or variants: the client rejects them before anything is sent.

use azure_table::testing::Spy;
use azure_table::{
    CallOptions, DynamicEntity, Emulator, Error, ErrorKind, TableClient, TableEntity, TableServiceClient,
};

use super::super::stored;
use super::{Booking, Deposit, Fee, bookings, deposit, fee, tag};

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

/// A table and its requests.
async fn all() -> (TableClient<All>, Spy) {
    let spy = Spy::new(Emulator::new());
    let all = TableServiceClient::from_transport(spy.clone())
        .table::<All>("Things")
        .unwrap();
    all.create_table().await.unwrap();
    spy.clear();
    (all, spy)
}

#[tokio::test]
async fn variant_of_a_variant_is_rejected_before_anything_is_sent() {
    let (all, spy) = all().await;
    let nested = all.variant::<Booking>().variant::<Fee>();
    let mut outer = all.variant::<Booking>().batch();
    let errors = [
        nested.insert(&fee(1)).await.unwrap_err(),
        nested
            .insert(&fee(1))
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap_err(),
        nested.insert(&fee(1)).request_text().unwrap_err(),
        nested.clone().typed::<Fee>().get(("a", 1)).await.unwrap_err(),
        nested.delete(("a", 1)).await.unwrap_err(),
        nested.query().all().await.unwrap_err(),
        nested.delete_where(nested.query()).await.unwrap_err().into(),
        nested.batch().insert(&fee(1)).unwrap_err().into(),
        nested.batch().delete(("a", 1)).unwrap_err().into(),
        outer.variant().insert(&fee(1)).unwrap_err().into(),
        nested.bulk().insert([fee(1)]).await.unwrap_err().into(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let text = error.to_string();
        let expected = "`Fee` is a variant of the variant `Booking` of `All`";
        assert!(text.contains(expected), "{text}");
    }
    assert!(spy.exchanges().is_empty(), "{:?}", spy.exchanges());
    assert!(outer.is_empty());
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
    // A handle of another type concerns the whole table again.
    let again = bookings.variant::<Fee>().typed::<All>();
    assert_eq!(again.query().all().await.unwrap(), [All::Booking(Booking::Fee(fee(1)))]);
}

fn assert_of_another_handle(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let text = error.to_string();
    assert!(text.contains("create the query with the handle that writes"), "{text}");
}

#[tokio::test]
async fn query_of_another_handle_writes_no_row_of_another_variant() {
    let (bookings, fees) = bookings().await;
    fees.insert(&fee(2)).await.unwrap();
    let deposits = bookings.variant::<Deposit>();
    let plain = bookings.typed::<DynamicEntity>().typed::<Deposit>();
    let more = |deposit: &mut Deposit| deposit.cents += 1;

    let errors = [
        deposits.update_where(plain.query(), more).await.unwrap_err(),
        plain.update_where(deposits.query(), more).await.unwrap_err(),
        deposits.delete_where(plain.query()).await.unwrap_err(),
        deposits
            .patch_where(plain.query(), [Deposit::CENTS.set(0)])
            .await
            .unwrap_err(),
        deposits.upgrade_where(plain.query()).await.unwrap_err(),
    ];
    for error in errors {
        assert_of_another_handle(error.error());
    }
    let rows = [deposit(1), Booking::Fee(fee(2))];
    assert_eq!(bookings.query().all().await.unwrap(), rows);

    // Queries of another handle of the same variant are equal.
    let same = bookings.variant::<Deposit>();
    assert_eq!(deposits.update_where(same.query(), more).await.unwrap().applied(), 1);
    assert_eq!(tag(&bookings, 1).await, Some("Deposit".into()));
}

/// Another type with a variant's name, keys and property names.
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
    // Nor is it the type of the handle, whose tag it would get.
    let others = bookings.variant::<Deposit>().typed::<elsewhere::Deposit>();
    let other = elsewhere::Deposit {
        account: "a".into(),
        at: 2,
        cents: 0.5,
    };
    others.insert(&other).await.unwrap();
    assert_eq!(tag(&bookings, 2).await, None);
}
