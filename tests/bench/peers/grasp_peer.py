"""A peer of the grasp benchmark: `grasp_peer.py ENGINE SCENE TIMESTEP STEPS EVERY`. It prints the engine's name, then how all bodies
move at the start and after every so many steps, and at the end the seconds that its steps took. Each engine has the settings that held
rows of blocks best among those tried."""

import sys
import time

from scene import read


def mujoco(scene, timestep):
    import mujoco_peer as peer

    options = {"integrator": "discrete", "cone": "elliptic", "impratio": "100", "noslip_iterations": "50", "jacobian": "dense"}
    engine = peer.Engine(scene, timestep, options, 'solref="1e-5 1"')
    return f"{peer.NAME}, discrete, elliptic, impratio 100, noslip 50", engine


def physx(iterations):
    def make(scene, timestep):
        import physx_peer as peer

        return f"{peer.NAME}, TGS {iterations[0]}/{iterations[1]}", peer.Engine(scene, timestep, iterations)

    return make


def dart(scene, timestep):
    import dart_peer as peer

    return f"{peer.NAME}, Dantzig", peer.Engine(scene, timestep)


ENGINES = {"mujoco": mujoco, "physx-10-1": physx((10, 1)), "physx-50-4": physx((50, 4)), "dart": dart}


def tell(states):
    print(" ".join(repr(float(number)) for state in states for part in state for number in part))


def main():
    name, path, timestep, steps, every = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    scene = read(path)
    try:
        title, engine = ENGINES[name](scene, timestep)
    except ImportError:
        sys.exit(f"{name} is not installed")
    print("engine", title)
    # PhysX places the links of an articulation with the first step.
    tell((body.at, body.turn, body.velocity, body.spin) for body in scene.bodies)
    wall = 0.0
    for _ in range(0, steps, every):
        start = time.perf_counter()
        engine.advance(every)
        wall += time.perf_counter() - start
        tell(engine.body(index) for index in range(len(scene.bodies)))
    print("wall", wall)


if __name__ == "__main__":
    main()
