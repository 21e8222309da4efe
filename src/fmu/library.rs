//! The library of `clients/c`, which is an FMU's binary: where it is, and for which platform.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::error::FmuError;

/// Words in the library that name it; its version follows. They are joined at run time, so that this program is no
/// library.
const LIBRARY_WORDS: [&str; 2] = ["simpartner", "library"];

/// A library for a platform.
#[derive(Debug, Clone)]
pub struct Library {
    /// Content of the file.
    pub(super) bytes: Vec<u8>,
    /// Folder of the binaries of this platform in FMI 2.0.
    pub(super) folder_2: &'static str,
    /// Folder of the binaries of this platform in FMI 3.0.
    pub folder_3: &'static str,
    /// Ending of its name, with the dot.
    pub(super) ending: &'static str,
}

/// The libraries of these files; without any, that of this machine: the one that `variable` names, or the first that is
/// beside `program` or in the folder `lib` beside the program's folder.
///
/// # Errors
/// There is none, or a file is none.
pub fn find_libraries(
    given: &[PathBuf],
    variable: Option<PathBuf>,
    program: Option<&Path>,
) -> Result<Vec<Library>, FmuError> {
    if !given.is_empty() {
        return given.iter().map(|path| Library::read(path)).collect();
    }
    if let Some(path) = variable {
        return Ok(vec![Library::read(&path)?]);
    }
    let name = format!("{}simpartner{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folder = program.and_then(Path::parent).unwrap_or(Path::new(""));
    let searched = vec![folder.join(&name), folder.join("..").join("lib").join(&name)];
    match searched.iter().find(|path| path.is_file()) {
        Some(path) => Ok(vec![Library::read(path)?]),
        None => Err(FmuError::NoLibrary { searched }),
    }
}

impl Library {
    /// Reads a library.
    ///
    /// # Errors
    /// The file cannot be read, is no library of a known platform, or is of another version.
    pub fn read(path: &Path) -> Result<Self, FmuError> {
        let refuse = |what: String| FmuError::Library { path: path.to_owned(), what };
        let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let Some((folder_2, folder_3, ending)) = platform_of(&bytes) else {
            return Err(refuse("it is no shared library for Linux, macOS or Windows on x86_64 or aarch64".into()));
        };
        let has = |text: &str| contains_bytes(&bytes, text.as_bytes());
        let mark = LIBRARY_WORDS.join(" ") + " ";
        if !has(&mark) {
            return Err(refuse("it is a program or a library, but not the library of simpartner".into()));
        }
        if !has(&(mark + env!("CARGO_PKG_VERSION") + "\0")) {
            return Err(refuse(format!("it is of another version than this program, {}", env!("CARGO_PKG_VERSION"))));
        }
        Ok(Self { bytes, folder_2, folder_3, ending })
    }
}

fn contains_bytes(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// The folders of the binaries in FMI 2.0 and 3.0, and the ending of their names, for a library of ELF, PE or Mach-O.
fn platform_of(bytes: &[u8]) -> Option<(&'static str, &'static str, &'static str)> {
    let number = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let long = |at: usize| Some(u32::from(number(at)?) | u32::from(number(at + 2)?) << 16);
    if bytes.starts_with(b"\x7fELF\x02\x01") {
        return match number(18)? {
            0x3e => Some(("linux64", "x86_64-linux", ".so")),
            0xb7 => Some(("aarch64-linux", "aarch64-linux", ".so")),
            _ => None,
        };
    }
    if bytes.starts_with(b"\xcf\xfa\xed\xfe") {
        return match long(4)? {
            0x0100_0007 => Some(("darwin64", "x86_64-darwin", ".dylib")),
            0x0100_000c => Some(("aarch64-darwin", "aarch64-darwin", ".dylib")),
            _ => None,
        };
    }
    if bytes.starts_with(b"MZ") {
        let header = long(0x3c)? as usize;
        if bytes.get(header..header.checked_add(4)?) != Some(b"PE\0\0") {
            return None;
        }
        return match number(header + 4)? {
            0x8664 => Some(("win64", "x86_64-windows", ".dll")),
            0xaa64 => Some(("aarch64-windows", "aarch64-windows", ".dll")),
            _ => None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_told_by_the_first_bytes() {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(20, 0);
        elf[18] = 0x3e;
        assert_eq!(platform_of(&elf), Some(("linux64", "x86_64-linux", ".so")));
        elf[18] = 0xb7;
        assert_eq!(platform_of(&elf).map(|found| found.1), Some("aarch64-linux"));
        elf[18] = 3;
        assert_eq!(platform_of(&elf), None, "32 bits");
        let mut dll = b"MZ".to_vec();
        dll.resize(0x40, 0);
        dll[0x3c] = 0x40;
        assert_eq!(platform_of(&dll), None, "cut off");
        dll.extend(b"PE\0\0\x64\x86");
        assert_eq!(platform_of(&dll), Some(("win64", "x86_64-windows", ".dll")));
        dll[0x3f] = 0xff;
        assert_eq!(platform_of(&dll), None, "a header outside of the file");
        assert_eq!(platform_of(b"\xcf\xfa\xed\xfe\x0c\0\0\x01").map(|found| found.1), Some("aarch64-darwin"));
        assert_eq!(platform_of(b""), None);
    }
}
