//! `SPAWN`: adds a robot to the world.

use super::{
    Refusal,
    number::excerpt,
    place::{PLACED_BY, read_placement},
};
use crate::signal::BodyPlacement;

/// Largest length of a message to the control port while robots may be sent as text, bytes: twice that of the longest
/// URDF of a ROS distribution.
pub const MAX_GIVEN: usize = 4 << 20;

/// Request to add a robot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spawn {
    /// Name of the robot; `None` for the name of its model.
    pub name: Option<String>,
    /// Its source.
    pub source: SpawnSource,
    /// Initial position and orientation; nothing else.
    pub placement: BodyPlacement,
    /// Offset of its ports; `None` for one that avoids all ports in use.
    pub port_offset: Option<i64>,
    /// True to fix the root of an imported robot.
    pub fixed_base: bool,
    /// True to rename it if its name is in use.
    pub may_rename: bool,
}

/// Source of a robot.
#[derive(Debug, Clone, PartialEq)]
pub enum SpawnSource {
    /// A file, named as in a world.
    File(String),
    /// The text of a robot file.
    Text(String),
}

impl Default for SpawnSource {
    fn default() -> Self {
        Self::File(String::new())
    }
}

const EXPECTED_KEYS: &str = "file=NAME or text=\"JSON string\", and then any of name=NAME, position=X,Y,Z, orientation=QX,QY,QZ,QW, \
                        portOffset=N, fixedBase=true|false and rename=true|false, each once; text comes last";

/// Reads the parameters of `SPAWN`.
///
/// # Errors
/// A key is unknown, missing or repeated, or its value does not fit.
pub(super) fn read_spawn(text: &str) -> Result<Spawn, Refusal> {
    let unexpected = |got: &str| Refusal::Parameter(format!("expected {EXPECTED_KEYS}; got '{}'", excerpt(got)));
    let (words, given) =
        match text.find("text=\"").filter(|&at| at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace()) {
            Some(at) => (&text[..at], Some(&text[at + "text=".len()..])),
            None => (text, None),
        };
    let (mut spawn, mut file, mut placed, mut seen) = (Spawn::default(), None, String::new(), Vec::new());
    for word in words.split_ascii_whitespace() {
        let (key, value) =
            word.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(|| unexpected(word))?;
        if seen.contains(&key) {
            return Err(Refusal::Parameter(format!("{key} is there twice")));
        }
        seen.push(key);
        match key {
            "name" => spawn.name = Some(value.to_owned()),
            "file" => file = Some(value.to_owned()),
            "portOffset" => spawn.port_offset = Some(value.parse().map_err(|_| unexpected(word))?),
            "fixedBase" => spawn.fixed_base = value.parse().map_err(|_| unexpected(word))?,
            "rename" => spawn.may_rename = value.parse().map_err(|_| unexpected(word))?,
            _ if PLACED_BY.contains(&key) => placed = format!("{placed} {word}"),
            _ => return Err(unexpected(word)),
        }
    }
    if !placed.is_empty() {
        spawn.placement = read_placement(&placed)?;
    }
    spawn.source = match (file, given) {
        (Some(file), None) => SpawnSource::File(file),
        (None, Some(given)) => SpawnSource::Text(serde_json::from_str(given).map_err(|error| {
            Refusal::Parameter(format!("expected a JSON string behind text=, the last of the line: {error}"))
        })?),
        (None, None) | (Some(_), Some(_)) => return Err(unexpected(text)),
    };
    Ok(spawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_is_named_by_its_file_or_given_as_a_text() {
        let file =
            read_spawn("file=rover.xml name=R2 position=1,0.5,-2 orientation=0,0.6,0,0.8 portOffset=-10").unwrap();
        assert_eq!((file.name.as_deref(), file.source), (Some("R2"), SpawnSource::File("rover.xml".into())));
        assert_eq!((file.port_offset, file.fixed_base, file.may_rename), (Some(-10), false, false));
        assert_eq!(file.placement.orientation, Some([0.0, 0.6, 0.0, 0.8]));
        let text =
            read_spawn(r#"rename=true fixedBase=true text="<robot name=\"a b\">\n text=\"x\"</robot>""#).unwrap();
        assert_eq!(text.source, SpawnSource::Text("<robot name=\"a b\">\n text=\"x\"</robot>".into()));
        assert!(text.may_rename && text.fixed_base && text.name.is_none());
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for (text, part) in [
            ("", "expected file=NAME or text="),
            ("rover.xml", "got 'rover.xml'"),
            ("file=", "got 'file='"),
            ("file=a.xml file=b.xml", "file is there twice"),
            ("file=a.xml text=\"\"", "expected file=NAME or"),
            ("file=a.xml position=1,2", "expected 3 position numbers, got 2"),
            ("file=a.xml orientation=0,0,0,0", "length 1"),
            ("file=a.xml linearVelocity=0,0,1", "got 'linearVelocity=0,0,1'"),
            ("file=a.xml portOffset=1.5", "got 'portOffset=1.5'"),
            ("file=a.xml rename=yes", "got 'rename=yes'"),
            ("text=\"<robot", "expected a JSON string"),
            ("text=\"<robot/>\" name=a", "expected a JSON string"),
        ] {
            let refusal = read_spawn(text).unwrap_err().to_string();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
