//! The distance that a wheel has rolled on its contact, and has taken back since.

use serde::{Deserialize, Serialize};

/// Rolled distance of a wheel, as a fraction of the length of its contact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Travel {
    /// 1 where it has rolled forwards by that length, -1 backwards, 0 where it was set down.
    rolled: f64,
    /// Part of it that was taken back since, while the soil pressed ahead unloads. A wheel that rolls on takes this
    /// back first, so that a wheel that trembles keeps its position.
    back: f64,
    /// Distance that it skidded back before, in recoils.
    skidded: f64,
}

/// Distance, in recoils, over which a wheel that skids back without turning unloads the soil that it pressed: one
/// recoil for the soil ahead, and one for the soil that becomes loaded behind.
const SKID_RECOILS: f64 = 2.0;

impl Travel {
    /// The rolled fraction, from -1 to 1: the peak is as far ahead, and the exit as far behind.
    pub(super) fn fraction(self) -> f64 {
        self.rolled - self.back.copysign(self.rolled)
    }

    /// Advances by a distance, m, with the fraction `turns` of it as rotation of the rim.
    ///
    /// A wheel that turns back has its peak below it as soon as the soil that it pressed ahead has unloaded, after the
    /// `recoil`, m. A wheel that skids back without turning unloads all of that soil first ([`SKID_RECOILS`]): a peak
    /// that moved with each tremble of a braked wheel would press soil without end.
    pub(super) fn advance(self, [way, turns]: [f64; 2], length: f64, recoil: impl Fn() -> f64) -> Self {
        let Self { rolled, back, skidded } = self;
        let onwards = if rolled < 0.0 { -way } else { way };
        if onwards >= 0.0 && back + skidded == 0.0 || rolled == 0.0 {
            return Self { rolled: (rolled + way / length).clamp(-1.0, 1.0), ..self };
        }
        let recoil = recoil();
        let parts = onwards / recoil;
        let skids = (-parts * (1.0 - turns)).clamp(0.0, SKID_RECOILS - skidded);
        let (back, skidded) = (back - parts - skids, skidded + skids);
        let size = rolled.abs();
        // A wheel that rolls on takes back its skid last.
        let (back, skidded) =
            if back < 0.0 { (0.0f64.min(back + skidded), (back + skidded).max(0.0)) } else { (back, skidded) };
        if (0.0..size).contains(&back) {
            return Self { rolled, back, skidded };
        }
        // Everything is taken back or unloaded: the rest of the distance is rolled.
        let part = recoil / length;
        let rolls = if back < 0.0 { size - back * part } else { (size - back) * part };
        Self { rolled: (rolls * rolled.signum()).clamp(-1.0, 1.0), back: 0.0, skidded: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{SKID_RECOILS, Travel};

    /// A wheel that trembles keeps its position. One that turns back has its peak below it after the recoil; one that
    /// skids, after two more.
    #[test]
    fn what_trembles_has_its_peak_where_it_was() {
        let (length, recoil) = (0.1, 1e-4);
        let go = |travel: Travel, way: f64, turns: f64| travel.advance([way, turns], length, || recoil);
        for sign in [1.0, -1.0] {
            let rolled = go(Travel::default(), 0.05 * sign, 1.0);
            assert!((rolled.fraction() - 0.5 * sign).abs() < 1e-12, "{rolled:?}");
            for turns in [0.0, 0.3, 1.0] {
                let mut trembles = rolled;
                for _ in 0..1000 {
                    trembles = go(go(trembles, -4e-5 * sign, turns), 4e-5 * sign, turns);
                }
                assert!((trembles.fraction() - rolled.fraction()).abs() < 1e-12, "{trembles:?}");
            }
            assert!(go(rolled, -0.5 * recoil * sign, 1.0).fraction().abs() < 1e-12);
            assert_eq!(go(rolled, -SKID_RECOILS * recoil * sign, 0.0).fraction(), rolled.fraction());
            assert!(go(rolled, -(SKID_RECOILS + 0.5) * recoil * sign, 0.0).fraction().abs() < 1e-12);
            // The rest of the distance is rolled.
            let back = go(rolled, -(0.5 * recoil + 0.03) * sign, 1.0);
            assert!((back.fraction() + 0.3 * sign).abs() < 1e-12, "{back:?}");
            let on = go(go(rolled, -2e-5 * sign, 1.0), (2e-5 + 0.02) * sign, 1.0);
            assert!((on.fraction() - 0.7 * sign).abs() < 1e-12, "{on:?}");
        }
    }
}
