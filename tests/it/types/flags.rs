//! Flags as one Int32: a newtype of `i32`, to which the crate `bitflags` adds names and operators.

use azure_table::{DynamicEntity, EdmValue, TableEntity, TableProperty};

use azure_table_tests::key_order::fresh_table;

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

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Member {
    #[table(partition_key)]
    team: String,
    #[table(row_key)]
    id: u32,
    rights: Rights,
    former: Option<Rights>,
}

#[tokio::test]
async fn flags_are_stored_as_int32_and_keep_unknown_bits() {
    let table = fresh_table::<Member>().await;
    let member = Member {
        team: "t".into(),
        id: 1,
        rights: Rights::READ | Rights::DELETE,
        former: None,
    };
    table.insert(&member).await.unwrap();
    assert_eq!(table.get(("t", 1)).await.unwrap(), Some(member.clone()));
    let dynamic = table.typed::<DynamicEntity>();
    let mut row = dynamic.query().first().await.unwrap().unwrap();
    assert_eq!(row.get("rights"), Some(&EdmValue::Int32(5)));

    row.insert("former", 1 << 20 | 2);
    dynamic.replace(&row).await.unwrap();
    let former = table.get(("t", 1)).await.unwrap().unwrap().former.unwrap();
    assert!(former.contains(Rights::WRITE) && !former.contains(Rights::READ));
    assert_eq!(former.bits(), 1 << 20 | 2);
}

/// The service compares whole numbers; a single bit is checked after the read.
#[tokio::test]
async fn flags_are_compared_as_a_whole() {
    let table = fresh_table::<Member>().await;
    for (id, rights) in [
        (1, Rights::READ),
        (2, Rights::READ | Rights::WRITE),
        (3, Rights::empty()),
    ] {
        let member = Member {
            team: "t".into(),
            id,
            rights,
            former: None,
        };
        table.insert(&member).await.unwrap();
    }
    let both = Member::RIGHTS.eq(Rights::READ | Rights::WRITE);
    assert_eq!(both.to_string(), "rights eq 3");
    let found = table.query().filter(both).all().await.unwrap();
    assert_eq!(found.iter().map(|member| member.id).collect::<Vec<_>>(), [2]);
    let any = Member::RIGHTS.ne(Rights::empty());
    assert_eq!(table.query().filter(any).all().await.unwrap().len(), 2);
}
