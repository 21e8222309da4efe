//! Imported MJCF models on the ground, compared with MuJoCo.
//!
//! A plate of 0.4 x 0.4 x 0.04 m is on a plane. Gravity is tilted by the angle t, so that the plate slides with the
//! acceleration a = g (sin t - mu cos t), or rests if that is negative. MuJoCo's manual (Modeling, Contact parameters)
//! has the rule for mu and for the dimension of a contact: those of the geom of the higher priority, or for equal
//! priorities the larger of each. With one dimension there is no friction.

use std::process::Command;

use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_dynamics::EngineKind;
use simpartner_model::{BodyId, Timestep};

use crate::{
    needs::{Need, met},
    scene::{self, G},
};

/// A geom's friction, dimension and priority.
type Geom = (f64, u8, i32);

/// Geom of the plane, geom of the plate, slope, rad, and the plate's path after 1 s in MuJoCo 3 and 4, m (timestep
/// 1 ms, Euler).
const BY_MUJOCO: [(Geom, Geom, f64, f64); 20] = [
    ((0.2, 3, 0), (0.8, 3, 0), 0.3, 0.0013),
    ((1.0, 3, 2), (0.2, 4, 1), 0.5, 0.0029),
    ((0.2, 1, 1), (0.4, 1, 0), 0.5, 2.3539),
    ((0.8, 1, 1), (1.0, 4, 0), 0.5, 2.3539),
    ((0.2, 1, 0), (0.6, 1, 2), 0.5, 2.3539),
    ((0.2, 4, 0), (0.2, 4, 1), 0.5, 1.4921),
    ((0.6, 1, 2), (0.6, 3, 0), 0.5, 2.3539),
    ((0.2, 3, 0), (0.2, 6, 0), 0.5, 1.4921),
    ((0.6, 1, 2), (0.8, 3, 2), 0.15, 0.0006),
    ((0.4, 1, 0), (0.2, 1, 0), 0.3, 1.4510),
    ((0.2, 6, 2), (0.8, 3, 1), 0.3, 0.5129),
    ((0.8, 1, 0), (0.2, 6, 0), 0.5, 0.0038),
    ((0.8, 3, 1), (0.6, 1, 0), 0.5, 0.0031),
    ((0.4, 1, 0), (0.4, 3, 0), 0.3, 0.0015),
    ((0.4, 1, 1), (0.8, 1, 0), 0.15, 0.7337),
    ((0.2, 6, 0), (0.2, 4, 2), 0.3, 0.5129),
    ((0.4, 3, 1), (0.2, 1, 0), 0.3, 0.0015),
    ((0.4, 4, 0), (0.2, 6, 0), 0.5, 0.6303),
    ((0.6, 3, 0), (0.6, 1, 1), 0.5, 2.3539),
    ((0.2, 3, 0), (0.4, 3, 0), 0.5, 0.6303),
];

fn read(text: &str) -> World {
    match xml::read_text("m.xml", text) {
        Ok(Document::World(world)) => world,
        Ok(_) => panic!("no world"),
        Err(problems) => panic!("{problems}"),
    }
}

/// Path of the plate after 1 s, m.
fn slide(plane: Geom, plate: Geom, angle: f64) -> f64 {
    let geom = |(friction, dimension, priority): Geom| {
        format!("friction='{friction}' condim='{dimension}' priority='{priority}'")
    };
    let (sine, cosine) = libm::sincos(angle);
    let world = read(&format!(
        "<mujoco><option gravity='{} 0 {}'/><worldbody><geom type='plane' size='50 50 1' {}/><body pos='0 0 0.02'><freejoint/>\
         <geom type='box' size='0.2 0.2 0.02' {}/></body></worldbody></mujoco>",
        G * sine,
        -G * cosine,
        geom(plane),
        geom(plate)
    ));
    let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &scene::settings()).unwrap();
    for _ in 0..1000 {
        engine.step();
    }
    engine.body(BodyId::new(0)).pose.translation.x
}

