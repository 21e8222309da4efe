//! Plots as PNG bitmaps. Text is set in a font of the system, because a built-in font would take more space than all
//! other code for plots.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};
use thiserror::Error;

use super::Document;

/// Sans-serif font families in the order of preference: those of Windows, Android and macOS, then those of Linux
/// distributions.
const FONT_FAMILIES: [&str; 7] =
    ["Segoe UI", "Roboto", "Helvetica Neue", "DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial"];

/// Errors in drawing a picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// The system has no font.
    #[error("no font was found on this system to letter a PNG with; install one (such as DejaVu Sans), or write SVG")]
    NoFont,
    /// The drawing is not valid.
    #[error("the plot cannot be drawn: {0}")]
    Drawing(#[from] usvg::Error),
    /// The drawing is too large, or has no size.
    #[error("the plot has a size that no picture can have")]
    Size,
    /// The bitmap could not be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

impl Document {
    /// The document as a PNG file.
    ///
    /// # Errors
    /// The system has no font, or the drawing cannot be rendered.
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_system_fonts();
        let has = |family: &str| fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == family));
        let family = match FONT_FAMILIES.into_iter().find(|family| has(family)) {
            Some(family) => family.to_owned(),
            None => {
                let any = fonts.faces().find(|face| !face.monospaced).or(fonts.faces().next());
                any.and_then(|face| Some(face.families.first()?.0.clone())).ok_or(PictureError::NoFont)?
            }
        };
        fonts.set_sans_serif_family(family);
        let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
        let tree = usvg::Tree::from_str(&self.svg(), &options)?;
        let size = tree.size().to_int_size();
        let mut picture = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or(PictureError::Size)?;
        resvg::render(&tree, tiny_skia::Transform::default(), &mut picture.as_mut());
        picture.encode_png().map_err(|error| PictureError::Encoding(error.to_string()))
    }
}
