//! Handles and queries that do not belong together.

use azure_table::TableEntity;

use super::{Deposit, bookings, tag};

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