/// The same by the rule.
fn by_rule(plane: Geom, plate: Geom, angle: f64) -> f64 {
    let deciding = [plane, plate].into_iter().filter(|geom| geom.2 == plane.2.max(plate.2));
    let (mu, dimension) =
        deciding.fold((0.0, 0), |(mu, dimension): (f64, u8), geom| (mu.max(geom.0), dimension.max(geom.1)));
    let mu = if dimension == 1 { 0.0 } else { mu };
    let (sine, cosine) = libm::sincos(angle);
    0.5 * (G * (sine - mu * cosine)).max(0.0)
}

/// The displacement by half a step of the acceleration: the error of MuJoCo's Euler scheme, which also bounds its creep
/// at rest.
fn tolerance(far: f64) -> f64 {
    far * 1e-3 + 4e-3
}

fn is_rapier() -> bool {
    scene::settings().engine == EngineKind::Rapier
}

#[test]
fn plates_slide_as_in_mujoco() {
    for (plane, plate, angle, mujoco) in BY_MUJOCO {
        let law = by_rule(plane, plate, angle);
        assert!((law - mujoco).abs() < tolerance(law), "{plane:?} {plate:?} {angle}: {mujoco}, by the rule {law}");
        // Rapier has neither priorities nor friction of ineffective surfaces.
        if !is_rapier() {
            let found = slide(plane, plate, angle);
            assert!((found - law).abs() < 1e-3 * law + 1e-6, "{plane:?} {plate:?} {angle}: {found}, by the rule {law}");
        }
    }
}

#[test]
fn any_two_geoms_slide_by_mujocos_rule() {
    let long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let mut state = 43_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for case in 0..if long { 2000 } else { 60 } {
        let mut geom = || {
            let (friction, dimension) = (0.05 * draw(25) as f64, [1, 3, 4, 6][draw(4)]);
            // Rapier has neither priorities nor friction of ineffective surfaces.
            if is_rapier() { (friction, 3, 0) } else { (friction, dimension, draw(3) as i32 - 1) }
        };
        let (plane, plate) = (geom(), geom());
        let angle = 0.01 + 0.02 * draw(30) as f64;
        let (found, law) = (slide(plane, plate, angle), by_rule(plane, plate, angle));
        let within = if is_rapier() { 0.02 * law + 0.02 } else { 1e-3 * law + 1e-6 };
        assert!((found - law).abs() < within, "{case} {plane:?} {plate:?} {angle}: {found}, by the rule {law}");
    }
}

/// The humanoid of dm_control, whose geoms have one contact dimension each, falls onto a floor with three. After two
/// seconds its torso is at MuJoCo's position, up to the thickness of the body.
#[test]
fn a_humanoid_of_dm_control_falls_as_in_mujoco() {
    const FALL: &str = "import mujoco, pathlib, importlib.util as u\n\
        p = pathlib.Path(u.find_spec('dm_control').origin).parent / 'suite' / 'humanoid.xml'\n\
        m = mujoco.MjModel.from_xml_path(str(p)); d = mujoco.MjData(m)\n\
        while d.time < 2: mujoco.mj_step(m, d)\n\
        print(p); print(d.body('torso').xpos[2])";
    let asked = Command::new("python3").args(["-c", FALL]).output();
    let told = asked.map_err(|error| error.to_string()).and_then(|output| match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err("Python lacks the modules mujoco and dm_control".to_owned()),
    });
    let Some(told) = met(Need::Mujoco, told) else { return };
    let (path, mujoco) = told.trim().split_once('\n').unwrap();
    let mujoco: f64 = mujoco.parse().unwrap();
    let world = xml::read_world(path.as_ref()).unwrap_or_else(|problems| panic!("{problems}"));
    let torso = world.mechanism.bodies().find(|(_, body)| body.name == "torso").unwrap().0;
    let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &scene::settings()).unwrap();
    for _ in 0..2000 {
        engine.step();
    }
    let found = engine.body(torso).pose.translation.y;
    assert!((found - mujoco).abs() < 0.05, "{found} m, in MuJoCo {mujoco} m");
}
