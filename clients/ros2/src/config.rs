//! The configuration file, which maps a world to ROS. Everything in it has a default, and most worlds need no file.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::Path,
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use toml::Spanned;

use crate::{
    actuators::TIMEOUT_S,
    config_error::ConfigError,
    frames::Axes,
    ros::{Services, parse},
    scene::Scene,
};

/// Highest publishing rate, Hz: one message per step at the finest common timestep.
const MAX_RATE_HZ: f64 = 10_000.0;

/// The settings of the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Publishing rate in simulated time, Hz, of all topics without a rate of their own.
    pub rate_hz: f64,
    /// The DDS domain, as ROS_DOMAIN_ID.
    pub domain: u16,
    /// Mapping that pairs requests with replies of services.
    pub services: Services,
    /// The addresses of this machine on whose networks the bridge announces itself; loopback alone by default.
    pub networks: Vec<IpAddr>,
    /// True to publish sensors reliably, for both kinds of readers; false for best effort.
    pub reliable_sensors: bool,
    /// A subscriber whose commands the clock waits for.
    pub lockstep: Option<Lockstep>,
    /// Settings of a robot.
    pub robots: BTreeMap<Spanned<String>, Robot>,
}

/// A subscriber whose commands the clock waits for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockstep {
    /// The robot that it commands.
    pub robot: Spanned<String>,
    /// The topic of its commands.
    pub topic: Spanned<String>,
    /// Simulated time between commands, s.
    pub period_s: f64,
}

/// Settings of a robot.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Robot {
    /// Before all its topics, such as `/arm`; by default none for the only robot, else its name.
    pub namespace: Option<String>,
    /// Prefix of all its frames, such as `arm/`; by default none for the only robot, otherwise its name and a slash.
    pub frame_prefix: Option<String>,
    /// Upward axis of its links, `y` or `z`; by default that of the model.
    pub up: Option<Up>,
    /// Wheels that follow a `geometry_msgs/Twist`.
    pub cmd_vel: Option<CmdVel>,
    /// False if another node, such as slam_toolbox or AMCL, publishes the transform from `map` to `odom`; by default
    /// the bridge publishes the true one.
    pub map_to_odom: Option<bool>,
    /// Settings of a device.
    pub devices: BTreeMap<Spanned<String>, Device>,
}

/// An axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Up {
    /// As in our own format.
    Y,
    /// As in URDF.
    Z,
}

/// Settings of a device.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    /// Its topic; by default its name, in the robot's namespace.
    pub topic: Option<String>,
    /// Messages a second, at most as many as it has readings.
    pub rate_hz: Option<f64>,
    /// False to publish nothing.
    pub publish: Option<bool>,
}

/// Wheels that follow a `geometry_msgs/Twist`, as a differential drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CmdVel {
    /// The topic; `cmd_vel` in the robot's namespace by default.
    pub topic: Option<String>,
    /// Velocity motors of the left wheels. A minus before a name reverses the direction.
    pub left: Vec<String>,
    /// Velocity motors of the right wheels.
    pub right: Vec<String>,
    /// Radius of the wheels, m.
    pub wheel_radius: f64,
    /// Distance of the left and right wheels, m.
    pub track_width: f64,
    /// Simulated time without a command after which the wheels stop, s.
    #[serde(default = "half_a_second")]
    pub timeout_s: f64,
}

fn half_a_second() -> f64 {
    TIMEOUT_S
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate_hz: 100.0,
            domain: 0,
            services: Services::default(),
            networks: vec![Ipv4Addr::LOCALHOST.into()],
            reliable_sensors: true,
            lockstep: None,
            robots: BTreeMap::new(),
        }
    }
}

impl Robot {
    /// The axes of its links, if the file sets them.
    pub fn axes(&self) -> Option<Axes> {
        self.up.map(|up| if up == Up::Y { Axes::YUp } else { Axes::ZUp })
    }
}

