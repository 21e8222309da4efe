/* Wrong calls: each is an error with a text, and none ends the program. Prints "done" at the end. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "simpartner.h"

#define EXPECT(call, wanted, words)                                                                        \
    do {                                                                                                   \
        simpartner_status got = (call);                                                                    \
        if (got != (wanted) || (got != SIMPARTNER_OK && strstr(simpartner_last_error(), (words)) == NULL)) { \
            printf("%d: %s: %d, %s\n", __LINE__, #call, got, simpartner_last_error());                     \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)
#define GOOD(call) EXPECT(call, SIMPARTNER_OK, "")

static const char *WORLD =
    "<world name='w'><surface a='0' b='1' c='0' d='0' friction='0.5'/><gravity y='-10'/><robot name='R'>"
    "<body name='B'><mass>1</mass><pose y='1'/><sphere radius='0.1'/></body>"
    "<sensor type='PositionSensor' name='P' body='B' port='0'><noise standardDeviation='0.01'/></sensor>"
    "<sensor type='RgbdCamera' name='C' body='B' port='0' rate='100' width='8' height='6'/>"
    "<actuator type='ForceActuator' name='F' body='B' port='0'/></robot></world>";

static simpartner_simulation *load(void) {
    simpartner_simulation *simulation;
    GOOD(simpartner_load_text("w.xml", WORLD, NULL, 0, &simulation));
    return simulation;
}

static void wrong_loads(void) {
    simpartner_simulation *simulation = (void *)1;
    EXPECT(simpartner_load(NULL, NULL, 0, &simulation), SIMPARTNER_INVALID_ARGUMENT, "path is NULL");
    if (simulation != NULL) exit(2);
    EXPECT(simpartner_load("w.xml", NULL, 0, NULL), SIMPARTNER_INVALID_ARGUMENT, "simulation is NULL");
    EXPECT(simpartner_load("w.xml", NULL, 1, &simulation), SIMPARTNER_INVALID_ARGUMENT, "settings is NULL");
    EXPECT(simpartner_load("\xff.xml", NULL, 0, &simulation), SIMPARTNER_INVALID_ARGUMENT, "not UTF-8");
    EXPECT(simpartner_load("there-is-none.xml", NULL, 0, &simulation), SIMPARTNER_INVALID_MODEL, "there-is-none.xml");
    const char *settings[] = {"server.bind=0.0.0.0", NULL, "physics.engin=rapier", "seed", "model.surface.frictoin=1"};
    EXPECT(simpartner_load("w.xml", settings, 1, &simulation), SIMPARTNER_INVALID_SETTING, "for a server");
    EXPECT(simpartner_load("w.xml", settings + 1, 1, &simulation), SIMPARTNER_INVALID_ARGUMENT, "settings[0] is NULL");
    EXPECT(simpartner_load("w.xml", settings + 2, 1, &simulation), SIMPARTNER_INVALID_SETTING, "did you mean");
    EXPECT(simpartner_load("w.xml", settings + 3, 1, &simulation), SIMPARTNER_INVALID_SETTING, "KEY=VALUE");
    EXPECT(simpartner_load_text("w.xml", WORLD, settings + 4, 1, &simulation), SIMPARTNER_INVALID_MODEL, "frictoin");
    EXPECT(simpartner_load_text("w.xml", "<world name='w'>\n  <gravty y='1'/></world>", NULL, 0, &simulation),
           SIMPARTNER_INVALID_MODEL, "w.xml:2:");
    EXPECT(simpartner_load_text("w.xml", "", NULL, 0, &simulation), SIMPARTNER_INVALID_MODEL, "w.xml");
}

static void wrong_handles(void) {
    simpartner_simulation *gone = load();
    GOOD(simpartner_free(gone));
    GOOD(simpartner_free(NULL));
    EXPECT(simpartner_free(gone), SIMPARTNER_INVALID_HANDLE, "freed");
    double number = 0.0;
    simpartner_simulation *handles[] = {NULL, gone, (void *)&number, (void *)UINTPTR_MAX};
    for (size_t index = 0; index < 4; index++) {
        EXPECT(simpartner_step(handles[index], 1), SIMPARTNER_INVALID_HANDLE, "no simulation");
        EXPECT(simpartner_read(handles[index], &number, 1), SIMPARTNER_INVALID_HANDLE, "no simulation");
    }
}

static void wrong_arrays(void) {
    simpartner_simulation *simulation = load();
    simpartner_info info;
    EXPECT(simpartner_get_info(simulation, NULL), SIMPARTNER_INVALID_ARGUMENT, "info is NULL");
    GOOD(simpartner_get_info(simulation, &info));
    if (info.reading_count != 4 || info.command_count != 6) exit(3);
    double readings[5], commands[6] = {0, 0, 0, 0, 0, 0};
    EXPECT(simpartner_read(simulation, readings, 3), SIMPARTNER_WRONG_LENGTH, "expected 4 numbers");
    EXPECT(simpartner_read(simulation, NULL, 4), SIMPARTNER_INVALID_ARGUMENT, "readings is NULL");
    EXPECT(simpartner_read(simulation, NULL, 0), SIMPARTNER_WRONG_LENGTH, "expected 4 numbers");
    EXPECT(simpartner_read(simulation, (double *)((char *)readings + 1), 4), SIMPARTNER_INVALID_ARGUMENT, "aligned");
    EXPECT(simpartner_read(simulation, readings, SIZE_MAX), SIMPARTNER_INVALID_ARGUMENT, "cannot have");
    EXPECT(simpartner_command(simulation, commands, 5), SIMPARTNER_WRONG_LENGTH, "expected 6 numbers");
    commands[3] = INFINITY;
    EXPECT(simpartner_command(simulation, commands, 6), SIMPARTNER_REFUSED, "torque_x: expected");
    commands[3] = 0.0;
    EXPECT(simpartner_advance(simulation, 1, commands, 6, readings, 5), SIMPARTNER_WRONG_LENGTH, "expected 4");
    GOOD(simpartner_get_info(simulation, &info));
    if (info.step != 0) exit(4);
    GOOD(simpartner_advance(simulation, 1, commands, 6, readings, 4));
    GOOD(simpartner_advance(simulation, 1, NULL, 0, NULL, 0));
    simpartner_channel channel;
    EXPECT(simpartner_get_reading(simulation, 4, &channel), SIMPARTNER_INVALID_ARGUMENT, "no channel 4; there are 4");
    EXPECT(simpartner_get_command(simulation, SIZE_MAX, &channel), SIMPARTNER_INVALID_ARGUMENT, "no channel");
    GOOD(simpartner_get_reading(simulation, 1, &channel));
    if (strcmp(channel.device, "R/P") != 0 || strcmp(channel.field, "y") != 0 || strcmp(channel.unit, "m") != 0) exit(5);
    const char *names[] = {"P", "Q"};
    EXPECT(simpartner_select(simulation, names, 2, NULL, 0), SIMPARTNER_REFUSED, "Q");
    GOOD(simpartner_select(simulation, names, 1, NULL, 0));
    GOOD(simpartner_read(simulation, readings, 3));
    size_t count = 0;
    EXPECT(simpartner_device_values(simulation, "P", readings, 2, &count), SIMPARTNER_BUFFER_TOO_SMALL, "3 numbers");
    if (count != 3) exit(6);
    GOOD(simpartner_device_values(simulation, "R/P", readings, 3, &count));
    GOOD(simpartner_free(simulation));
    /* The names of a freed simulation are gone; the handle is an error. */
    EXPECT(simpartner_get_reading(simulation, 1, &channel), SIMPARTNER_INVALID_HANDLE, "freed");
}

