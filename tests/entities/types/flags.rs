//! Flags as one Int32: a newtype of `i32`, to which the crate `bitflags` adds names and operators.

use azure_table::{DynamicEntity, EdmValue, Result, TableClient, TableProperty};

use azure_table_tests::entities::Valued;

#[derive(TableProperty, Clone, Copy, Debug, PartialEq, Eq)]
struct Rights(i32);

bitflags::bitflags! {
    impl Rights: i32 {
        const READ = 1;
        const WRITE = 2;
        const DELETE = 4;
        // A row of a newer program may have more flags: they are kept.
        const _ = !0;
    }
}

#[azure_table::test]
async fn flags_are_stored_as_int32_and_keep_unknown_bits(table: TableClient<Valued<Option<Rights>>>) -> Result<()> {
    for rights in [None, Some(Rights::READ | Rights::DELETE)] {
        let member = Valued::new("t", "1", rights);
        table.insert_or_replace(&member).await?;
        assert_eq!(table.get(("t", "1")).await?, Some(member));
    }
    let dynamic = table.typed::<DynamicEntity>();
    let mut row = dynamic.query().first().await?.unwrap();
    assert_eq!(row.get("value"), Some(&EdmValue::Int32(5)));

    row.insert("value", 1 << 20 | 2);
    dynamic.replace(&row).await?;
    let read = table.get(("t", "1")).await?.unwrap().value.unwrap();
    assert!(read.contains(Rights::WRITE) && !read.contains(Rights::READ));
    assert_eq!(read.bits(), 1 << 20 | 2);
    Ok(())
}

/// The service compares whole numbers; a single bit is checked after the read.
#[azure_table::test]
async fn flags_are_compared_as_a_whole(table: TableClient<Valued<Rights>>) -> Result<()> {
    let rights = [Rights::READ, Rights::READ | Rights::WRITE, Rights::empty()];
    for (name, rights) in ["1", "2", "3"].into_iter().zip(rights) {
        table.insert(&Valued::new("t", name, rights)).await?;
    }
    let both = Valued::<Rights>::VALUE.eq(rights[1]);
    assert_eq!(both.to_string(), "value eq 3");
    let found = table.query().filter(both).all().await?;
    assert_eq!(found, [Valued::new("t", "2", rights[1])]);
    let any = Valued::<Rights>::VALUE.ne(Rights::empty());
    assert_eq!(table.query().filter(any).all().await?.len(), 2);
    Ok(())
}
