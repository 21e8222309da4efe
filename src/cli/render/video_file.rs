//! Videos: raw ones, and those that an installed ffmpeg encodes.

use std::{
    fs::File,
    io::{BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use simpartner_render::{ColorImage, y4m_frame, y4m_header};

use super::super::exit::CliError;

/// The endings of videos.
const VIDEO_ENDINGS: [&str; 3] = ["y4m", "mp4", "webm"];

/// A video that is written picture by picture.
pub(super) struct VideoFile {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    /// The file itself, a raw video.
    Raw(BufWriter<File>),
    /// ffmpeg, which reads a raw video and writes the file.
    Encoder(Child, BufWriter<ChildStdin>),
}

impl VideoFile {
    /// True if the ending of a path is that of a video.
    pub(super) fn is_named_by(path: &Path) -> bool {
        path.extension().is_some_and(|ending| VIDEO_ENDINGS.iter().any(|known| ending == *known))
    }

    /// Begins a video of images of this size, in pixels, at so many of them a second.
    pub(super) fn create_at(path: &Path, [width, height]: [usize; 2], fps: u32) -> Result<Self, CliError> {
        let sink = match path.extension().and_then(|ending| ending.to_str()) {
            Some("mp4") => Self::start_encoder(path, &["-c:v", "libx264", "-crf", "18", "-movflags", "+faststart"])?,
            // Without a rate, the quality alone says how large the file gets.
            Some("webm") => Self::start_encoder(path, &["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0"])?,
            _ => Sink::Raw(BufWriter::new(File::create(path).map_err(|error| CliError::not_written(path, &error))?)),
        };
        let mut video = Self { path: path.to_owned(), sink };
        match video.write_bytes(y4m_header(width, height, fps).as_bytes()) {
            Ok(()) => Ok(video),
            Err(error) => Err(video.write_error(&error)),
        }
    }

    /// Starts ffmpeg. Players expect colours of half the resolution, for which both sides have to be even.
    fn start_encoder(path: &Path, codec: &[&str]) -> Result<Sink, CliError> {
        let mut command = Command::new("ffmpeg");
        command.args(["-y", "-loglevel", "error", "-f", "yuv4mpegpipe", "-i", "pipe:0"]);
        command.args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"]).args(codec);
        // A name that begins with a hyphen is no option.
        command.arg(Path::new(".").join(path));
        let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => CliError::Usage(format!(
                "'{}' is encoded by ffmpeg, which is not installed; install it, or write a raw video as .y4m",
                path.display()
            )),
            _ => CliError::Usage(format!("ffmpeg does not start: {error}")),
        })?;
        let input = child.stdin.take().map(BufWriter::new);
        let input = input.ok_or_else(|| CliError::Usage("ffmpeg has no standard input".into()))?;
        Ok(Sink::Encoder(child, input))
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.sink {
            Sink::Raw(file) => file.write_all(bytes),
            Sink::Encoder(_, input) => input.write_all(bytes),
        }
    }

    /// Adds an image of the video's size. After an error the video has ended.
    pub(super) fn add_image(&mut self, image: &ColorImage) -> Result<(), CliError> {
        self.write_bytes(&y4m_frame(image)).map_err(|error| self.write_error(&error))
    }

    /// The cause of a failed write: an encoder that has ended says it.
    fn write_error(&mut self, error: &std::io::Error) -> CliError {
        match &mut self.sink {
            Sink::Raw(_) => CliError::not_written(&self.path, error),
            Sink::Encoder(child, _) => {
                let _ = child.kill();
                encoder_error(&self.path, &read_messages(child))
            }
        }
    }

    /// Writes what is left, and waits until the file is whole.
    pub(super) fn finish_file(self) -> Result<(), CliError> {
        let path = self.path;
        match self.sink {
            Sink::Raw(mut file) => file.flush().map_err(|error| CliError::not_written(&path, &error)),
            Sink::Encoder(mut child, mut input) => {
                let written = input.flush();
                drop(input);
                let said = read_messages(&mut child);
                let status = child.wait()?;
                if status.success() && written.is_ok() { Ok(()) } else { Err(encoder_error(&path, &said)) }
            }
        }
    }
}

/// The messages of an encoder, until it ends.
fn read_messages(child: &mut Child) -> String {
    let said = child.stderr.take().map(std::io::read_to_string);
    said.and_then(Result::ok).unwrap_or_default().trim().to_owned()
}

fn encoder_error(path: &Path, said: &str) -> CliError {
    let said = if said.is_empty() { "it ended early" } else { said };
    CliError::Usage(format!("ffmpeg does not write '{}': {said}", path.display()))
}