/// A file, for messages that name its lines.
#[derive(Debug, Clone)]
pub struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or has an invalid entry; the message has the line.
    pub fn read(path: &Path) -> Result<(Self, Config)> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read '{}'", path.display()))?;
        Self::parse(&path.to_string_lossy(), &text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text has an invalid entry; the message has the line.
    pub fn parse(path: &str, text: &str) -> Result<(Self, Config)> {
        let source = Self { path: path.to_owned(), text: text.to_owned() };
        let config: Config = toml::from_str(text)
            .map_err(|error| source.problem(error.span().unwrap_or(0..0).start, error.message().trim()))?;
        source.check_values(&config)?;
        Ok((source, config))
    }

    /// A message about a place in it.
    pub fn problem(&self, offset: usize, what: &str) -> anyhow::Error {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        ConfigError::new(format!("{}:{}: {what}", self.path, before.matches('\n').count() + 1)).into()
    }

    /// Checks that need no world.
    fn check_values(&self, config: &Config) -> Result<()> {
        let rate = |rate: f64, offset, name: &str| match rate > 0.0 && rate <= MAX_RATE_HZ {
            true => Ok(()),
            false => Err(self.problem(offset, &format!("{name}: expected above 0 to {MAX_RATE_HZ} Hz, got {rate}"))),
        };
        let positive = |value: f64, offset, name: &str| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(self.problem(offset, &format!("{name}: expected a number above 0, got {value}"))),
        };
        rate(config.rate_hz, 0, "rate_hz")?;
        // DDS has no ports for domains beyond.
        if config.domain > 232 {
            bail!(self.problem(0, &format!("domain: expected 0 to 232, got {}", config.domain)));
        }
        if config.networks.is_empty() {
            bail!(self.problem(0, "networks: expected at least one address of this machine"));
        }
        if let Some(lockstep) = &config.lockstep {
            positive(lockstep.period_s, lockstep.robot.span().start, "lockstep.period_s")?;
        }
        for (name, robot) in &config.robots {
            let at = name.span().start;
            if let Some(drive) = &robot.cmd_vel {
                positive(drive.wheel_radius, at, "cmd_vel.wheel_radius")?;
                positive(drive.track_width, at, "cmd_vel.track_width")?;
                positive(drive.timeout_s, at, "cmd_vel.timeout_s")?;
            }
            let drive = robot.cmd_vel.as_ref().and_then(|drive| drive.topic.as_ref());
            for topic in robot.namespace.iter().filter(|namespace| !namespace.is_empty()).chain(drive) {
                parse(topic).map_err(|error| self.problem(at, &format!("{error:#}")))?;
            }
            for (name, device) in &robot.devices {
                let at = name.span().start;
                device.rate_hz.map_or(Ok(()), |hz| rate(hz, at, "rate_hz"))?;
                let topic = device.topic.as_ref().map_or(Ok(()), |topic| parse(topic).map(drop));
                topic.map_err(|error| self.problem(at, &format!("{error:#}")))?;
            }
        }
        Ok(())
    }

    /// Checks that a world has everything that the file names.
    ///
    /// # Errors
    /// Something is missing; the message has the line and lists the names.
    pub fn check_world(&self, config: &Config, scene: &Scene) -> Result<()> {
        let robots = scene.robots();
        let known = |name: &Spanned<String>, names: &[String], what: &str| match names.contains(name.get_ref()) {
            true => Ok(()),
            false => {
                let (got, names) = (name.get_ref(), names.join(", "));
                Err(self.problem(name.span().start, &format!("the world has no {what} '{got}'; it has {names}")))
            }
        };
        if let Some(lockstep) = &config.lockstep {
            known(&lockstep.robot, &robots, "robot")?;
        }
        for (name, robot) in &config.robots {
            known(name, &robots, "robot")?;
            let devices = scene.devices.iter().filter(|device| device.robot == *name.get_ref());
            let devices: Vec<String> = devices.map(|device| device.name.clone()).collect();
            for device in robot.devices.keys() {
                known(device, &devices, "device")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = Source::parse("bridge.toml", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let (_, config) = Source::parse("bridge.toml", "").unwrap();
        assert_eq!(config, Config::default());
        assert!(config.networks.iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        refused("rate_hz = 10\nrat_hz = 10\n", "bridge.toml:2: unknown field `rat_hz`, expected one of");
        refused("\n\nrate_hz = \"x\"\n", "bridge.toml:3: invalid type: string \"x\"");
        refused("rate_hz = nan\n", "bridge.toml:1: rate_hz: expected above 0 to 10000 Hz, got NaN");
        refused("rate_hz = 1e9\n", "bridge.toml:1: rate_hz: expected above 0");
        refused("domain = 233\n", "bridge.toml:1: domain: expected 0 to 232");
        refused("networks = []\n", "bridge.toml:1: networks: expected at least one");
        refused("networks = [\"here\"]\n", "bridge.toml:1: invalid IP address syntax");
        refused("services = \"zenoh\"\n", "bridge.toml:1: unknown variant `zenoh`");
        refused("\n[robots.A.devices.S]\ntopic = \"/a b\"\n", "bridge.toml:2: the name '/a b'");
        refused("\n[robots.A.devices.S]\nrate_hz = 0\n", "bridge.toml:2: rate_hz: expected above 0");
        refused("\n\n[robots.A]\nnamespace = \"1\"\n", "bridge.toml:3: the name '1'");
        refused("[robots.A.cmd_vel]\nleft = []\n", "bridge.toml:1: missing field");
        let drive = "left = []\nright = []\nwheel_radius = 0\ntrack_width = 1\n";
        refused(
            &format!("[robots.A.cmd_vel]\n{drive}"),
            "bridge.toml:1: cmd_vel.wheel_radius: expected a number above 0",
        );
        refused("[lockstep]\nrobot = \"A\"\ntopic = \"/b\"\nperiod_s = -1\n", "bridge.toml:2: lockstep.period_s");
        refused("[", "bridge.toml:1: ");
    }

    #[test]
    fn what_the_world_does_not_have_is_told_with_its_line() {
        let json = r#"OK {"protocol":1,"name":"w","timestep":0.001,"bodies":[],"joints":[],"devices":[{"name":"Eye","robot":"A",
            "kind":"PositionSensor","actuator":false,"port":1,"interval_steps":1,"fields":[]}]}"#;
        let scene = Scene::read(json).unwrap();
        let check = |text: &str| {
            let (source, config) = Source::parse("bridge.toml", text).unwrap();
            source.check_world(&config, &scene).map_err(|error| error.to_string())
        };
        assert_eq!(check("[robots.A.devices.Eye]\nrate_hz = 5\n"), Ok(()));
        let got = check("rate_hz = 5\n[robots.B]\nup = \"z\"\n");
        assert_eq!(got.unwrap_err(), "bridge.toml:2: the world has no robot 'B'; it has A");
        let got = check("\n[robots.A.devices.Ear]\npublish = false\n");
        assert_eq!(got.unwrap_err(), "bridge.toml:2: the world has no device 'Ear'; it has Eye");
        let got = check("[lockstep]\ntopic = \"/x\"\nperiod_s = 1\nrobot = \"C\"\n");
        assert_eq!(got.unwrap_err(), "bridge.toml:4: the world has no robot 'C'; it has A");
    }
}
