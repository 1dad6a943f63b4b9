//! The ETags of writes of one entity.

use azure_table::{ETag, ErrorKind, Result, TableEntity};

use super::{emulated, stored, with};
use crate::Indexed;

/// `*` would write whatever another writer has stored since the index rows were read.
#[tokio::test]
async fn etag_of_any_version_is_rejected() -> Result<()> {
    let (table, people) = with(&emulated(), 1).await?;
    let before = stored(&table).await?;
    let mut read = table.get(("t", 1)).versioned().await?.unwrap();
    read.etag = ETag::new("*");
    read.name = "Eve".into();
    for error in [
        people.replace(&read).await.unwrap_err(),
        people.delete(&read).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("`*`"), "{error}");
    }
    assert_eq!(stored(&table).await?, before);
    Ok(())
}

#[derive(TableEntity, Clone, Debug)]
#[table(index(by_name = (name)))]
struct Member {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    name: String,
    #[table(etag)]
    etag: Option<ETag>,
}

#[tokio::test]
async fn modified_entity_has_its_new_etag() -> Result<()> {
    let table = emulated().table::<Member>("Members")?;
    table.create_table().await?;
    let members = Indexed::open(&table).await?;
    let [tenant, name] = ["t", "Ada"].map(str::to_owned);
    let etag = None;
    members
        .insert(&Member {
            tenant,
            id: 1,
            name,
            etag,
        })
        .await?;
    let written = members.modify(("t", 1), |member| member.name = "Eve".into()).await?;
    assert_eq!(written.entity.etag.as_ref(), Some(&written.etag));
    assert!(members.delete(&written.entity).await?);
    Ok(())
}
