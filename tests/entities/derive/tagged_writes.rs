//! Every write of an enum of entities stores the tag of its variant.

use azure_table::{DynamicEntity, Key, Result, TableClient, TableEntity, TableOperation};

use super::stored;

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Fee {
    #[table(partition_key)]
    account: String,
    #[table(row_key)]
    at: u32,
    cents: i64,
    reason: Option<String>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Kind")]
enum Booking {
    #[table(rename = "charge")]
    Fee(Fee),
}

/// An enum whose variant is itself an enum.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(tag = "Outer")]
enum All {
    Booking(Booking),
}

fn fee(at: u32) -> Booking {
    Booking::Fee(Fee {
        account: "a".into(),
        at,
        cents: 5,
        reason: None,
    })
}

fn change(booking: &mut Booking, change: impl FnOnce(&mut Fee)) {
    let Booking::Fee(fee) = booking;
    change(fee);
}

async fn assert_tagged(bookings: &TableClient<Booking>, rows: usize) {
    let rows_found = bookings.typed::<DynamicEntity>().query().all().await.unwrap();
    assert_eq!(rows_found.len(), rows);
    for row in rows_found {
        assert_eq!(row.get("Kind"), Some(&"charge".into()), "{row:?}");
    }
}

#[azure_table::test]
async fn every_write_of_an_enum_has_the_tag(bookings: TableClient<Booking>) -> Result<()> {
    bookings.insert(&fee(2)).await?;
    assert_eq!(bookings.insert_returning(&fee(3)).await?.entity, fee(3));
    bookings.insert_or_replace(&fee(4)).await?;
    bookings.insert_or_merge(&fee(5)).await?;
    assert!(bookings.insert_if_not_exists(&fee(6)).await?.is_some());
    bookings.modify(&fee(7), |_| ()).or_insert(|| fee(7)).await?;
    let mut batch = bookings.batch();
    batch.insert(&fee(8)).unwrap().insert_or_merge(&fee(9)).unwrap();
    batch
        .insert_or_replace(&fee(10))
        .unwrap()
        .insert_returning(&fee(11))
        .unwrap();
    let results = batch.submit().await?;
    assert_eq!(results[3].entity::<Booking>().unwrap(), Some(fee(11)));
    let bulk = || bookings.bulk();
    assert_eq!(bulk().insert([fee(12)]).await?.applied(), 1);
    assert_eq!(bulk().insert_or_replace([&fee(13)]).await?.applied(), 1);
    assert_eq!(bulk().insert_or_merge([fee(14)]).await?.applied(), 1);
    let mut writer = bookings.writer();
    writer.insert(&fee(15)).await?;
    writer.insert_or_replace(&fee(16)).await?;
    writer.insert_or_merge(&fee(17)).await?;
    assert_eq!(writer.close().await?.applied(), 3);
    assert_tagged(&bookings, 16).await;

    // Writes over an existing row: a replace drops the properties that it does not have.
    bookings.replace(&fee(2)).await?;
    bookings.merge(&fee(3)).await?;
    let modify = bookings.modify(&fee(4), |booking| change(booking, |fee| fee.cents = 1));
    modify.await?;
    let mut batch = bookings.batch();
    batch.replace(&fee(5)).unwrap().merge(&fee(6)).unwrap();
    batch.submit().await?;
    assert_eq!(bulk().replace([fee(7)]).await?.applied(), 1);
    assert_eq!(bulk().merge([fee(8)]).await?.applied(), 1);
    let patch = TableOperation::patch(("a", 9), [Fee::CENTS.set(2)]);
    bookings.execute(patch).await?;
    let set = |reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        bookings.update_where(bookings.query(), move |booking: &mut Booking| {
            change(booking, |fee| fee.reason.clone_from(&reason));
        })
    };
    assert_eq!(set(Some("late")).await?.applied(), 16);
    // A property is removed, which needs a replace.
    assert_eq!(set(None).await?.applied(), 16);
    assert_tagged(&bookings, 16).await;
    let ninth = Key::from_text("a", "0000000009").unwrap();
    let ninth = bookings.get(ninth).await?.unwrap();
    assert!(matches!(ninth, Booking::Fee(Fee { cents: 2, .. })), "{ninth:?}");
    Ok(())
}

#[azure_table::test]
async fn variant_that_is_an_enum_has_both_tags(all: TableClient<All>) -> Result<()> {
    all.insert(&All::Booking(fee(1))).await?;
    let row = stored(&all).await;
    let tags = (row.get("Outer"), row.get("Kind"));
    assert_eq!(tags, (Some(&"Booking".into()), Some(&"charge".into())));
    assert_eq!(all.query().all().await?, [All::Booking(fee(1))]);
    Ok(())
}
