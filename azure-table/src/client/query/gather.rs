//! Sorts the rows of a query by variant, across all its pages.
//!
//! [`TableQuery::gather`] reads into a [`Gather`]: an `Option`, a `Vec` or a tuple of slots. `gather/families.rs` joins
//! parents with their children. `VariantOf` maps a type to its variant.
//!
//! A variant is identified by its type. The derive implements `VariantOf<Enum>` for each type that exactly one variant
//! holds, so a slot that no row could fill does not compile. Children join their parents after all rows have arrived,
//! since Cosmos DB promises no order. They join in shares, so that other tasks can run in between.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};

use crate::client::query::page_chain::Prefetch;
use crate::client::query::table_query::TableQuery;
use crate::entity::table_entity::TableEntity;
use crate::entity::variant::VariantOf;
use crate::key::entity_key::Key;

pub(crate) mod families;

/// A target for the rows of an enum `E`, sorted by variant.
///
/// | slot | takes |
/// |---|---|
/// | `Option<A>` | the only row of the variant `A`; a second one is an error |
/// | `Vec<A>` | all rows of the variant `A` as they arrive: in key order, on Cosmos DB in insertion order |
/// | [`Families<A, B>`](crate::query::Families) | each row of `A`, with the rows of `B` whose RowKeys extend its own |
/// | a tuple of one to eight of these | each row goes to the first slot that takes its variant |
///
/// In a [`versioned`](TableQuery::versioned) query the variants are `Versioned<A>`. A row that no slot takes is
/// ignored.
///
/// Implement this trait for a slot of your own. A sum, for example, holds no rows:
///
/// ```
/// # use azure_table::TableEntity;
/// # use azure_table::entity::VariantOf;
/// use azure_table::{Key, Result};
/// use azure_table::query::Gather;
/// # #[derive(TableEntity)]
/// # struct Order {
/// #     #[table(partition_key)]
/// #     customer: String,
/// #     #[table(row_key)]
/// #     id: u32,
/// #     cents: i64,
/// # }
///
/// struct Turnover(i64);
///
/// impl<E> Gather<E> for Turnover
/// where
///     Order: VariantOf<E>,
/// {
///     type State = i64;
///
///     fn take(sum: &mut i64, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
///         match Order::of(entity) {
///             Ok(order) => *sum += order.cents,
///             Err(entity) => return Ok(Some((key, entity))),
///         }
///         Ok(None)
///     }
///
///     fn finish(sum: i64) -> Result<Self> {
///         Ok(Turnover(sum))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "rows of `{E}` cannot be gathered as `{Self}`",
    label = "expected a slot, or a tuple of one to eight slots",
    note = "a slot is `Option<A>`, `Vec<A>` or `Families<A, B>`, where the types belong to variants of `{E}`: \
            `let (customer, orders): (Option<Customer>, Vec<Order>) = query.gather().await?`"
)]
pub trait Gather<E>: Sized {
    /// The state while rows arrive.
    type State: Default;

