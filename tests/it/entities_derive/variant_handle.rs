//! A handle to the rows of one variant of an enum of entities: it writes the tag or prefix, and reads no other rows.

use azure_table::batch::BatchRule;
use azure_table::{
    CallOptions, Change, Deletion, DynamicEntity, EdmValue, ErrorKind, Key, TableClient, TableEntity, TableOperation,
};

use super::table;

mod mixed;

/// A tag selects the variant; the keys of both have the same form.
mod by_tag {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Deposit {
        #[table(partition_key)]
        pub(super) account: String,
        #[table(row_key)]
        pub(super) at: u32,
        pub(super) cents: i64,
    }

    /// For it, the tag is not a separate property.
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(deny_unknown_properties)]
    pub(super) struct Fee {
        #[table(partition_key)]
        pub(super) account: String,
        #[table(row_key)]
        pub(super) at: u32,
        #[table(alias = "amount")]
        pub(super) cents: i64,
        pub(super) reason: Option<String>,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(tag = "Kind")]
    pub(super) enum Booking {
        Deposit(Deposit),
        #[table(rename = "charge")]
        Fee(Fee),
    }
}
use by_tag::{Booking, Deposit, Fee};

fn fee(at: u32) -> Fee {
    Fee {
        account: "a".into(),
        at,
        cents: 5,
        reason: None,
    }
}

fn deposit(at: u32) -> Booking {
    Booking::Deposit(Deposit {
        account: "a".into(),
        at,
        cents: 100,
    })
}

/// A table with a deposit at 1, and the handle to its fees.
async fn bookings() -> (TableClient<Booking>, TableClient<Fee>) {
    let bookings = table::<Booking>().await;
    bookings.insert(&deposit(1)).await.unwrap();
    let fees = bookings.variant::<Fee>();
    (bookings, fees)
}

/// The tag of the row at `at`.
async fn tag<E: TableEntity>(table: &TableClient<E>, at: u32) -> Option<EdmValue> {
    let key = Key::from_text("a", format!("{at:010}")).unwrap();
    let row = table.typed::<DynamicEntity>().get(key).await.unwrap().unwrap();
    row.get("Kind").cloned()
}

#[tokio::test]
async fn every_write_of_a_variant_handle_has_the_tag() {
    let (bookings, fees) = bookings().await;
    let charge = Some(EdmValue::from("charge"));
    fees.insert(&fee(2)).await.unwrap();
    assert_eq!(fees.insert_returning(&fee(3)).await.unwrap().entity, fee(3));
    fees.insert_or_replace(&fee(4)).await.unwrap();
    fees.insert_or_merge(&fee(5)).await.unwrap();
    assert!(fees.insert_if_not_exists(&fee(6)).await.unwrap().is_some());
    fees.modify(("a", 7), |_| ()).or_insert(|| fee(7)).await.unwrap();
    let mut batch = fees.batch();
    batch.insert(&fee(8)).unwrap().insert_or_merge(&fee(9)).unwrap();
    batch
        .insert_or_replace(&fee(10))
        .unwrap()
        .insert_returning(&fee(11))
        .unwrap();
    let results = batch.submit().await.unwrap();
    assert_eq!(results[3].entity::<Fee>().unwrap(), Some(fee(11)));
    assert_eq!(fees.bulk().insert([fee(12)]).await.unwrap().leftovers().len(), 0);
    assert_eq!(
        fees.bulk()
            .insert_or_replace([&fee(13)])
            .await
            .unwrap()
            .leftovers()
            .len(),
        0
    );
    assert_eq!(
        fees.bulk().insert_or_merge([fee(14)]).await.unwrap().leftovers().len(),
        0
    );
    let mut writer = fees.writer();
    writer.insert(&fee(15)).await.unwrap();
    writer.insert_or_replace(&fee(16)).await.unwrap();
    writer.insert_or_merge(&fee(17)).await.unwrap();
    assert_eq!(writer.close().await.unwrap().leftovers().len(), 0);
    for at in 2..=17 {
        assert_eq!(tag(&bookings, at).await, charge, "row {at}");
    }

    // Writes over an existing row: a replace drops the properties that it does not have.
    fees.replace(&fee(2)).await.unwrap();
    fees.merge(&fee(3)).await.unwrap();
    fees.modify(("a", 4), |fee| fee.cents = 1).await.unwrap();
    let mut batch = fees.batch();
    batch.replace(&fee(5)).unwrap().merge(&fee(6)).unwrap();
    batch.submit().await.unwrap();
    assert_eq!(fees.bulk().replace([fee(7)]).await.unwrap().leftovers().len(), 0);
    assert_eq!(fees.bulk().merge([fee(8)]).await.unwrap().leftovers().len(), 0);
    fees.patch(("a", 9), [Fee::CENTS.set(2)]).await.unwrap();
    let report = fees.patch_where(Fee::CENTS.eq(2), [Fee::CENTS.set(3)]).await.unwrap();
    assert_eq!(report.applied(), 1);
    let all = fees.query().partition("a");
    let report = fees
        .update_where(all.clone(), |fee| fee.reason = Some("r".into()))
        .await;
    assert_eq!(report.unwrap().applied(), 16);
    // A property is removed, which needs a replace.
    let report = fees.update_where(all, |fee| fee.reason = None).await.unwrap();
    assert_eq!(report.applied(), 16);
    for at in 2..=17 {
        assert_eq!(tag(&bookings, at).await, charge, "row {at}");
    }
    assert_eq!(bookings.query().all().await.unwrap().len(), 17);
}

