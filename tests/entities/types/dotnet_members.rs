//! The public members of Azure.Data.Tables, each with its name here: `dotnet_members.txt`.

use std::collections::BTreeSet;
use std::fs;

use xtask::pages;
use xtask::sources::root;

const MEMBERS: &str = include_str!("dotnet_members.txt");

/// Returns the paths of the listing of public names, without the crate and generic parameters.
fn public_names() -> BTreeSet<String> {
    let listing = fs::read_to_string(root().join("packaging/public-api.txt")).unwrap();
    let items = listing.lines().filter(|line| line.starts_with("pub "));
    let paths = items.filter_map(|item| {
        let mut depth = 0;
        let plain: String = item
            .chars()
            .filter(|c| {
                depth += i32::from(*c == '<') - i32::from(*c == '>');
                depth == 0 && *c != '>'
            })
            .collect();
        let (_, path) = plain.split_once("azure_table::")?;
        let end = path.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
        Some(path[..end.unwrap_or(path.len())].trim_end_matches(':').to_owned())
    });
    paths.collect()
}

/// Each member is under a public name, under another idea, or has a reason to be absent.
#[test]
fn members_of_azure_data_tables_are_here_or_have_a_reason() {
    let (names, mut seen) = (public_names(), BTreeSet::new());
    let [mut same, mut other, mut absent] = [0; 3];
    for line in MEMBERS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (of, rest) = line.split_once(": ").unwrap();
        let at = rest
            .find(" = ")
            .or_else(|| rest.find(" ~ "))
            .or_else(|| rest.find(" - "));
        let (members, ours) = rest.split_at(at.unwrap());
        let members: Vec<_> = members.split(' ').collect();
        let (sign, ours) = (&ours[1..2], &ours[3..]);
        *match sign {
            "=" => &mut same,
            "~" => &mut other,
            _ => &mut absent,
        } += members.len();
        assert!(sign == "-" || names.contains(ours), "{line}: no public name {ours}");
        for member in members {
            assert!(seen.insert((of, member)), "{line}: {member} twice");
        }
    }
    assert_eq!((same, other, absent), COUNTS);

    let guide = pages::sources()
        .into_iter()
        .find(|(path, _)| path.ends_with("migrate_dotnet.md"));
    let guide = guide.unwrap().1;
    let words: BTreeSet<_> = guide.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let is_named = |member: &str| {
        let asynchronous = format!("{member}Async");
        words.contains(member) || words.contains(&*asynchronous)
    };
    let named = seen.iter().filter(|(of, member)| match *member {
        "new" | "this[]" => words.contains(of),
        member => is_named(member),
    });
    let unnamed = seen.iter().filter(|(_, member)| !is_named(member));
    assert!(named.count() >= NAMED, "not named: {:?}", unnamed.collect::<Vec<_>>());
}

/// The members with the same meaning, under another idea, and absent.
const COUNTS: (usize, usize, usize) = (174, 123, 18);
/// The members that the guide names.
const NAMED: usize = 174;
