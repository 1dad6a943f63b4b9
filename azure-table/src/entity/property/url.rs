//! Feature `url-2`: `Url` as Edm.String.
//!
//! A `Url` sorts as its text does, so its columns have all comparisons. It is not a key, because keys forbid `/`.

use std::borrow::Cow;

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use url::Url;

use crate::entity::property::{Property, ReadProperty};

impl Property for Url {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::String;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::String(Cow::Borrowed(self.as_str()))))
    }
}

impl ReadProperty for Url {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        // A URL may contain a signature, so no error shows it.
        Self::parse(value.as_str()?).map_err(|e| ValueError::new(format!("the text is not a URL: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;

    use super::*;

    fn read(text: &str) -> Result<Url, ValueError> {
        Url::from_wire(WireValue {
            annotation: None,
            token: Token::Text(text),
        })
    }

    #[test]
    fn url_is_stored_as_its_text() {
        for text in [
            "https://contoso.com/",
            "https://contoso.com/a%20b?c=d&e#f",
            "mailto:ada@contoso.com",
            "data:,x",
        ] {
            let url = read(text).unwrap();
            assert_eq!(url.to_edm().unwrap(), Some(Edm::from(text)));
        }
    }

    #[test]
    fn other_text_is_an_error_that_does_not_show_it() {
        assert_eq!(
            read("/blogs?sig=secret").unwrap_err().to_string(),
            "the text is not a URL: relative URL without a base"
        );
    }
}
