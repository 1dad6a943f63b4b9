//! Parents with their children, matched by the fields of their RowKeys.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::{mem, slice, vec};

use azure_table_wire::error::{Error, Result};

use crate::client::query::gather::Gather;
use crate::entity::table_entity::TableEntity;
use crate::entity::variant::VariantOf;
use crate::key::entity_key::Key;
use crate::key::key_shape::{self, KeyPiece};

/// Rows of `A` with their children of `B`, in the order of the keys.
///
/// It is a slot of [`Gather`], and dereferences to a slice of `(A, Vec<B>)`.
///
/// A child belongs to the parent in the same partition whose RowKey is a prefix of its own, up to the end of a field.
/// `{order}` is the parent of `{order}-{line}`. If several parents match, the child belongs to the one with the longest
/// key.
///
/// If the child's RowKey is a single text such as `11-1`, the parent's key must end before or after a character that is
/// neither a letter nor a digit: `11` matches, `1` does not.
///
/// Rows of other variants may come in between. A child without a parent is an
/// [`InvalidResponse`](crate::ErrorKind::InvalidResponse), even if the parent exists but the query does not select it.
///
/// See [`TableQuery::gather`](crate::TableQuery::gather) for an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "parent_child")]
pub struct Families<A, B> {
    families: Vec<(A, Vec<B>)>,
}

impl<A, B> Families<A, B> {
    /// Returns the parents with their children.
    pub fn into_vec(self) -> Vec<(A, Vec<B>)> {
        self.families
    }
}

/// The rows that are sorted together, and that join in a share of the work: less than a millisecond.
const SHARE: usize = 1_024;

/// The rows that have arrived, and the families of the rows that have joined.
#[derive(Debug)]
pub struct FamilyRows<E, A, B> {
    /// The rows that are not sorted yet: fewer than a share.
    arrived: Vec<FamilyRow<E, A, B>>,
    /// Sorted shares by their first row, which is taken out, and by their number, which keeps the order of arrival for
    /// rows of one key.
    sorted: BTreeMap<(Key<E>, usize), SortedShare<E, A, B>>,
    families: Vec<(A, Vec<B>)>,
    /// The parents whose RowKey is a prefix of the last joined key, with their indices. Once a key does not begin with
    /// one of them, no later key does.
    open: Vec<(Key<E>, usize)>,
}

type FamilyRow<E, A, B> = (Key<E>, FamilyMember<A, B>);

/// The first row of a share without its key, and the rows after it.
type SortedShare<E, A, B> = (FamilyMember<A, B>, vec::IntoIter<FamilyRow<E, A, B>>);

#[derive(Debug)]
enum FamilyMember<A, B> {
    Parent(A),
    Child(B),
}

impl<E, A, B> Default for FamilyRows<E, A, B> {
    fn default() -> Self {
        Self {
            arrived: Vec::new(),
            sorted: BTreeMap::new(),
            families: Vec::new(),
            open: Vec::new(),
        }
    }
}

impl<E, A, B> FamilyRows<E, A, B> {
    fn push(&mut self, key: Key<E>, row: FamilyMember<A, B>) {
        self.arrived.push((key, row));
        if self.arrived.len() == SHARE {
            self.sort_arrived();
        }
    }

    fn sort_arrived(&mut self) {
        let mut rows = mem::take(&mut self.arrived);
        // Stable: rows of one key keep their order.
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.insert_share(self.sorted.len(), rows.into_iter());
    }

    fn insert_share(&mut self, number: usize, mut rows: vec::IntoIter<FamilyRow<E, A, B>>) {
        if let Some((key, row)) = rows.next() {
            self.sorted.insert((key, number), (row, rows));
        }
    }

    /// Removes the row of the least key, after all rows have arrived.
    fn pop(&mut self) -> Option<FamilyRow<E, A, B>> {
        if !self.arrived.is_empty() {
            self.sort_arrived();
        }
        let ((key, number), (row, rows)) = self.sorted.pop_first()?;
        self.insert_share(number, rows);
        Some((key, row))
    }