#[tokio::test]
async fn upgrades_of_a_variant_keep_its_tag_and_leave_other_rows_alone() {
    let (bookings, fees) = bookings().await;
    let mut old = DynamicEntity::new("a", "0000000002");
    old.insert("Kind", "charge");
    old.insert("amount", 7_i64);
    bookings.typed().insert(&old).await.unwrap();
    assert_eq!(fees.upgrade_where(fees.query()).await.unwrap().applied(), 1);
    assert_eq!(fees.upgrade_where(fees.query()).await.unwrap().applied(), 0);
    assert_eq!(
        fees.upgrade_where(fees.query()).drop_unknown().await.unwrap().applied(),
        0
    );
    old.etag = None;
    bookings.typed().insert_or_replace(&old).await.unwrap();
    assert_eq!(
        fees.upgrade_where(fees.query()).drop_unknown().await.unwrap().applied(),
        1
    );
    assert_eq!(tag(&bookings, 2).await, Some("charge".into()));
    assert_eq!(bookings.query().all().await.unwrap().len(), 2);
}

#[tokio::test]
async fn queries_of_a_variant_handle_select_its_rows_alone() {
    let (_, fees) = bookings().await;
    assert_eq!(fees.bulk().insert([fee(2), fee(3)]).await.unwrap().leftovers().len(), 0);
    let query = || fees.query().partition("a");
    assert_eq!(query().all().await.unwrap(), [fee(2), fee(3)]);
    assert_eq!(query().filter(Fee::CENTS.eq(5)).all().await.unwrap().len(), 2);
    assert!(query().request_text().unwrap().contains("Kind%20eq%20%27charge%27"));
    assert_eq!(query().count().await.unwrap(), 2);
    assert_eq!(query().keys().all().await.unwrap().len(), 2);
    assert_eq!(query().versioned().all().await.unwrap()[0].entity, fee(2));
    assert_eq!(query().select((Fee::CENTS,)).all().await.unwrap(), [(5,), (5,)]);
    assert_eq!(query().lenient().all().await.unwrap().len(), 2);
    let seen = query().skip_bad_rows(|bad| panic!("{bad:?}")).all().await.unwrap();
    assert_eq!(seen.len(), 2);
    let names = query().resolve(|row| Ok(row.properties().len())).all().await.unwrap();
    assert_eq!(names, [1, 1], "the tag is no property of the variant");
    let (mut scanned, mut rows) = (0, fees.query().scan().stream());
    while rows.try_next().await.unwrap().is_some() {
        scanned += 1;
    }
    assert_eq!(scanned, 2);
    assert_eq!(fees.delete_where(fees.query()).await.unwrap().applied(), 2);
}

