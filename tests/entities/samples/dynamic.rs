//! DynamicTableEntity and EntityResolver: a column that no type declares, and rows read as another type.

use azure_table::entity::Row;
use azure_table::{Column, DynamicEntity, Result, TableClient};

#[azure_table::test]
async fn rows_are_patched_and_resolved_by_the_names_of_their_properties(shapes: TableClient) -> Result<()> {
    for (row_key, name, length) in [("1", "Radius", 2.0), ("2", "Side", 3.0)] {
        let mut row = DynamicEntity::new("shapes", row_key);
        row.insert(name, length);
        row.insert("Color", "red");
        row.insert("Audited", true);
        shapes.insert(&row).await?;
    }
    let seen = Column::<DynamicEntity, i64>::property("Seen");
    shapes.patch(("shapes", "1"), [seen.set(7)]).await?;
    let row = shapes.get(("shapes", "1")).await?.unwrap();
    assert_eq!((row.properties.len(), row.property::<i64>("Seen")?), (4, 7));
    assert_eq!(row.property::<f64>("Radius")?, 2.0);

    let area = |row: &Row<'_>| match (row.get("Radius"), row.get("Side")) {
        (Some(radius), _) => Ok(3.0 * radius.read::<f64>()?.powi(2)),
        (None, Some(side)) => Ok(side.read::<f64>()?.powi(2)),
        (None, None) => Ok(0.0),
    };
    let areas = shapes.query().partition("shapes").resolve(area).all().await?;
    assert_eq!(areas, [12.0, 9.0]);
    assert_eq!(shapes.get(("shapes", "2")).resolve(area).await?, Some(9.0));
    Ok(())
}