    /// Joins the next row. Returns the key of a child without a parent.
    fn join(&mut self, key: Key<E>, row: FamilyMember<A, B>) -> Result<(), Key<E>>
    where
        B: TableEntity,
    {
        close(&mut self.open, &key);
        let child = match row {
            FamilyMember::Parent(parent) => {
                self.open.push((key, self.families.len()));
                self.families.push((parent, Vec::new()));
                return Ok(());
            }
            FamilyMember::Child(child) => child,
        };
        let mut longest_first = self.open.iter().rev();
        let parent = longest_first.find(|(of, _)| ends_at_field(&child, key.row_key(), of.row_key().len()));
        match parent.and_then(|(_, at)| self.families.get_mut(*at)) {
            Some((_, family)) => family.push(child),
            None => return Err(key),
        }
        Ok(())
    }
}

impl<E, A: VariantOf<E>, B: VariantOf<E> + TableEntity> Gather<E> for Families<A, B> {
    /// Parents and children. They join after the last row, since Cosmos DB promises no order.
    type State = FamilyRows<E, A, B>;

    fn take(rows: &mut Self::State, key: Key<E>, entity: E) -> Result<Option<(Key<E>, E)>> {
        let row = match A::of(entity) {
            Ok(parent) => FamilyMember::Parent(parent),
            Err(entity) => match B::of(entity) {
                Ok(child) => FamilyMember::Child(child),
                Err(entity) => return Ok(Some((key, entity))),
            },
        };
        rows.push(key, row);
        Ok(None)
    }

    fn advance(rows: &mut Self::State) -> Result<bool> {
        for _ in 0..SHARE {
            let Some((key, row)) = rows.pop() else { return Ok(false) };
            rows.join(key, row).map_err(|key| {
                let (parent, child) = (A::VARIANT, B::VARIANT);
                let message = format!(
                    "a `{child}` without its `{parent}`: the query read no `{parent}` whose RowKey this one begins with"
                );
                Error::invalid_response(message).at_entity(key.partition_key(), key.row_key())
            })?;
        }
        Ok(true)
    }

    fn finish(mut rows: Self::State) -> Result<Self> {
        while <Self as Gather<E>>::advance(&mut rows)? {}
        Ok(Self {
            families: rows.families,
        })
    }
}

/// Returns `true` if a field of the child's RowKey ends at `at`. In a RowKey of one field, `at` must be the end of a
/// word.
fn ends_at_field(child: &impl TableEntity, row_key: &str, at: usize) -> bool {
    let shape = child.key_shape();
    if at == 0 || key_shape::row_key_is_cut_at(shape, row_key, at) {
        return true;
    }
    let fields = shape
        .row_key
        .iter()
        .filter(|piece| !matches!(piece, KeyPiece::Literal(_)));
    let (parent, rest) = row_key.split_at(at);
    let is_in_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    fields.count() < 2 && !(is_in_word(parent.chars().next_back()) && is_in_word(rest.chars().next()))
}

/// Closes the parents whose families end before `key`.
fn close<E>(open: &mut Vec<(Key<E>, usize)>, key: &Key<E>) {
    let is_parent = |of: &Key<E>| of.partition_key() == key.partition_key() && key.row_key().starts_with(of.row_key());
    while open.pop_if(|(of, _)| !is_parent(of)).is_some() {}
}

impl<A, B> Default for Families<A, B> {
    fn default() -> Self {
        Self { families: Vec::new() }
    }
}

impl<A, B> Deref for Families<A, B> {
    type Target = [(A, Vec<B>)];

    fn deref(&self) -> &Self::Target {
        &self.families
    }
}

impl<A, B> DerefMut for Families<A, B> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.families
    }
}

impl<A, B> IntoIterator for Families<A, B> {
    type Item = (A, Vec<B>);
    type IntoIter = vec::IntoIter<(A, Vec<B>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.families.into_iter()
    }
}

impl<'a, A, B> IntoIterator for &'a Families<A, B> {
    type Item = &'a (A, Vec<B>);
    type IntoIter = slice::Iter<'a, (A, Vec<B>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.families.iter()
    }
}

impl<'a, A, B> IntoIterator for &'a mut Families<A, B> {
    type Item = &'a mut (A, Vec<B>);
    type IntoIter = slice::IterMut<'a, (A, Vec<B>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.families.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::property_writer::PropertyWriter;
    use crate::entity::schema::EntitySchema;
    use crate::key::key_shape::{KeyShape, KeyWriter};

