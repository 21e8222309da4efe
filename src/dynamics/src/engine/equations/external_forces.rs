//! External wrenches on links, for example of a thruster, wind or a hand. They act during the next step at a point that
//! moves with the link, and are part of the bias b of the equations of motion, like gravity.

use bevy_math::DVec3;

use crate::{
    Wrench,
    engine::state::{tree::Tree, workspace::ExternalWrench},
};

impl Tree {
    /// Adds an external wrench for the next step; the tree wakes up.
    pub(crate) fn add_external_wrench(&mut self, push: ExternalWrench) {
        let Wrench { force, torque } = push.wrench;
        if self.topology.freedom > 0 && (force != DVec3::ZERO || torque != DVec3::ZERO) {
            self.work.external_wrenches.push(push);
            self.wake();
        }
    }

    /// Sums up the external wrenches on each link about the common point, at the present poses.
    pub(crate) fn sum_external_wrenches(&mut self) {
        let (external_wrenches, links, origin) = (&self.work.external_wrenches, &self.work.links, self.work.origin);
        let placed = &mut self.work.link_wrenches;
        placed.clear();
        for push in external_wrenches {
            let force = push.spatial_force(&links[push.link], origin);
            match placed.iter_mut().find(|(link, _)| *link == push.link) {
                Some((_, sum)) => *sum += force,
                None => placed.push((push.link, force)),
            }
        }
    }

    /// Subtracts the external wrenches from the link forces of the bias.
    pub(crate) fn subtract_external_wrenches(&mut self) {
        for &(link, force) in &self.work.link_wrenches {
            let own = &mut self.work.links[link];
            own.force = own.force - force;
        }
    }

    /// Work of the external wrenches in a substep, J: force times mean velocity.
    pub(crate) fn external_work(&self, h: f64) -> f64 {
        let (topology, work, state) = (&self.topology, &self.work, &self.state);
        let mean = |dof: usize| state.v[dof] + 0.5 * (work.dv_free[dof] + work.dv_impulse[dof]);
        let mut power = 0.0;
        for push in &work.external_wrenches {
            let wrench = push.spatial_force(&work.links[push.link], work.origin);
            let mut link = Some(push.link);
            while let Some(index) = link {
                let joint = &topology.links[index];
                for dof in joint.dof..joint.dof + joint.joint.freedom() {
                    power += work.axis[dof].dot(wrench) * mean(dof);
                }
                link = joint.parent;
            }
        }
        h * power
    }

    /// Removes the external wrenches after the step.
    pub(crate) fn clear_external_wrenches(&mut self) {
        self.work.external_wrenches.clear();
        self.work.link_wrenches.clear();
    }
}