    /// Takes a row, or returns it for the next slot.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the row conflicts with an earlier row.
    fn take(state: &mut Self::State, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>>;

    /// Does the next share of the work after the last row. Returns `true` if more work remains.
    ///
    /// The runtime can run other tasks between two shares, so no share should take longer than a millisecond. By
    /// default [`finish`](Self::finish) does everything.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): a row is missing that other rows need.
    fn advance(_state: &mut Self::State) -> Result<bool> {
        Ok(false)
    }

    /// Builds the result, after the last row and the last share of work.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): a row is missing that other rows need.
    fn finish(state: Self::State) -> Result<Self>;
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Sorts the rows of all pages by variant. The entity must be an enum of entities.
    ///
    /// The target is a slot or a tuple of slots: see [`Gather`]. Each row goes to the first slot that takes its
    /// variant. Rows that no slot takes are ignored. Memory holds the rows taken, for `Families` also their keys, and
    /// one page.
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// use azure_table::query::Families;
    ///
    /// #[derive(TableEntity)]
    /// #[table(partition_key = "{customer}", row_key = "customer")]
    /// struct Customer { customer: String, name: String }
    ///
    /// #[derive(TableEntity)]
    /// #[table(partition_key = "{customer}", row_key = "{order:06}")]
    /// struct Order { customer: String, order: u32 }
    ///
    /// #[derive(TableEntity)]
    /// #[table(partition_key = "{customer}", row_key = "{order:06}-{line:03}")]
    /// struct Line { customer: String, order: u32, line: u32, item: String }
    ///
    /// #[derive(TableEntity)]
    /// #[table(tag = "Kind")]
    /// enum Item { Customer(Customer), Order(Order), Line(Line) }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let items = TableServiceClient::from_transport(Emulator::new()).table::<Item>("Items")?;
    /// # items.create_table().await?;
    /// # let customer = || "c1".to_owned();
    /// # items.insert(&Item::Customer(Customer { customer: customer(), name: "Ada".into() })).await?;
    /// # items.insert(&Item::Order(Order { customer: customer(), order: 7 })).await?;
    /// # for (line, item) in [(1, "tea"), (2, "cup")] {
    /// #     let item = item.to_owned();
    /// #     items.insert(&Item::Line(Line { customer: customer(), order: 7, line, item })).await?;
    /// # }
    /// let (customer, orders): (Option<Customer>, Families<Order, Line>) =
    ///     items.query().partition("c1").gather().await?;
    ///
    /// assert_eq!(customer.map(|customer| customer.name).as_deref(), Some("Ada"));
    /// for (order, lines) in orders {
    ///     println!("{}: {} lines", order.order, lines.len());
    /// #   assert_eq!((order.order, lines.len()), (7, 2));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error of the first page that fails, or:
    /// - `InvalidResponse`: an `Option` has a second row, or a child in [`Families`](crate::query::Families) has no
    ///   parent. The error names its keys.
    #[doc(alias = "group_by")]
    pub async fn gather<G: Gather<P>>(self) -> Result<G>
    where
        P: 'static,
    {
        let table = self.settings.table.clone();
        let named = |e: Error| e.in_operation(OperationKind::Query, Some(table.as_str()));
        let keyed = self.shape.clone().keyed();
        let mut pages = self.shaped(keyed).pages_with(Prefetch::FromStart);
        let mut state = G::State::default();
        while let Some(page) = pages.try_next().await? {
            for (key, entity) in page.into_items() {
                // A row that no slot takes is dropped.
                drop(G::take(&mut state, key, entity).map_err(named)?);
            }
            // The turns of the pages count what it takes to decode them, not to sort their rows.
            tokio::task::yield_now().await;
        }
        while G::advance(&mut state).map_err(named)? {
            tokio::task::yield_now().await;
        }
        G::finish(state).map_err(named)
    }
}

/// At most one row of a variant.
impl<E, A: VariantOf<E>> Gather<E> for Option<A> {
    type State = Option<(Key<E>, A)>;

    fn take(state: &mut Self::State, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
        let entity = match A::of(entity) {
            Ok(entity) => entity,
            Err(entity) => return Ok(Some((key, entity))),
        };
        if let Some((first, _)) = state {
            let variant = A::VARIANT;
            let message = format!("a second `{variant}`, after {first}: gather a Vec if there may be several");
            return Err(Error::invalid_response(message).at_entity(key.partition_key(), key.row_key()));
        }
        *state = Some((key, entity));
        Ok(None)
    }

    fn finish(state: Self::State) -> Result<Self> {
        Ok(state.map(|(_, entity)| entity))
    }
}

/// All rows of a variant.
impl<E, A: VariantOf<E>> Gather<E> for Vec<A> {
    type State = Self;

    fn take(state: &mut Self, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
        match A::of(entity) {
            Ok(entity) => state.push(entity),
            Err(entity) => return Ok(Some((key, entity))),
        }
        Ok(None)
    }

    fn finish(state: Self) -> Result<Self> {
        Ok(state)
    }
}

macro_rules! tuples {
    ($(($($slot:ident $n:tt),+))*) => {$(
        impl<E, $($slot: Gather<E>),+> Gather<E> for ($($slot,)+) {
            type State = ($($slot::State,)+);

            fn take(state: &mut Self::State, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
                $(let Some((key, entity)) = $slot::take(&mut state.$n, key, entity)? else {
                    return Ok(None);
                };)+
                Ok(Some((key, entity)))
            }

            fn advance(state: &mut Self::State) -> Result<bool> {
                $(if $slot::advance(&mut state.$n)? {
                    return Ok(true);
                })+
                Ok(false)
            }

            fn finish(state: Self::State) -> Result<Self> {
                Ok(($($slot::finish(state.$n)?,)+))
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, F 4)
    (A 0, B 1, C 2, D 3, F 4, G 5)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7)
}
