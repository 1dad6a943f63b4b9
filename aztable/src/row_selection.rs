//! The rows that a command selects: `--partition`, `--prefix`, `--filter`.

use azure_table::{DynamicEntity, Filter, KeyPrefix, Result, TableClient, TableQuery};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// A selection of rows.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RowSelection {
    /// Only rows of this partition
    #[arg(long, value_name = "PARTITION_KEY")]
    partition: Option<String>,
    /// Only rows whose RowKey begins so
    #[arg(long, value_name = "ROW_KEY", requires = "partition", value_parser = NonEmptyStringValueParser::new())]
    prefix: Option<String>,
    /// Only rows that an OData filter selects: "Magnitude ge 5.0 and Place eq 'Banda Sea'"
    #[arg(long, value_name = "ODATA", value_parser = not_blank)]
    filter: Option<String>,
}

impl RowSelection {
    /// Returns the selection of a form, in which an empty text is no condition.
    pub(crate) fn from_texts(partition: &str, prefix: &str, filter: &str) -> Self {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            partition: some(partition).or(some(prefix).map(|_| String::new())),
            prefix: some(prefix),
            filter: some(filter),
        }
    }

    /// Returns the query for the rows.
    ///
    /// # Errors
    /// A key is not allowed, or the filter leaves a quote or a parenthesis open.
    pub(crate) fn query(&self, table: &TableClient<DynamicEntity>) -> Result<TableQuery<DynamicEntity>> {
        let query = table.query();
        let mut query = match (&self.partition, &self.prefix) {
            (Some(partition), Some(prefix)) => query.key_prefix(KeyPrefix::from_text(partition, prefix)?),
            (Some(partition), None) => query.partition(partition),
            (None, _) => query,
        };
        if let Some(filter) = &self.filter {
            query = query.filter(Filter::raw(filter.as_str()));
        }
        // A filter that cannot be sent is an error before anything else is done.
        query.plan()?;
        Ok(query)
    }

    /// Returns `true` for the whole table.
    pub(crate) fn is_everything(&self) -> bool {
        self.partition.is_none() && self.filter.is_none()
    }

    /// Returns the selection as text, for plans and positions.
    pub(crate) fn text(&self) -> String {
        let values = [&self.partition, &self.prefix, &self.filter];
        let named = ["partition", "prefix", "filter"].into_iter().zip(values);
        let named = named.filter_map(|(name, value)| Some(format!("{name} {:?}", value.as_ref()?)));
        let text = named.collect::<Vec<_>>().join(", ");
        if text.is_empty() { "all rows".into() } else { text }
    }
}

/// # Errors
/// A text is blank: the service takes such a filter for none.
fn not_blank(text: &str) -> std::result::Result<String, &'static str> {
    let filter = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    filter.ok_or("it is blank: leave out --filter for all rows")
}
