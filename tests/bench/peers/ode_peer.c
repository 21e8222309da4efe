/* The scene of a text file in ODE: builds it, warms up, and measures a round for every line read. ODE has no implicit
   position motor; a joint that holds is driven at a speed against its angle. With three numbers behind the file (timestep, steps, steps
   between samples) it is a peer of the grasp benchmark instead, and says how all bodies move. */
#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 20000, POINTS = 8 };

typedef struct {
    dJointID joint;
    int holds;
    double target;
} Motor;

static dWorldID world;
static dSpaceID space;
static dJointGroupID group;
static dBodyID bodies[MOST];
static int robots[MOST];
static Motor motors[MOST];
static double friction[MOST];
static int body_count, motor_count;
static dJointID sliders[MOST];
static double pushes[MOST], timestep = 0.001;
static int slider_count;

static double mu_of(dGeomID geom) {
    dBodyID body = dGeomGetBody(geom);
    return body ? friction[(size_t)dBodyGetData(body)] : 0.8;
}

static void near_callback(void *data, dGeomID a, dGeomID b) {
    (void)data;
    dBodyID first = dGeomGetBody(a), second = dGeomGetBody(b);
    if (!first && !second) return;
    /* Parts of a robot meet the ground only. */
    if (first && second && (robots[(size_t)dBodyGetData(first)] >= 0 || robots[(size_t)dBodyGetData(second)] >= 0)) return;
    dContact contacts[POINTS];
    int count = dCollide(a, b, POINTS, &contacts[0].geom, sizeof(dContact));
    double mu = mu_of(a) < mu_of(b) ? mu_of(a) : mu_of(b);
    for (int i = 0; i < count; i++) {
        contacts[i].surface.mode = dContactApprox1;
        contacts[i].surface.mu = mu;
        dJointAttach(dJointCreateContact(world, group, &contacts[i]), first, second);
    }
}

static void step(void) {
    for (int i = 0; i < motor_count; i++) {
        double speed = motors[i].holds ? 100.0 * (motors[i].target - dJointGetHingeAngle(motors[i].joint)) : motors[i].target;
        /* ODE counts a hinge from its second body. */
        dJointSetHingeParam(motors[i].joint, dParamVel, speed);
    }
    for (int i = 0; i < slider_count; i++) dJointAddSliderForce(sliders[i], pushes[i]);
    dSpaceCollide(space, NULL, near_callback);
    if (body_count <= 30) {
        dWorldStep(world, timestep);
    } else {
        dWorldQuickStep(world, timestep);
    }
    dJointGroupEmpty(group);
}

static void read_body(const double *v) {
    int index = (int)v[0];
    dBodyID body = dBodyCreate(world);
    dMass mass;
    dMassSetParameters(&mass, v[2], 0, 0, 0, v[3], v[4], v[5], 0, 0, 0);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, v[6], v[7], v[8]);
    dQuaternion q = {v[9], v[10], v[11], v[12]};
    dBodySetQuaternion(body, q);
    dBodySetData(body, (void *)(size_t)index);
    bodies[index] = body;
    robots[index] = (int)v[1];
    body_count++;
}

static void read_geom(const char *word, const double *v) {
    int index = (int)v[0];
    dGeomID geom = !strcmp(word, "sphere") ? dCreateSphere(space, v[1])
                   : !strcmp(word, "box")  ? dCreateBox(space, 2 * v[1], 2 * v[2], 2 * v[3])
                   : !strcmp(word, "capsule") ? dCreateCapsule(space, v[1], 2 * v[2])
                                              : dCreateCylinder(space, v[1], 2 * v[2]);
    dGeomSetBody(geom, bodies[index]);
    dGeomSetOffsetPosition(geom, v[4], v[5], v[6]);
    dQuaternion q = {v[7], v[8], v[9], v[10]};
    dGeomSetOffsetQuaternion(geom, q);
    friction[index] = v[11];
}

