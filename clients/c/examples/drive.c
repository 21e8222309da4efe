/* Drives WorkPartner straight on for two seconds, inside this program: no server, no port, no clock.
 *
 *   cc -O2 -I include examples/drive.c -o drive -L ../../target/release -lsimpartner -Wl,-rpath,$PWD/../../target/release
 *   ./drive [WORLD [SPEED]]
 *
 * WORLD is a world or robot file, or the name of one that is built in. SPEED is that of the wheels in rad/s; "none"
 * commands nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simpartner.h"

static void check(simpartner_status status) {
    if (status != SIMPARTNER_OK) {
        fprintf(stderr, "%s\n", simpartner_last_error());
        exit(1);
    }
}

static void *room_for(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

int main(int count, char **arguments) {
    const char *world = count > 1 ? arguments[1] : "worlds/flat.xml";
    int drives = count < 3 || strcmp(arguments[2], "none") != 0;
    double speed = count > 2 && drives ? atof(arguments[2]) : 2.0;
    const char *settings[] = {"simulation.seed=7"};

    simpartner_simulation *simulation;
    check(simpartner_load(world, settings, 1, &simulation));
    simpartner_info info;
    check(simpartner_get_info(simulation, &info));
    printf("%zu commands, %zu readings, a step of %g s\n", info.command_count, info.reading_count, info.timestep_s);

    /* A command that is NaN keeps its value. */
    double *commands = room_for(info.command_count, sizeof *commands);
    for (size_t index = 0; index < info.command_count; index++) {
        simpartner_channel channel;
        check(simpartner_get_command(simulation, index, &channel));
        commands[index] = NAN;
        if (strstr(channel.device, "/WheelMotor") == NULL) continue;
        if (strncmp(channel.field, "max_force", 9) == 0) commands[index] = 100.0;
        if (strcmp(channel.field, "velocity_3") == 0) commands[index] = speed;
    }
    double *readings = room_for(info.reading_count, sizeof *readings);
    for (int cycle = 0; cycle < 20; cycle++) {
        check(simpartner_advance(simulation, 100, drives ? commands : NULL, drives ? info.command_count : 0, readings,
                                 info.reading_count));
    }
    for (size_t index = 0; index < info.reading_count && index < 3; index++) {
        simpartner_channel channel;
        check(simpartner_get_reading(simulation, index, &channel));
        printf("%s %s = %.17g %s\n", channel.device, channel.field, readings[index], channel.unit);
    }

    /* A second later and back again. */
    size_t size;
    check(simpartner_snapshot(simulation, NULL, 0, &size));
    unsigned char *snapshot = room_for(size, 1);
    check(simpartner_snapshot(simulation, snapshot, size, &size));
    check(simpartner_step(simulation, 1000));
    check(simpartner_restore(simulation, snapshot, size));

    char hash[SIMPARTNER_HASH_LENGTH + 1];
    check(simpartner_state_hash(simulation, hash, sizeof hash));
    printf("state %s\n", hash);
    check(simpartner_free(simulation));
    free(commands);
    free(readings);
    free(snapshot);
    return 0;
}
