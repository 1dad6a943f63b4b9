//! Key text sorts as its values do, and gives them back.

use azure_table::{DateTime, Descending, Key, ReadTableKey, TableKey};
use azure_table_tests::entity::Post;
use proptest::prelude::*;

fn text(key: &impl TableKey) -> String {
    let mut text = String::new();
    key.write_key(&mut text).unwrap();
    text
}

fn sorts<T: TableKey + ReadTableKey + Ord + std::fmt::Debug>(a: &T, b: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(b));
    prop_assert_eq!(&T::read_key(&text(a)).unwrap(), a);
    Ok(())
}

fn any_time() -> impl Strategy<Value = DateTime> {
    (DateTime::MIN.ticks()..=DateTime::MAX.ticks()).prop_map(|ticks| DateTime::from_ticks(ticks).unwrap())
}

#[test]
fn a_key_from_outside_is_checked() {
    let key: Key<Post> = serde_json::from_str(r#"{"partition_key":"a","row_key":"b"}"#).unwrap();
    assert_eq!(serde_json::to_string(&key).unwrap(), r#"{"partition_key":"a","row_key":"b"}"#);
    let wrong = serde_json::from_str::<Key<Post>>(r#"{"partition_key":"a/b","row_key":""}"#);
    assert!(wrong.unwrap_err().to_string().contains("'/' at position 1"));
}

proptest! {
    #[test]
    fn numbers_sort(a in any::<u32>(), b in any::<u32>(), c in any::<u64>(), d in any::<u64>()) {
        sorts(&a, &b)?;
        sorts(&c, &d)?;
    }

    #[test]
    fn times_sort(a in any_time(), b in any_time()) {
        sorts(&a, &b)?;
        sorts(&Descending(a), &Descending(b))?;
        prop_assert_eq!(Descending(a).cmp(&Descending(b)), b.cmp(&a));
        prop_assert_eq!(a.to_string().parse::<DateTime>().unwrap(), a);
    }

    #[test]
    fn a_template_gives_its_fields_back(time in any_time(), id in super::entities::key_text()) {
        let post = Post { channel: "ch".into(), posted: Descending(time), id: id.clone(), rating: 1 };
        let of_entity = Key::<Post>::of(&post).unwrap();
        prop_assert_eq!(of_entity.row_key(), format!("{}_{}", text(&Descending(time)), id));
        let of_tuple = azure_table::IntoKey::<Post>::into_key(("ch", time, &id)).unwrap();
        prop_assert_eq!(of_entity, of_tuple);
    }
}