static void read_hinge(const double *v) {
    dJointID joint = dJointCreateHinge(world, 0);
    dJointAttach(joint, bodies[(int)v[1]], bodies[(int)v[0]]);
    dJointSetHingeAnchor(joint, v[2], v[3], v[4]);
    dJointSetHingeAxis(joint, v[5], v[6], v[7]);
    dJointSetHingeParam(joint, dParamFMax, v[12]);
    int holds = v[10] > 0;
    motors[motor_count++] = (Motor){joint, holds, holds ? v[8] : v[9]};
}

static void read_slider(const double *v) {
    dJointID joint = dJointCreateSlider(world, 0);
    dJointAttach(joint, bodies[(int)v[1]], v[0] < 0 ? 0 : bodies[(int)v[0]]);
    dJointSetSliderAxis(joint, v[5], v[6], v[7]);
    sliders[slider_count] = joint;
    pushes[slider_count++] = v[8];
}

static void read_scene(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) exit(1);
    static char line[1 << 20];
    static double v[1 << 15], field[4];
    while (fgets(line, sizeof line, file)) {
        char *rest = strchr(line, ' ');
        if (!rest) continue;
        *rest++ = 0;
        int count = 0;
        for (char *end; count < (1 << 15); rest = end) {
            v[count] = strtod(rest, &end);
            if (end == rest) break;
            count++;
        }
        if (!strcmp(line, "gravity")) dWorldSetGravity(world, v[0], v[1], v[2]);
        else if (!strcmp(line, "plane")) dCreatePlane(space, 0, 1, 0, 0);
        else if (!strcmp(line, "field")) memcpy(field, v, sizeof field);
        else if (!strcmp(line, "heights")) {
            /* ODE's rows run along z. */
            int nx = (int)field[0], nz = (int)field[1];
            double *heights = malloc(sizeof(double) * nx * nz);
            for (int i = 0; i < nx; i++)
                for (int j = 0; j < nz; j++) heights[j * nx + i] = v[i * nz + j];
            dHeightfieldDataID data = dGeomHeightfieldDataCreate();
            dGeomHeightfieldDataBuildDouble(data, heights, 0, field[2], field[3], nx, nz, 1, 0, 1, 0);
            dCreateHeightfield(space, data, 1);
        } else if (!strcmp(line, "body")) read_body(v);
        else if (!strcmp(line, "hinge")) read_hinge(v);
        else if (!strcmp(line, "slider")) read_slider(v);
        else read_geom(line, v);
    }
    fclose(file);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void tell(void) {
    for (int i = 0; i < body_count; i++) {
        const dReal *at = dBodyGetPosition(bodies[i]), *turn = dBodyGetQuaternion(bodies[i]);
        const dReal *velocity = dBodyGetLinearVel(bodies[i]), *spin = dBodyGetAngularVel(bodies[i]);
        printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g ", at[0], at[1], at[2], turn[0], turn[1], turn[2], turn[3]);
        printf("%.17g %.17g %.17g %.17g %.17g %.17g ", velocity[0], velocity[1], velocity[2], spin[0], spin[1], spin[2]);
    }
    puts("");
}

static int hold(const char *path, int steps, int every) {
    puts("engine ODE, dWorldStep");
    read_scene(path);
    tell();
    double wall = 0;
    for (int done = 0; done < steps; done += every) {
        double start = seconds();
        for (int i = 0; i < every; i++) step();
        wall += seconds() - start;
        tell();
    }
    printf("wall %f\n", wall);
    return 0;
}

int main(int count, char **arguments) {
    if (count < 4) return 1;
    int warm_up = atoi(arguments[2]), steps = atoi(arguments[3]);
    dInitODE2(0);
    world = dWorldCreate();
    space = dHashSpaceCreate(0);
    group = dJointGroupCreate(0);
    if (count == 5) {
        timestep = atof(arguments[2]);
        return hold(arguments[1], atoi(arguments[3]), atoi(arguments[4]));
    }
    read_scene(arguments[1]);
    for (int i = 0; i < warm_up; i++) step();
    printf("ready %f\n", dBodyGetPosition(bodies[0])[0]);
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        double start = seconds();
        for (int i = 0; i < steps; i++) step();
        printf("%f\n", (seconds() - start) * 1e6 / steps);
        fflush(stdout);
    }
    return 0;
}