    /// A parent has a key without `-`.
    type Row = (&'static str, &'static str);

    #[derive(Debug, PartialEq)]
    struct Parent(&'static str);

    #[derive(Debug, PartialEq)]
    struct Child(&'static str);

    impl VariantOf<Row> for Parent {
        const VARIANT: &'static str = "Parent";

        fn of((partition, row): Row) -> Result<Self, Row> {
            if row.contains('-') {
                Err((partition, row))
            } else {
                Ok(Self(row))
            }
        }
    }

    impl VariantOf<Row> for Child {
        const VARIANT: &'static str = "Child";

        fn of((_, row): Row) -> Result<Self, Row> {
            Ok(Self(row))
        }
    }

    impl TableEntity for Child {
        type PartitionFields = (String,);
        type KeyFields = (String, String);
        const SCHEMA: &'static EntitySchema = &EntitySchema::new("Child", KeyShape::SIMPLE);

        fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
            key.field("a")?;
            key.field(self.0)
        }

        fn write_properties(&self, _: &mut PropertyWriter<'_>) -> Result<()> {
            Ok(())
        }
    }

    fn gather(rows: &[Row]) -> Result<Vec<(Parent, Vec<Child>)>> {
        let mut state = Default::default();
        for (partition, row) in rows {
            let key = Key::from_text(*partition, *row)?;
            assert!(Families::<Parent, Child>::take(&mut state, key, (*partition, *row))?.is_none());
        }
        Families::finish(state).map(Families::into_vec)
    }

    #[test]
    fn children_may_arrive_before_their_parents() {
        let family = |row: &'static str, children: &[&'static str]| {
            (Parent(row), children.iter().copied().map(Child).collect::<Vec<_>>())
        };
        let rows = [
            ("b", "1-1"),
            ("a", "1ä-2"),
            ("a", "1"),
            ("b", "1"),
            ("a", "1ä"),
            ("a", "1-"),
            ("a", "1ä-1"),
            ("a", "1÷-1"),
        ];
        assert_eq!(
            gather(&rows).unwrap(),
            [
                family("1", &["1-", "1÷-1"]),
                family("1ä", &["1ä-1", "1ä-2"]),
                family("1", &["1-1"])
            ]
        );
        assert_eq!(gather(&[]).unwrap(), []);
    }

    #[test]
    fn more_rows_than_a_share_may_arrive_in_any_order() {
        // 7 is prime to the number of rows, so each row arrives once, and each share has keys from the first to the last.
        let parents = 3 * SHARE / 4 + 1;
        let rows = (0..4 * parents).map(|n| match (n * 7 % (4 * parents), "a") {
            (at, partition) if at % 4 == 0 => (partition, &*format!("{:06}", at / 4).leak()),
            (at, partition) => (partition, &*format!("{:06}-{}", at / 4, at % 4).leak()),
        });
        let rows: Vec<_> = rows.chain([("a", "000000-1")]).collect();
        let families = gather(&rows).unwrap();
        assert_eq!(families.len(), parents);
        // Of two rows with one key, the first to arrive is first.
        let twice = rows.iter().map(|(_, row)| *row).filter(|row| *row == "000000-1");
        let first = families[0].1.iter().take(2).map(|Child(child)| child.as_ptr());
        assert_eq!(first.collect::<Vec<_>>(), twice.map(str::as_ptr).collect::<Vec<_>>());
        for (n, (Parent(parent), children)) in families.iter().enumerate() {
            assert_eq!(*parent, format!("{n:06}"));
            let children: Vec<_> = children.iter().map(|Child(child)| *child).collect();
            let lines: &[u32] = if n == 0 { &[1, 1, 2, 3] } else { &[1, 2, 3] };
            assert_eq!(
                children,
                lines.iter().map(|line| format!("{n:06}-{line}")).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn empty_key_is_a_prefix_of_all_keys() {
        let gathered = gather(&[("a", ""), ("a", "-"), ("a", "1"), ("a", "1-")]).unwrap();
        assert_eq!(
            gathered,
            [(Parent(""), vec![Child("-")]), (Parent("1"), vec![Child("1-")])]
        );
        let error = gather(&[("a", ""), ("b", "-")]).unwrap_err();
        assert_eq!(error.entity(), Some(("b", "-")));
    }
}
