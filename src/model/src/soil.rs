//! Soil: ground that deforms under pressure and shear.
//!
//! Its parameters are those of the literature on terramechanics (Bekker 1969; Reece 1965; Wong and Reece 1967; Janosi
//! and Hanamoto 1961), in SI units.

/// Which law of pressure and sinkage a soil follows, p = k z^n for a contact of the smaller dimension b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PressureLaw {
    /// Bekker: k = kc / b + kphi.
    Bekker {
        /// kc, N/m^(n+1).
        cohesive: f64,
        /// kphi, N/m^(n+2).
        frictional: f64,
    },
    /// Reece: k = (c k'c + gamma b k'phi) / b^n, with the cohesion c and the weight gamma of a cubic metre.
    Reece {
        /// k'c, a number.
        cohesive: f64,
        /// k'phi, a number.
        frictional: f64,
    },
}

/// A homogeneous soil.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Soil {
    /// Pressure-sinkage law.
    pub pressure: PressureLaw,
    /// Exponent n of the sinkage, above 0.
    pub exponent: f64,
    /// Increase of the exponent at full slip: wheels that slip sink deeper. At least 0.
    pub slip_exponent: f64,
    /// Cohesion c, Pa.
    pub cohesion: f64,
    /// Angle of internal friction, rad, from 0 to below a right angle.
    pub friction_angle: f64,
    /// Shear deformation modulus K: after so much of a slide, 63 % of the largest shear stress are there; m.
    pub shear_modulus: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// Position of the largest stress under a rolling wheel, as a fraction of the entry angle: a0 + a1 slip.
    pub peak: [f64; 2],
    /// Unloading stiffness: fall of the pressure per metre that pressed soil rises, Pa/m.
    pub elastic_stiffness: f64,
    /// Damping of pressed soil against its rate of unloading and reloading, Pa s/m.
    pub damping: f64,
}

/// A built-in soil: its name, description and sources of parameters.
#[derive(Debug, Clone, Copy)]
pub struct NamedSoil {
    /// Its name in files.
    pub name: &'static str,
    /// Description, and the source of its parameters.
    pub description: &'static str,
    /// The soil.
    pub soil: Soil,
}

/// A soil of Bekker's law: n, kc, kphi, c, angle in degrees, K, density. Parameters that measurements of pressure and
/// shear do not give have defaults, such as [`Soil::ELASTIC_STIFFNESS`].
const fn bekker([n, kc, kphi, c, degrees, shear, density]: [f64; 7]) -> Soil {
    Soil {
        pressure: PressureLaw::Bekker { cohesive: kc, frictional: kphi },
        exponent: n,
        slip_exponent: 0.0,
        cohesion: c,
        friction_angle: degrees * (std::f64::consts::PI / 180.0),
        shear_modulus: shear,
        density,
        peak: Soil::PEAK,
        elastic_stiffness: Soil::ELASTIC_STIFFNESS,
        damping: Soil::DAMPING,
    }
}

impl Soil {
    /// Default position of the largest stress: Wong and Reece's figures for sand are near 0.4 and 0.15.
    pub const PEAK: [f64; 2] = [0.4, 0.15];
    /// Stiffness of pressed soil by default, Pa/m: that of the harder soils of Chrono's models, far above every modulus
    /// kphi here.
    pub const ELASTIC_STIFFNESS: f64 = 4e8;
    /// Damping of pressed soil by default, Pa s/m, from the same models.
    pub const DAMPING: f64 = 3e4;

    /// The soils that ship.
    pub const NAMED: [NamedSoil; 8] = [
        NamedSoil {
            name: "drySand",
            description: "dry sand (Wong; Ding et al. 2015, table I)",
            soil: bekker([1.1, 0.99e3, 1528.43e3, 1040.0, 28.0, 0.025, 1520.0]),
        },
        NamedSoil {
            name: "sandyLoam",
            description: "sandy loam (Wong, table 2.3)",
            soil: bekker([0.7, 5.27e3, 1515.04e3, 1720.0, 29.0, 0.025, 1550.0]),
        },
        NamedSoil {
            name: "clay",
            description: "clayey soil (Ding et al. 2015, table I)",
            soil: bekker([0.5, 13.19e3, 692.15e3, 4140.0, 13.0, 0.006, 1650.0]),
        },
        NamedSoil {
            name: "lunar",
            description: "lunar soil (Ding et al. 2015, table I)",
            soil: bekker([1.0, 1.4e3, 820e3, 170.0, 35.0, 0.018, 1500.0]),
        },
        NamedSoil {
            name: "lunarSimulant",
            description: "HIT-LSS1, a simulant of lunar soil (Ding et al. 2015, table I)",
            soil: bekker([1.1, 15.6e3, 2407.4e3, 250.0, 31.9, 0.0114, 1600.0]),
        },
        NamedSoil {
            name: "marsSand",
            description: "sand for Mars rovers, which sink deeper as they slip (Zhou et al. 2023, table 2)",
            soil: Soil { slip_exponent: 0.5, ..bekker([0.92, 13.6e3, 2259.1e3, 462.3, 35.0, 0.015, 1500.0]) },
        },
        NamedSoil {
            name: "regolithSimulant",
            description: "simulant of regolith (Ishigami 2008)",
            soil: bekker([1.0, 1.37e3, 8.14e5, 800.0, 37.2, 0.025, 1490.0]),
        },
        NamedSoil {
            name: "leteSand",
            description: "LETE sand (Wong; Chrono's hard soil)",
            soil: bekker([0.793, 102e3, 5301e3, 1300.0, 31.1, 0.012, 1600.0]),
        },
    ];

    /// The soil of this name, if it ships.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|named| named.name == name).map(|named| named.soil)
    }

    /// The modulus k of p = k z^n under a contact with the smaller dimension `width`, m, at the gravitational
    /// acceleration `gravity`, m/s². The exponent is that without slip.
    pub fn modulus(&self, width: f64, gravity: f64) -> f64 {
        match self.pressure {
            PressureLaw::Bekker { cohesive, frictional } => cohesive / width + frictional,
            PressureLaw::Reece { cohesive, frictional } => {
                let weight = self.density * gravity;
                (self.cohesion * cohesive + weight * width * frictional) / libm::pow(width, self.exponent)
            }
        }
    }
}
