//! Display colours.

use std::{fmt, str::FromStr};

/// A colour in sRGB, a byte for each component, as in `#rrggbb` of the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red, 0 to 255.
    pub red: u8,
    /// Green, 0 to 255.
    pub green: u8,
    /// Blue, 0 to 255.
    pub blue: u8,
    /// Opacity, from 0 (invisible) to 255 (opaque).
    pub alpha: u8,
}

impl Color {
    /// Converts components from 0 to 1 in sRGB; values outside are clamped, and NaN counts as 0.
    pub fn from_fractions([red, green, blue, alpha]: [f64; 4]) -> Self {
        let byte = |fraction: f64| (fraction.clamp(0.0, 1.0) * 255.0).round() as u8;
        Self { red: byte(red), green: byte(green), blue: byte(blue), alpha: byte(alpha) }
    }

    /// Its components in sRGB, 0 to 1: red, green, blue and opacity.
    pub fn fractions(self) -> [f64; 4] {
        [self.red, self.green, self.blue, self.alpha].map(|byte| f64::from(byte) / 255.0)
    }
}

/// `#rrggbb`, with two more digits if it is not opaque.
impl fmt::Display for Color {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { red, green, blue, alpha } = self;
        write!(formatter, "#{red:02x}{green:02x}{blue:02x}")?;
        if *alpha == u8::MAX { Ok(()) } else { write!(formatter, "{alpha:02x}") }
    }
}

/// A text that is no colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAColor;

impl FromStr for Color {
    type Err = NotAColor;

    fn from_str(text: &str) -> Result<Self, NotAColor> {
        let digits = text.strip_prefix('#').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digits = digits.ok_or(NotAColor)?;
        let byte = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let alpha = match digits.len() {
            6 => Some(u8::MAX),
            8 => byte(6),
            _ => None,
        };
        match (byte(0), byte(2), byte(4), alpha) {
            (Some(red), Some(green), Some(blue), Some(alpha)) => Ok(Self { red, green, blue, alpha }),
            _ => Err(NotAColor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_colour_are_the_same() {
        for (text, color) in [("#cc3300", [0xcc, 0x33, 0x00, 0xff]), ("#01020304", [1, 2, 3, 4])] {
            let read: Color = text.parse().unwrap();
            assert_eq!([read.red, read.green, read.blue, read.alpha], color);
            assert_eq!(read.to_string(), text);
            assert_eq!(Color::from_fractions(read.fractions()), read);
        }
        for wrong in ["", "#", "cc3300", "#cc330", "#cc33001", "#gg0000", "#+10203", "red", "#é1234"] {
            assert_eq!(wrong.parse::<Color>(), Err(NotAColor), "{wrong}");
        }
        assert_eq!(Color::from_fractions([f64::NAN, -1.0, 7.0, 1.0]).to_string(), "#0000ff");
    }
}
