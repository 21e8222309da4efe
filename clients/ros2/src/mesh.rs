//! Meshes of a description, which viewers fetch by HTTP: STL files in memory, on a port of this process.
//!
//! The path has a random part, which only the description contains: only readers of the description can read the
//! meshes.

use std::{
    collections::hash_map::RandomState,
    f64::consts::TAU,
    hash::{BuildHasher, Hasher},
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::scene::Shape;

/// Requests that are answered at a time; the others wait.
const AT_A_TIME: usize = 16;

/// The longest request, bytes. Those of curl and browsers are below 1 kB.
const MAX_REQUEST_BYTES: usize = 8 << 10;

/// Time limit for a client's request and for the transfer of a mesh.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// Pause when the system has no more sockets.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Sides of the mesh of a cone.
const CONE_SIDES: u32 = 24;

/// Bands of the mesh of an ellipsoid from pole to pole.
const ELLIPSOID_BANDS: u32 = 16;

/// A surface of triangles, counter-clockwise seen from outside; metres.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    vertices: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// The surface of a mesh or a hull.
    pub fn of(shape: &Shape) -> Self {
        let count = shape.vertices.len() as u64;
        let is_whole = |triangle: &&[u32; 3]| triangle.iter().all(|&corner| u64::from(corner) < count);
        let triangles = shape.triangles.iter().filter(is_whole).copied().collect();
        Self { vertices: shape.vertices.clone(), triangles }
    }

    /// A cone along y, its tip up.
    pub fn cone(radius: f64, length: f64) -> Self {
        let corner = |number: u32| {
            let (sine, cosine) = (TAU * f64::from(number) / f64::from(CONE_SIDES)).sin_cos();
            [(radius * sine) as f32, (-0.5 * length) as f32, (radius * cosine) as f32]
        };
        let (tip, middle) = (CONE_SIDES, CONE_SIDES + 1);
        let ends = [0.5, -0.5].map(|end| [0.0, (end * length) as f32, 0.0]);
        let sides = (0..CONE_SIDES).flat_map(|number| {
            let next = (number + 1) % CONE_SIDES;
            [[number, next, tip], [next, number, middle]]
        });
        Self { vertices: (0..CONE_SIDES).map(corner).chain(ends).collect(), triangles: sides.collect() }
    }

    /// An ellipsoid with its poles on y, from half of its lengths.
    pub fn ellipsoid([x, y, z]: [f64; 3]) -> Self {
        let angle = |part: u32| (0.5 * TAU * f64::from(part) / f64::from(ELLIPSOID_BANDS)).sin_cos();
        let around = 2 * ELLIPSOID_BANDS;
        let corner = |(circle, step): (u32, u32)| {
            let ((across, height), (along_x, along_z)) = (angle(circle), angle(step));
            [(x * across * along_x) as f32, (y * height) as f32, (z * across * along_z) as f32]
        };
        // Each circle has all of its corners, also at the poles, where they are one point.
        let cells = |count: u32| (0..count).flat_map(move |circle| (0..around).map(move |step| (circle, step)));
        let triangles = cells(ELLIPSOID_BANDS).flat_map(|(circle, step)| {
            let next = (step + 1) % around;
            let [a, b] = [step, next].map(|step| circle * around + step);
            let [c, d] = [a, b].map(|corner| corner + around);
            let upper = (circle > 0).then_some([a, c, b]);
            upper.into_iter().chain((circle + 1 < ELLIPSOID_BANDS).then_some([b, c, d]))
        });
        Self { vertices: cells(ELLIPSOID_BANDS + 1).map(corner).collect(), triangles: triangles.collect() }
    }

    /// Its triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// As a binary STL file.
    pub fn to_stl(&self) -> Vec<u8> {
        let mut bytes = b"SimPartner".to_vec();
        bytes.resize(80, 0);
        bytes.extend((self.triangles.len() as u32).to_le_bytes());
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|corner| bevy_math::Vec3::from_array(self.vertices[corner as usize]));
            let normal = (b - a).cross(c - a).normalize_or_zero();
            for vector in [normal, a, b, c] {
                vector.to_array().into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            }
            bytes.extend([0, 0]);
        }
        bytes
    }
}

/// The port and the files behind it.
pub struct MeshServer {
    listener: TcpListener,
    address: SocketAddr,
    key: String,
    files: Vec<Vec<u8>>,
}

impl MeshServer {
    /// Opens a port on an address of this machine.
    ///
    /// # Errors
    /// When there is none to be had.
    pub async fn open(address: IpAddr) -> Result<Self> {
        let listener = TcpListener::bind((address, 0)).await;
        let listener = listener.with_context(|| format!("cannot serve meshes on {address}"))?;
        let address = listener.local_addr()?;
        let random = || RandomState::new().build_hasher().finish();
        Ok(Self { listener, address, key: format!("{:016x}{:016x}", random(), random()), files: Vec::new() })
    }

    /// Serves a mesh, and returns its URL.
    pub fn publish(&mut self, mesh: &Mesh) -> String {
        let file = mesh.to_stl();
        // The wheels of a robot share one mesh.
        let place = self.files.iter().position(|known| *known == file).unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        format!("http://{}/{}/{place}.stl", self.address, self.key)
    }

