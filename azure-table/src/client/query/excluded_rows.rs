//! Leaves rows of another kind out of a query.

use azure_table_wire::value::key_text::key_text_fault;

use crate::client::query::table_query::TableQuery;
use crate::entity::table_entity::TableEntity;
use crate::filter::exclusion::excluding;
use crate::filter::typed::{self, Filter};

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Leaves out the rows whose RowKeys begin with `prefix`, such as those that a pattern stores beside the entities.
    ///
    /// The service filters them, so limits, pages and counts apply to the remaining rows. It still reads them. Each
    /// call excludes one more prefix, with two comparisons.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity, Debug, PartialEq)]
    /// # struct User { #[table(partition_key)] tenant: String, #[table(row_key)] id: u32, mail: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let users = TableServiceClient::from_transport(Emulator::new()).table::<User>("Users")?;
    /// # users.create_table().await?;
    /// # users.insert(&User { tenant: "t".into(), id: 7, mail: "ada@example.com".into() }).await?;
    /// users.typed().insert(&DynamicEntity::new("t", "~mail;ada@example.com")).await?;
    ///
    /// let all = users.query().partition("t");
    /// let error = all.clone().all().await.unwrap_err();
    /// assert!(error.to_string().contains("exclude it with `without_row_keys`"));
    /// assert_eq!(all.clone().without_row_keys("~mail;").all().await?.len(), 1);
    /// # assert_eq!((all.clone().count().await?, all.without_row_keys("~mail;").count().await?), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// On the first read:
    /// - `InvalidInput`: `prefix` is empty, which would exclude every row, or no RowKey can begin with it.
    ///
    /// Source: REST "Querying tables and entities".
    pub fn without_row_keys(self, prefix: &str) -> Self {
        let fault = match prefix {
            "" => Some("it is empty, which would exclude every row".to_owned()),
            prefix => key_text_fault(prefix),
        };
        self.filter(match fault {
            None => Filter::of(excluding("RowKey", prefix)),
            Some(fault) => typed::fault(format!("the prefix {prefix:?} of excluded RowKeys: {fault}")),
        })
    }
}
