//! The command lines of the examples that take options.

use std::error::Error;

use lexopt::prelude::{Long, Value, ValueExt as _};

/// The options and values of a command line, such as `--diff Quakes q.jsonl`.
#[derive(Clone, Debug)]
pub struct Arguments {
    usage: String,
    options: Vec<(String, String)>,
    values: Vec<String>,
}

impl Arguments {
    /// Reads the command line of the program. A name that ends with `=` belongs to an option with a value.
    ///
    /// # Errors
    /// An option has another name, has no value, or has one that it does not take. The text ends with `usage`.
    pub fn parse(usage: &str, names: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut parser = lexopt::Parser::from_env();
        let (mut options, mut values) = (Vec::new(), Vec::new());
        while let Some(argument) = parser.next()? {
            match argument {
                Long(name) if names.contains(&name) => options.push((name.to_owned(), String::new())),
                Long(name) if names.contains(&&*format!("{name}=")) => {
                    let name = name.to_owned();
                    options.push((name, parser.value()?.string()?));
                }
                Value(value) => values.push(value.string()?),
                _ => return Err(format!("{}\n{usage}", argument.unexpected()).into()),
            }
        }
        let usage = usage.to_owned();
        Ok(Self { usage, options, values })
    }

    /// Returns `true` without options and values.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty() && self.values.is_empty()
    }

    /// Returns the values of an option, which may be given several times.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_name = self.options.iter().filter(move |(option, _)| option == name);
        of_name.map(|(_, value)| value.as_str())
    }

    /// Returns the last value of an option.
    pub fn option<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    /// Returns the values that belong to no option.
    ///
    /// # Errors
    /// There are more or fewer. The text is the usage.
    pub fn values<const N: usize>(&self) -> Result<[String; N], Box<dyn Error>> {
        <[String; N]>::try_from(self.values.clone()).map_err(|_| self.usage.clone().into())
    }
}