#[tokio::test]
async fn a_row_of_another_variant_is_an_error_that_names_its_tag() {
    let (bookings, fees) = bookings().await;
    let errors = [
        fees.get(("a", 1)).await.unwrap_err(),
        fees.get(("a", 1)).versioned().await.unwrap_err(),
        fees.get(("a", 1)).select((Fee::CENTS,)).await.unwrap_err(),
        fees.modify(("a", 1), |fee| fee.cents = 0).await.unwrap_err(),
        fees.get_many([("a", 1)]).all().await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        let text = error.to_string();
        let expected = "the row is not of the variant `Fee`: its `Kind` is \"Deposit\", not \"charge\"";
        assert!(text.contains(expected), "{text}");
    }
    let retrieved = fees.execute(TableOperation::get::<Fee>(("a", 1))).await.unwrap();
    assert!(retrieved.entity::<Fee>().is_err());
    assert_eq!(bookings.get(&deposit(1)).await.unwrap(), Some(deposit(1)));

    // Rows of the variant, and missing rows, are not errors.
    fees.insert(&fee(2)).await.unwrap();
    assert!(fees.exists(("a", 2)).await.unwrap());
    assert!(!fees.exists(("a", 3)).await.unwrap());
    assert_eq!(fees.get(("a", 2)).select((Fee::CENTS,)).await.unwrap(), Some((5,)));
    assert_eq!(fees.get_many([("a", 2), ("a", 3)]).all().await.unwrap().len(), 2);
    let kept = fees.modify(("a", 2), |_| Change::Keep).await.unwrap();
    assert_eq!(kept.entity, fee(2));
    assert_eq!(fees.delete_if_exists(("a", 2)).await.unwrap(), Deletion::Deleted);

    let untagged = DynamicEntity::new("a", "0000000004");
    bookings.typed().insert(&untagged).await.unwrap();
    let text = fees.get(("a", 4)).await.unwrap_err().to_string();
    assert!(text.contains("it has no property `Kind`, not \"charge\""), "{text}");
}

#[tokio::test]
async fn row_of_another_variant_is_missing_for_a_handle() {
    let (bookings, fees) = bookings().await;
    assert!(!fees.exists(("a", 1)).await.unwrap());
    assert!(
        !fees
            .exists(("a", 1))
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap()
    );
    assert!(bookings.variant::<Deposit>().exists(("a", 1)).await.unwrap());
}

#[tokio::test]
async fn handles_of_other_types_forget_the_variant_and_the_same_type_keeps_it() {
    let (bookings, fees) = bookings().await;
    fees.typed::<Fee>().insert(&fee(2)).await.unwrap();
    assert_eq!(tag(&bookings, 2).await, Some("charge".into()));
    fees.clone().insert(&fee(3)).await.unwrap();
    fees.with(&azure_table::CallOptions::new())
        .insert(&fee(4))
        .await
        .unwrap();
    assert_eq!(fees.query().all().await.unwrap().len(), 3);
    assert_eq!(fees.typed::<Booking>().query().all().await.unwrap().len(), 4);
    assert_eq!(
        fees.typed::<Booking>()
            .variant::<Deposit>()
            .query()
            .all()
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(fees.settings().to_string().contains("rows: of the variant Fee"));
}

/// The beginning of the RowKey selects the variant.
mod by_prefix {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Rate {
        #[table(partition_key)]
        pub(super) account: String,
        #[table(row_key)]
        pub(super) key: String,
        pub(super) percent: f64,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "owner_{number}")]
    pub(super) struct Owner {
        #[table(partition_key)]
        pub(super) account: String,
        pub(super) number: u8,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) enum Item {
        #[table(row_key_prefix = "rate_")]
        Rate(Rate),
        #[table(row_key_prefix = "owner_")]
        Owner(Owner),
        #[table(other)]
        Other(DynamicEntity),
    }
}

#[tokio::test]
async fn a_variant_handle_keeps_to_the_prefix_of_its_row_keys() {
    use by_prefix::{Item, Owner, Rate};
    let items = table::<Item>().await;
    let rate = |key: &str| Rate {
        account: "a".into(),
        key: key.into(),
        percent: 1.5,
    };
    let owner = Owner {
        account: "a".into(),
        number: 1,
    };
    let (rates, owners) = (items.variant::<Rate>(), items.variant::<Owner>());
    rates.insert(&rate("rate_2020")).await.unwrap();
    owners.insert(&owner).await.unwrap();
    for key in ["owner_001", "2020"] {
        let error = rates.insert(&rate(key)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("begins with \"rate_\""), "{error}");
    }
    assert_eq!(rates.query().partition("a").all().await.unwrap(), [rate("rate_2020")]);
    assert_eq!(rates.query().partition("a").count().await.unwrap(), 1);
    assert_eq!(owners.query().all().await.unwrap(), [owner]);
    let error = rates.get(("a", "owner_001")).await.unwrap_err().to_string();
    assert!(
        error.contains("its RowKey \"owner_001\" does not begin with \"rate_\""),
        "{error}"
    );
}

