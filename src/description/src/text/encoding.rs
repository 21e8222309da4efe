//! The bytes of a text file as characters: by its byte order mark, or by the encoding that an XML declaration names, or
//! else UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Help for a text that cannot be decoded.
pub(crate) const ENCODING_HELP: &str = "save it as UTF-8, or name its encoding in an XML declaration";
/// Bytes from the start of a file in which its XML declaration has to end.
const MAX_DECLARATION_BYTES: usize = 200;

/// A problem of an encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodingProblem {
    /// The byte from which on the text cannot be decoded.
    pub(crate) offset: usize,
    /// The problem, as a sentence.
    pub(crate) what: String,
}

/// The text of a file, without its byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, EncodingProblem> {
    let (encoding, mark) = match Encoding::for_bom(bytes) {
        Some(found) => found,
        None => (declared(bytes)?, 0),
    };
    let text = &bytes[mark..];
    if encoding == UTF_8 {
        return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|error| EncodingProblem {
            offset: mark + error.valid_up_to(),
            what: "the file is not UTF-8 text from here on".into(),
        });
    }
    let refuse = || EncodingProblem { offset: 0, what: format!("the file is not {} text", encoding.name()) };
    encoding.decode_without_bom_handling_and_without_replacement(text).ok_or_else(refuse)
}

/// The encoding of a text without a byte order mark. Two-byte encodings show in its first character, which is `<` in
/// XML; any other is in its declaration.
fn declared(bytes: &[u8]) -> Result<&'static Encoding, EncodingProblem> {
    match bytes {
        [b'<', 0, ..] => return Ok(UTF_16LE),
        [0, b'<', ..] => return Ok(UTF_16BE),
        _ => {}
    }
    let start = bytes[..bytes.len().min(MAX_DECLARATION_BYTES)].trim_ascii_start();
    let Some(label) = label(start) else { return Ok(UTF_8) };
    let offset = label.as_ptr() as usize - bytes.as_ptr() as usize;
    match Encoding::for_label(label) {
        // The first bytes have been decoded with one byte per character.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        Some(encoding) => Ok(encoding),
        None => {
            let what = format!("the encoding '{}' is not known", String::from_utf8_lossy(label));
            Err(EncodingProblem { offset, what })
        }
    }
}

/// The encoding that `encoding="..."` of an XML declaration names.
fn label(start: &[u8]) -> Option<&[u8]> {
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.windows(2).position(|two| two == b"?>")?];
    let name = declaration.windows(8).position(|word| word == b"encoding")?;
    let value = declaration[name + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let end = value.iter().position(|byte| byte == quote)?;
    matches!(quote, b'"' | b'\'').then_some(&value[..end])
}

/// A text with percent-encoding decoded; the original text if the result is not valid.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, others)) = rest.split_first() {
        let digits = others.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &others[2..];
            }
            None => {
                bytes.push(byte);
                rest = others;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<robot name=\"Schl\u{fc}ssel\"/>";

    fn utf_16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes_of).collect()
    }

    #[test]
    fn the_same_text_is_read_in_every_encoding() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding='{name}'?>{TEXT}");
        let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
        let marked = format!("\u{feff}{TEXT}");
        for (bytes, text) in [
            (TEXT.as_bytes().to_vec(), TEXT.to_owned()),
            (marked.as_bytes().to_vec(), TEXT.to_owned()),
            (utf_16(&marked, u16::to_le_bytes), TEXT.to_owned()),
            (utf_16(&marked, u16::to_be_bytes), TEXT.to_owned()),
            (utf_16(&declared("UTF-16"), u16::to_le_bytes), declared("UTF-16")),
            (utf_16(TEXT, u16::to_be_bytes), TEXT.to_owned()),
            (latin(&declared("ISO-8859-1")), declared("ISO-8859-1")),
            (latin(&declared("windows-1252")), declared("windows-1252")),
            (declared("utf-8").into_bytes(), declared("utf-8")),
            // The declaration contradicts the bytes.
            (declared("UTF-16").into_bytes(), declared("UTF-16")),
        ] {
            assert_eq!(decode(&bytes).as_deref(), Ok(text.as_str()));
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_told() {
        let refused = |bytes: &[u8]| decode(bytes).map(Cow::into_owned).unwrap_err();
        assert_eq!(refused(b"<a b=\"\xfc\"/>").offset, 6);
        let unknown = refused(b"<?xml version=\"1.0\" encoding=\"klingon\"?><a/>");
        assert!(unknown.offset == 30 && unknown.what.contains("'klingon' is not known"), "{unknown:?}");
        // Half of a pair of surrogates.
        assert!(
            refused(&utf_16("\u{feff}<a/>", u16::to_le_bytes).into_iter().chain([0, 0xd8]).collect::<Vec<u8>>())
                .what
                .contains("UTF-16LE")
        );
    }
}
