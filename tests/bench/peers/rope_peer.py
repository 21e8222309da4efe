"""A rope in MuJoCo, whose scene the speed bench writes as MJCF: `rope_peer.py PATH STEPS`. For every line it reads, the name of an integrator, it runs the
scene from its start, and prints the microseconds of each step and the energy after it less that at the start, J."""

import sys
import time

import mujoco


def run(model, steps):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start = data.energy.sum()
    costs, errors = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        mujoco.mj_step(model, data)
        costs.append((time.perf_counter() - begin) * 1e6)
        # Runge and Kutta's method leaves the energy of its last stage.
        mujoco.mj_forward(model, data)
        # NumPy 2 writes its own numbers with the name of their type.
        errors.append(float(data.energy.sum() - start))
    return costs, errors


if __name__ == "__main__":
    model = mujoco.MjModel.from_xml_path(sys.argv[1])
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    print("ready 0", flush=True)
    for line in sys.stdin:
        model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{line.strip().upper()}")
        costs, errors = run(model, int(sys.argv[2]))
        print(" ".join(repr(number) for number in costs + errors), flush=True)