static void wrong_states(void) {
    simpartner_simulation *simulation = load();
    size_t size = 0;
    unsigned char *snapshot;
    char hash[65], again[65];
    EXPECT(simpartner_snapshot(simulation, NULL, 0, NULL), SIMPARTNER_INVALID_ARGUMENT, "size is NULL");
    GOOD(simpartner_snapshot(simulation, NULL, 0, &size));
    snapshot = malloc(size);
    EXPECT(simpartner_snapshot(simulation, snapshot, size - 1, &size), SIMPARTNER_BUFFER_TOO_SMALL, "bytes");
    EXPECT(simpartner_snapshot(simulation, NULL, size, &size), SIMPARTNER_INVALID_ARGUMENT, "buffer is NULL");
    GOOD(simpartner_snapshot(simulation, snapshot, size, &size));
    GOOD(simpartner_state_hash(simulation, hash, sizeof hash));
    EXPECT(simpartner_state_hash(simulation, hash, 64), SIMPARTNER_BUFFER_TOO_SMALL, "65 characters");
    GOOD(simpartner_step(simulation, 5));
    EXPECT(simpartner_restore(simulation, snapshot, size - 1), SIMPARTNER_INVALID_SNAPSHOT, "");
    EXPECT(simpartner_restore(simulation, NULL, 0), SIMPARTNER_INVALID_SNAPSHOT, "");
    snapshot[size / 2] ^= 1;
    EXPECT(simpartner_restore(simulation, snapshot, size), SIMPARTNER_INVALID_SNAPSHOT, "");
    snapshot[size / 2] ^= 1;
    GOOD(simpartner_restore(simulation, snapshot, size));
    GOOD(simpartner_state_hash(simulation, again, sizeof again));
    if (strcmp(hash, again) != 0) exit(7);
    uint64_t seed = 9;
    GOOD(simpartner_reset(simulation, &seed));
    GOOD(simpartner_reset(simulation, NULL));
    simpartner_info info;
    GOOD(simpartner_get_info(simulation, &info));
    if (info.seed != 9) exit(8);
    free(snapshot);
    GOOD(simpartner_free(simulation));
}

