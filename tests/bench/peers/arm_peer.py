"""MuJoCo as a peer of the grasp benchmark's arm: `arm_peer.py PLAN MJCF TIMESTEP STEPS EVERY`. The plan says what drives the joints, the
model is the one that SimPartner exports. It prints the engine's name, then how fingers and block move and the angles of the joints, at the
start and after every so many steps, and at the end the seconds that its steps took. Contacts are as stiff as MuJoCo's `discrete`
integrator takes them, with which a controller's law also holds at the end of a step."""

import math
import sys
import time

import mujoco
import numpy

SETTINGS = {"solref": [1e-5, 1.0], "impratio": 100.0, "noslip_iterations": 50}


class Arm:
    def __init__(self, plan, path, timestep):
        self.swings, self.pushes, self.watched, self.carried, self.explicit = [], [], [], [], False
        with open(plan, encoding="utf-8") as file:
            for line in file:
                word, *rest = line.split()
                if word == "swing":
                    self.swings.append((rest[0], *map(float, rest[1:])))
                elif word == "push":
                    self.pushes.append((rest[0], float(rest[1])))
                elif word == "watch":
                    self.watched.append(rest[0])
                elif word == "carried":
                    self.carried.append(rest)
                elif word == "explicit":
                    self.explicit = True
        spec = mujoco.MjSpec.from_file(path)
        spec.option.timestep = timestep
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        spec.option.impratio = SETTINGS["impratio"]
        spec.option.noslip_iterations = SETTINGS["noslip_iterations"]
        for geom in spec.geoms:
            geom.solref = SETTINGS["solref"]
        for name, _, _, stiffness, damping, limit, _ in self.swings:
            if not self.explicit:
                # Two actuators, each with a target of its own: one for the angle, one for the rate. Both are bounded together by the joint.
                for law, gain, bias in (("angle", stiffness, [0, -stiffness, 0]), ("rate", damping, [0, 0, -damping])):
                    actuator = spec.add_actuator(name=f"{name}-{law}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
                    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
                    actuator.gainprm[0] = gain
                    actuator.biasprm[:3] = bias
            joint = spec.joint(name)
            joint.actfrclimited = True
            joint.actfrcrange = [-limit, limit]
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.place = {}
        for name, *_ in self.swings:
            joint = self.model.joint(name)
            self.place[name] = joint.qposadr[0], joint.dofadr[0]
        self.start()

    def start(self):
        model, data = self.model, self.data
        for name, *_, rate in self.swings:
            data.qvel[self.place[name][1]] = rate
        mujoco.mj_forward(model, data)
        for body, hand in self.carried:
            place, turn, velocity, spin = self.body(hand)
            at = self.body(body)
            first = model.jnt_dofadr[model.body_jntadr[model.body(body).id]]
            data.qvel[first : first + 3] = velocity + numpy.cross(spin, at[0] - place)
            back = numpy.zeros(3)
            mujoco.mju_rotVecQuat(back, spin, at[1] * [1.0, -1.0, -1.0, -1.0])
            data.qvel[first + 3 : first + 6] = back
        mujoco.mj_forward(model, data)

    def advance(self, count):
        model, data = self.model, self.data
        for _ in range(count):
            now = data.time
            when = now if self.explicit else now + model.opt.timestep
            for name, amplitude, frequency, stiffness, damping, limit, _ in self.swings:
                angle, rate = amplitude * math.sin(frequency * when), amplitude * math.cos(frequency * when)
                position, velocity = self.place[name]
                if self.explicit:
                    effort = stiffness * (angle - data.qpos[position]) + damping * (rate - data.qvel[velocity])
                    data.qfrc_applied[velocity] = max(-limit, min(limit, effort))
                else:
                    data.actuator(f"{name}-angle").ctrl = angle
                    data.actuator(f"{name}-rate").ctrl = rate
            for name, force in self.pushes:
                data.qfrc_applied[model.joint(name).dofadr[0]] = force
            mujoco.mj_step(model, data)

    def body(self, name):
        """Place, turn as w x y z, velocity and spin, in world axes."""
        number = self.model.body(name).id
        found = numpy.zeros(6)
        mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, number, found, 0)
        return self.data.xpos[number].copy(), self.data.xquat[number].copy(), found[3:], found[:3]

    def tell(self):
        # What follows from a state is of the step's start until it is asked for.
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        numbers = [float(number) for name in self.watched for part in self.body(name) for number in part]
        numbers += [float(self.data.qpos[self.place[name][0]]) for name, *_ in self.swings]
        print(" ".join(map(repr, numbers)))


def main():
    plan, path, timestep, steps, every = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    arm = Arm(plan, path, timestep)
    print(f"engine MuJoCo {mujoco.__version__}, discrete, elliptic, noslip 50")
    arm.tell()
    wall = 0.0
    for _ in range(0, steps, every):
        start = time.perf_counter()
        arm.advance(every)
        wall += time.perf_counter() - start
        arm.tell()
    print("wall", wall)


if __name__ == "__main__":
    main()
