//! Another engine in a process of its own: it loads the scene, warms up, prints the position of its first body, and
//! measures a round for every line it reads.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::export::Files;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bench/peers");

pub struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    along: f64,
}

impl Peer {
    /// MuJoCo, PhysX and DART, if their Python packages are installed and support the scene, and ODE.
    pub fn all(scene: &Files, folder: &Path, warm_up: usize, steps: usize) -> [Option<Self>; 4] {
        let (mjcf, urdf) = (Some(&scene.mjcf), scene.urdf.as_ref());
        let scripts = [("mujoco_peer.py", mjcf), ("physx_peer.py", urdf), ("dart_peer.py", urdf)];
        let [mujoco, physx, dart] = scripts.map(|(script, file)| Self::python(script, file?, [warm_up, steps]));
        let ode = scene.plain.as_ref().and_then(|plain| Self::ode(plain, folder, warm_up, steps));
        [mujoco, physx, dart, ode]
    }

    /// A script with the path of a scene and these numbers.
    pub fn python(script: &str, scene: &Path, numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut command = Command::new("python3");
        command.arg("-B").arg(format!("{SOURCES}/{script}"));
        Self::start(command, scene, numbers)
    }

    /// ODE's library, if it and a C compiler are installed.
    fn ode(scene: &Path, folder: &Path, warm_up: usize, steps: usize) -> Option<Self> {
        let program = folder.join("ode_peer");
        if !program.exists() {
            let source = format!("{SOURCES}/ode_peer.c");
            let built = Command::new("cc")
                .args(["-O2", "-DdDOUBLE", "-o"])
                .arg(&program)
                .args([&source, "-lode", "-lm", "-lstdc++", "-lpthread"])
                .stderr(Stdio::null())
                .status();
            if !built.is_ok_and(|status| status.success()) {
                return None;
            }
        }
        Self::start(Command::new(&program), scene, [warm_up, steps])
    }

    fn start(mut command: Command, scene: &Path, numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        command.arg(scene).args(numbers.into_iter().map(|number| number.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Self { child, input, output, along: 0.0 };
        peer.along = peer.read()?.strip_prefix("ready ")?.parse().ok()?;
        Some(peer)
    }

    /// Position of the first body along x after the warm-up, metres.
    pub fn along(&self) -> f64 {
        self.along
    }

    /// Microseconds per step in one round.
    pub fn round(&mut self) -> Option<f64> {
        self.ask("go")?.first().copied()
    }

    /// The numbers that it answers a line with.
    pub fn ask(&mut self, line: &str) -> Option<Vec<f64>> {
        writeln!(self.input, "{line}").ok()?;
        self.input.flush().ok()?;
        self.read()?.split(' ').map(|number| number.parse().ok()).collect()
    }

    fn read(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok().filter(|&count| count > 0)?;
        Some(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