static void requests_and_images(void) {
    simpartner_simulation *simulation = load();
    const char *answer;
    EXPECT(simpartner_ask(simulation, NULL, &answer), SIMPARTNER_INVALID_ARGUMENT, "request is NULL");
    GOOD(simpartner_ask(simulation, "STEP 20", &answer));
    if (strncmp(answer, "OK state=PAUSED step=20 ", 24) != 0) exit(9);
    GOOD(simpartner_ask(simulation, "PLAY", &answer));
    if (strncmp(answer, "ERR", 3) != 0) exit(10);
    GOOD(simpartner_ask_device(simulation, "F", "CMD 0,1,0,0,0,0", &answer));
    GOOD(simpartner_ask_robot(simulation, "R", "INFO", &answer));
    EXPECT(simpartner_ask_robot(simulation, "Q", "INFO", &answer), SIMPARTNER_REFUSED, "no robot 'Q'");
    EXPECT(simpartner_ask_device(simulation, "Q", "INFO", &answer), SIMPARTNER_REFUSED, "Q");
    simpartner_image image;
    unsigned char pixels[8 * 6 * 4];
    EXPECT(simpartner_get_image(simulation, "P", 0, 1, &image, NULL, 0), SIMPARTNER_REFUSED, "no images");
    EXPECT(simpartner_get_image(simulation, "C", 2, 1, &image, NULL, 0), SIMPARTNER_INVALID_ARGUMENT, "it has 2");
    GOOD(simpartner_get_image(simulation, "C", 1, 0, &image, NULL, 0));
    if (image.width != 8 || image.height != 6 || image.size != sizeof pixels || image.plane_count != 2) exit(11);
    if (strcmp(image.encoding, "32FC1") != 0) exit(12);
    EXPECT(simpartner_get_image(simulation, "C", 1, 1, &image, pixels, 5), SIMPARTNER_BUFFER_TOO_SMALL, "bytes");
    GOOD(simpartner_get_image(simulation, "C", 1, 1, &image, pixels, sizeof pixels));
    double position[3] = {2, 0, 1}, orientation[4] = {0, 0, 0, 1};
    const char *name = "";
    EXPECT(simpartner_spawn(simulation, "none.xml", NULL, NULL, NULL, NULL), SIMPARTNER_INVALID_MODEL, "none.xml");
    GOOD(simpartner_spawn(simulation, "rover.xml", "Second", position, orientation, &name));
    if (strcmp(name, "Second") != 0) exit(13);
    EXPECT(simpartner_remove(simulation, "Third"), SIMPARTNER_INVALID_MODEL, "Third");
    GOOD(simpartner_remove(simulation, "Second"));
    simpartner_event event;
    bool found = true;
    while (found) {
        GOOD(simpartner_next_event(simulation, &event, &found));
    }
    EXPECT(simpartner_next_event(simulation, &event, NULL), SIMPARTNER_INVALID_ARGUMENT, "found is NULL");
    GOOD(simpartner_free(simulation));
}

static simpartner_simulation *shared;

static void *step_shared(void *unused) {
    (void)unused;
    double readings[4];
    for (int index = 0; index < 500; index++) {
        GOOD(simpartner_step(shared, 1));
        GOOD(simpartner_read(shared, readings, 4));
        EXPECT(simpartner_read(shared, readings, 2), SIMPARTNER_WRONG_LENGTH, "got 2");
    }
    return NULL;
}

static void *step_until_freed(void *unused) {
    (void)unused;
    while (simpartner_step(shared, 1) == SIMPARTNER_OK) continue;
    return strstr(simpartner_last_error(), "freed") == NULL ? "another error" : NULL;
}

static void threads(void) {
    pthread_t running[4];
    shared = load();
    for (int index = 0; index < 4; index++) pthread_create(&running[index], NULL, step_shared, NULL);
    for (int index = 0; index < 4; index++) pthread_join(running[index], NULL);
    simpartner_info info;
    GOOD(simpartner_get_info(shared, &info));
    if (info.step != 2000) exit(14);
    for (int index = 0; index < 4; index++) pthread_create(&running[index], NULL, step_until_freed, NULL);
    GOOD(simpartner_free(shared));
    for (int index = 0; index < 4; index++) {
        void *result;
        pthread_join(running[index], &result);
        if (result != NULL) exit(15);
    }
}

static long memory_kb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Simulations that are freed leave nothing behind. */
static void memory(void) {
    for (int index = 0; index < 100; index++) GOOD(simpartner_free(load()));
    long before = memory_kb();
    for (int index = 0; index < 2000; index++) {
        simpartner_simulation *simulation = load();
        GOOD(simpartner_step(simulation, 1));
        GOOD(simpartner_free(simulation));
    }
    if (memory_kb() > before + 8192) {
        printf("%ld kB before, %ld kB after\n", before, memory_kb());
        exit(16);
    }
}

int main(void) {
    wrong_loads();
    wrong_handles();
    wrong_arrays();
    wrong_states();
    requests_and_images();
    threads();
    memory();
    printf("done\n");
    return 0;
}