/// The form of the keys selects the variant. The second variant accepts every RowKey.
mod by_form {
    use super::*;

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(row_key = "{at}_order")]
    pub(super) struct Order {
        #[table(partition_key)]
        pub(super) shop: String,
        pub(super) at: u32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) struct Note {
        #[table(partition_key)]
        pub(super) shop: String,
        #[table(row_key)]
        pub(super) key: String,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    pub(super) enum Entry {
        Order(Order),
        Note(Note),
    }
}

#[tokio::test]
async fn a_variant_handle_keeps_to_the_form_of_its_keys() {
    use by_form::{Entry, Note, Order};
    let entries = table::<Entry>().await;
    let note = |key: &str| Note {
        shop: "s".into(),
        key: key.into(),
    };
    let order = Order {
        shop: "s".into(),
        at: 1,
    };
    let (orders, notes) = (entries.variant::<Order>(), entries.variant::<Note>());
    orders.insert(&order).await.unwrap();
    notes.insert(&note("x")).await.unwrap();
    let error = notes.insert(&note("0000000002_order")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("it has the form of the variant `Order`"),
        "{error}"
    );

    // The service cannot filter by the form: rows of the other variant are dropped after they arrive.
    assert_eq!(notes.query().all().await.unwrap(), [note("x")]);
    assert_eq!(orders.query().all().await.unwrap(), std::slice::from_ref(&order));
    assert_eq!(orders.query().count().await.unwrap(), 1);
    assert_eq!(notes.query().keys().all().await.unwrap().len(), 1);
    assert_eq!(orders.query().lenient().all().await.unwrap().len(), 1);
    assert_eq!(notes.delete_where(notes.query()).await.unwrap().applied(), 1);
    assert_eq!(orders.query().first().await.unwrap(), Some(order));
    let error = notes.get(("s", "0000000001_order")).await.unwrap_err().to_string();
    assert!(
        error.contains("its keys have the form of the variant `Order`"),
        "{error}"
    );
    assert!(orders.get(Key::from_text("s", "x").unwrap()).await.unwrap().is_none());
}

#[tokio::test]
async fn batch_takes_rows_of_single_variants_with_their_tags() {
    let (bookings, fees) = bookings().await;
    let deposit = |at| Deposit {
        account: "a".into(),
        at,
        cents: 100,
    };
    let mut batch = bookings.batch();
    batch
        .variant()
        .insert(&fee(2))
        .unwrap()
        .insert_or_merge(&fee(3))
        .unwrap();
    batch.insert(&Booking::Deposit(deposit(4))).unwrap();
    batch.variant().insert(&deposit(5)).unwrap();
    batch.variant::<Fee>().insert_returning(&fee(6)).unwrap();
    batch.variant::<Deposit>().delete(("a", 1)).unwrap();
    assert_eq!((batch.len(), batch.variant::<Fee>().len()), (6, 6));
    assert!(format!("{:?}", batch.variant::<Fee>()).contains("0000000005"));

    // A row that breaks a rule leaves the batch as it is.
    let rejected = batch.variant().insert(&fee(2)).unwrap_err();
    assert_eq!((rejected.rule(), rejected.index()), (BatchRule::EachRowOnce, 6));
    assert_eq!(batch.len(), 6);
    let results = batch.submit().await.unwrap();
    assert_eq!(results[4].entity::<Booking>().unwrap(), Some(Booking::Fee(fee(6))));
    for (at, kind) in [
        (2, "charge"),
        (3, "charge"),
        (4, "Deposit"),
        (5, "Deposit"),
        (6, "charge"),
    ] {
        assert_eq!(tag(&bookings, at).await, Some(EdmValue::from(kind)), "{at}");
    }
    assert_eq!(fees.query().all().await.unwrap(), [fee(2), fee(3), fee(6)]);
    assert!(!bookings.exists(Key::from_text("a", "0000000001")).await.unwrap());
}
