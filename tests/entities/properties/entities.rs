//! Any entity is read as it was written, at both metadata levels.

use azure_table::{DateTime, DynamicEntity, Emulator, Guid, TableServiceClient};
use azure_table_tests::entities::AllTypes;
use proptest::prelude::*;

fn moment() -> impl Strategy<Value = DateTime> {
    (DateTime::MIN_STORED.ticks()..=DateTime::MAX.ticks()).prop_map(|ticks| DateTime::from_ticks(ticks).unwrap())
}

/// Text that can be a key: any character that is not forbidden.
pub(super) fn key_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..12).prop_map(|chars| {
        chars
            .into_iter()
            .filter(|c| !c.is_control() && !"/\\#?".contains(*c))
            .collect()
    })
}

prop_compose! {
    fn entity()(
        partition in key_text(),
        row in key_text(),
        text in any::<String>(),
        (flag, small, large) in any::<(bool, i32, i64)>(),
        bits in any::<u64>(),
        moment in moment(),
        id in any::<[u8; 16]>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
        maybe in any::<Option<i64>>(),
    ) -> AllTypes {
        AllTypes {
            partition, row, text, flag, small, large, ratio: f64::from_bits(bits), moment, id: Guid(id), bytes, maybe,
            cached: None,
        }
    }
}

/// Compares doubles by their bits; all NaNs are equal.
fn same(a: &AllTypes, b: &AllTypes) -> bool {
    let ratio = |e: &AllTypes| {
        if e.ratio.is_nan() {
            f64::NAN.to_bits()
        } else {
            e.ratio.to_bits()
        }
    };
    let without = |e: &AllTypes| AllTypes {
        ratio: 0.0,
        ..e.clone()
    };
    ratio(a) == ratio(b) && without(a) == without(b)
}

proptest! {
    #[test]
    fn any_entity_is_read_as_written(entity in entity()) {
        super::run(async {
            let table = TableServiceClient::from_transport(Emulator::new()).table::<AllTypes>("Things").unwrap();
            table.create_table().await.unwrap();
            table.insert(&entity).await.unwrap();
            let plain = table.get(&entity).await.unwrap().unwrap();
            prop_assert!(same(&plain, &entity), "{plain:?}");
            let versioned = table.get(&entity).versioned().await.unwrap().unwrap();
            prop_assert!(same(&versioned, &entity), "{versioned:?}");
            let queried = table.query().partition(&entity.partition).all().await.unwrap();
            prop_assert!(same(&queried[0], &entity), "{queried:?}");

            // An entity without a struct loses nothing either: written and read again.
            let dynamic = table.typed::<DynamicEntity>();
            let row = dynamic.get((&entity.partition, &entity.row)).await.unwrap().unwrap();
            dynamic.replace(&row).await.unwrap();
            let again = table.get(&entity).await.unwrap().unwrap();
            prop_assert!(same(&again, &entity), "{again:?}");
            Ok(())
        })?;
    }
}