    /// Answers requests from now on, in a task.
    pub fn serve(self, tasks: &mut JoinSet<()>) {
        tasks.spawn_local(async move {
            let Self { listener, key, files, .. } = self;
            let files = Arc::new((key, files));
            let places = Arc::new(Semaphore::new(AT_A_TIME));
            let mut clients = JoinSet::new();
            loop {
                while clients.try_join_next().is_some() {}
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let files = Arc::clone(&files);
                        clients.spawn_local(async move {
                            // A client that disconnects needs no answer.
                            let _ = timeout(CLIENT_TIMEOUT, answer(stream, &files.0, &files.1)).await;
                            drop(place);
                        });
                    }
                    Err(_) => sleep(BACK_OFF).await,
                }
            }
        });
    }
}

/// Reads a request and answers it.
async fn answer(mut stream: TcpStream, key: &str, files: &[Vec<u8>]) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > MAX_REQUEST_BYTES || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number = path.strip_prefix('/').and_then(|path| path.strip_prefix(key)).and_then(|path| path.strip_prefix('/'));
    let number = number.and_then(|name| name.strip_suffix(".stl")?.parse::<usize>().ok());
    let (status, body): (&str, &[u8]) = match (verb, number.and_then(|number| files.get(number))) {
        ("GET" | "HEAD", Some(file)) => ("200 OK", file),
        ("GET" | "HEAD", None) => ("404 Not Found", b"there is no such mesh\n"),
        _ => ("405 Method Not Allowed", b"expected GET\n"),
    };
    let kind = if status == "200 OK" { "model/stl" } else { "text/plain" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    if verb != "HEAD" {
        stream.write_all(body).await?;
    }
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume inside of a surface whose triangles turn outwards, m³.
    fn volume(mesh: &Mesh) -> f64 {
        let corner = |index: u32| bevy_math::Vec3::from_array(mesh.vertices[index as usize]).as_dvec3();
        mesh.triangles.iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c))) / 6.0).sum()
    }

    #[test]
    fn a_cone_is_closed_and_turned_outwards() {
        let mesh = Mesh::cone(0.5, 2.0);
        let sides = f64::from(CONE_SIDES);
        let base = 0.5 * sides * (TAU / sides).sin() * 0.25;
        assert!((volume(&mesh) - base * 2.0 / 3.0).abs() < 1e-6, "{}", volume(&mesh));
        assert_eq!(mesh.to_stl().len(), 84 + 50 * mesh.triangles.len());
    }

    /// The corners are on the ellipsoid, so that the triangles cut off a little of its volume.
    #[test]
    fn an_ellipsoid_is_closed_and_turned_outwards() {
        let mesh = Mesh::ellipsoid([0.3, 0.2, 0.1]);
        let ratio = volume(&mesh) / (2.0 / 3.0 * TAU * 0.3 * 0.2 * 0.1);
        assert!((0.98..1.0).contains(&ratio), "{ratio}");
        assert!(
            mesh.triangles.iter().all(|&[a, b, c]| volume(&Mesh { triangles: vec![[a, b, c]], ..mesh.clone() }) > 0.0)
        );
    }

    async fn ask(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").split('/').next().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn meshes_are_had_by_their_urls_alone() {
        let set = tokio::task::LocalSet::new();
        set.run_until(async {
            let mut server = MeshServer::open([127, 0, 0, 1].into()).await.unwrap();
            let (cone, other) = (Mesh::cone(1.0, 1.0), Mesh::cone(1.0, 2.0));
            let url = server.publish(&cone);
            assert_ne!(server.publish(&other), url);
            assert_eq!(server.publish(&cone), url, "the same mesh is one file");
            let mut tasks = JoinSet::new();
            server.serve(&mut tasks);
            let path = format!("/{}", url.splitn(4, '/').nth(3).unwrap());
            let got = ask(&url, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
            assert!(got.starts_with("HTTP/1.1 200 OK\r\nContent-Type: model/stl\r\n"), "{path}: {got}");
            assert!(got.contains("\r\n\r\nSimPartner\0"), "{got}");
            let head = ask(&url, &format!("HEAD {path} HTTP/1.0\r\n\r\n")).await;
            assert!(head.contains(" 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
            for (request, status) in [
                ("GET /0.stl HTTP/1.1\r\n\r\n".to_owned(), "404"),
                (format!("GET {}9 HTTP/1.1\r\n\r\n", path.trim_end_matches(".stl")), "404"),
                (format!("GET {}/../../etc/passwd HTTP/1.1\r\n\r\n", path.trim_end_matches("/0.stl")), "404"),
                (format!("POST {path} HTTP/1.1\r\n\r\n"), "405"),
                ("\u{ff}\r\n\r\n".to_owned(), "405"),
            ] {
                assert!(ask(&url, &request).await.starts_with(&format!("HTTP/1.1 {status}")), "{request}");
            }
            assert_eq!(ask(&url, &"x".repeat(MAX_REQUEST_BYTES + 2)).await, "", "a request without end is closed");
        })
        .await;
    }
}
