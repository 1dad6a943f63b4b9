//! Upper and lower case of names.
//!
//! Defines [`Case`], the rules of `rename_all`, and [`screaming_snake`], the form of the constants. For a field in
//! snake_case the result equals serde's `rename_all`. A field in camelCase is first split at its humps.

/// A rule of `rename_all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
}

impl Case {
    /// The rules, as a user writes them.
    pub(crate) const ALL: [(&str, Self); 6] = [
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("PascalCase", Self::Pascal),
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
    ];

    /// Returns the rule with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, case)| case)
    }

    /// Returns a field's name by this rule.
    pub(crate) fn apply(self, field: &str) -> String {
        match self {
            Self::Lower => field.to_lowercase(),
            Self::Upper => field.to_uppercase(),
            Self::Snake => separated(field).to_lowercase(),
            Self::ScreamingSnake => screaming_snake(field),
            Self::Pascal => words(field).iter().map(|word| capitalized(word)).collect(),
            Self::Camel => match words(field).split_first() {
                None => String::new(),
                Some((first, rest)) => {
                    first.to_lowercase() + &rest.iter().map(|word| capitalized(word)).collect::<String>()
                }
            },
        }
    }
}

/// Returns the name of the constant of a field.
pub(crate) fn screaming_snake(field: &str) -> String {
    separated(field).to_uppercase()
}

/// Returns the words of a name.
fn words(name: &str) -> Vec<String> {
    separated(name)
        .split('_')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the name with `_` between its humps, and with its own underscores.
fn separated(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut separated = String::with_capacity(name.len() + 4);
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(at + 1);
        // A hump is a capital after a lower-case letter or a digit (`postedAt`, `line2End`), or the capital that begins
        // a word after an acronym (`HTTPServer`).
        let hump = c.is_uppercase()
            && before.is_some_and(|&before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if hump {
            separated.push('_');
        }
        separated.push(c);
    }
    separated
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_the_form_of_its_name() {
        let given = |field| Case::ALL.map(|(name, _)| Case::from_name(name).unwrap().apply(field));
        assert_eq!(
            given("posted_at"),
            [
                "posted_at",
                "POSTED_AT",
                "PostedAt",
                "postedAt",
                "posted_at",
                "POSTED_AT"
            ]
        );
        assert_eq!(given("text"), ["text", "TEXT", "Text", "text", "text", "TEXT"]);
        assert_eq!(
            given("line_2"),
            ["line_2", "LINE_2", "Line2", "line2", "line_2", "LINE_2"]
        );
    }

    #[test]
    fn humps_are_word_boundaries() {
        assert_eq!(screaming_snake("postedAt"), "POSTED_AT");
        assert_eq!(screaming_snake("HTTPServer2Name"), "HTTP_SERVER2_NAME");
        assert_eq!(Case::Pascal.apply("postedAt"), "PostedAt");
        assert_eq!(Case::Snake.apply("postedAt"), "posted_at");
        assert_eq!(Case::Lower.apply("postedAt"), "postedat");
    }

    #[test]
    fn underscores_at_the_ends_stay_in_snake_case() {
        assert_eq!(Case::Snake.apply("_id"), "_id");
        assert_eq!(Case::Pascal.apply("_id"), "Id");
        assert_eq!(Case::Camel.apply("__"), "");
        assert_eq!(screaming_snake("größe"), "GRÖSSE");
    }

    #[test]
    fn unknown_rule_is_none() {
        assert_eq!(Case::from_name("kebab-case"), None);
        assert_eq!(Case::from_name("pascalcase"), None);
    }
}
