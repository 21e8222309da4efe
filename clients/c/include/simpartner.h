/* SimPartner: simulations of robots inside a program in C.
 *
 * A world or robot file becomes a simulation, which the program steps itself. Commands and readings are arrays of
 * numbers; simpartner_get_command() and simpartner_get_reading() describe each of them. Equal models, settings, seeds
 * and commands give the same bits here as in a server.
 *
 * Every call returns a status; simpartner_last_error() has the text of the last error of the calling thread. After an
 * error the simulation is as before the call, unless its physics has diverged. Texts are in UTF-8 and end with a 0.
 * NULL, wrong lengths and handles that were freed are errors.
 *
 * Any thread may call any function. Calls for one simulation wait for each other; those for different simulations run
 * side by side. Texts that a call returns stay until the next call of the same thread, names of channels until the
 * simulation is freed.
 *
 * This file is made by cbindgen from clients/c/src. */


#ifndef SIMPARTNER_H
#define SIMPARTNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Number of characters of a hash, without the 0 that ends it.
#define SIMPARTNER_HASH_LENGTH 64

// Result of a call. After an error simpartner_last_error() has the text, and the simulation is as before the call,
// unless its physics has diverged.
typedef enum {
  // Success.
  SIMPARTNER_OK = 0,
  // An argument is NULL that must not be, is misaligned, or its text is not UTF-8.
  SIMPARTNER_INVALID_ARGUMENT = 1,
  // The handle is of no simulation; it may have been freed.
  SIMPARTNER_INVALID_HANDLE = 2,
  // A setting is unknown, or its value does not fit.
  SIMPARTNER_INVALID_SETTING = 3,
  // The files of the model have problems; the text has file, line and column of each.
  SIMPARTNER_INVALID_MODEL = 4,
  // A name, a command or a request does not fit; the text is that of a server.
  SIMPARTNER_REFUSED = 5,
  // An array has another length than its channels.
  SIMPARTNER_WRONG_LENGTH = 6,
  // A buffer is too small. The size that it needs is written.
  SIMPARTNER_BUFFER_TOO_SMALL = 7,
  // The snapshot is damaged, or of another model, timestep, engine or version.
  SIMPARTNER_INVALID_SNAPSHOT = 8,
  // The physics has diverged. The steps before are made; simpartner_reset() begins anew.
  SIMPARTNER_DIVERGED = 9,
  // A defect of the library, or of the operating system.
  SIMPARTNER_INTERNAL_ERROR = 10,
} simpartner_status;

// A simulation. Threads may share it: a call waits for the one under way. Different simulations run side by side.
typedef struct simpartner_simulation simpartner_simulation;

// Figures of a simulation.
typedef struct {
  // Index of the last step.
  uint64_t step;
  // Simulated time of the last step, s.
  double time_s;
  // Length of a step, s.
  double timestep_s;
  // Seed of all noise.
  uint64_t seed;
  // Number of selected readings.
  size_t reading_count;
  // Number of selected commands.
  size_t command_count;
  // True if the physics has diverged; no step is made until a reset.
  bool has_diverged;
} simpartner_info;

// A number of an array of readings or commands. The texts stay until the simulation is freed.
typedef struct {
  // The device, as "robot/name".
  const char *device;
  // The field of the device, such as "velocity_1".
  const char *field;
  // Its unit, such as "rad/s"; "1" for a plain number.
  const char *unit;
  // Smallest value it takes.
  double minimum;
  // Largest value it takes.
  double maximum;
} simpartner_channel;

// An event of a run. The texts stay until this thread's next call of the library.
typedef struct {
  // The step after which it was seen.
  uint64_t step;
  // Name of its kind.
  const char *kind;
  // The body or device concerned; empty for the whole run.
  const char *subject;
  // A sentence for people.
  const char *text;
  // Its value, in the unit of its kind; NaN without one.
  double value;
} simpartner_event;

// An image of a camera. The text stays until the simulation is freed.
typedef struct {
  // The step that it is of.
  uint64_t step;
  // Number of images of this camera: an RgbdCamera has two, colours and distances.
  size_t plane_count;
  // "rgb8", "mono8", "32FC1" or "32SC2".
  const char *encoding;
  // Columns.
  size_t width;
  // Rows.
  size_t height;
  // Number of bytes. Pixels follow one another row by row; numbers are little-endian.
  size_t size;
} simpartner_image;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Text of the last call of this thread that failed, in UTF-8; empty if none has. It stays until another call of this
// thread fails.
const char *simpartner_last_error(void);

// Version of the library, such as "0.1.0".
const char *simpartner_version(void);

// Loads a world, or a robot on level ground, from a file in SimPartner's format, URDF, MJCF or SDF. If there is no
// such file, the one of this name that is built in is loaded, such as "worlds/flat.xml".
//
// `settings` are texts such as "simulation.seed=7", "physics.engine=rapier", "simulation.timestep_s=0.0005" or
// "model.surface.friction=0.4". `simulation` gets the handle, or NULL after an error; simpartner_free() frees it.
simpartner_status simpartner_load(const char *path,
                                  const char *const *settings,
                                  size_t setting_count,
                                  simpartner_simulation **simulation);

// Loads a world from a text, as if it stood in a file of this path; files that it names are looked for from there.
// Otherwise as simpartner_load().
simpartner_status simpartner_load_text(const char *path,
                                       const char *text,
                                       const char *const *settings,
                                       size_t setting_count,
                                       simpartner_simulation **simulation);

// Frees a simulation, and all names that it has returned. A call that another thread is in ends first. NULL is
// ignored; a handle that was freed before is an error.
simpartner_status simpartner_free(simpartner_simulation *simulation);

// Makes `count` steps.
simpartner_status simpartner_step(simpartner_simulation *simulation, uint64_t count);

// Copies the readings into an array. `count` is the number of readings, info.reading_count. The reading of a scan
// that has not arrived yet is NaN.
simpartner_status simpartner_read(simpartner_simulation *simulation, double *readings, size_t count);

// Commands the actuators from the next step on. `count` is the number of commands, info.command_count. A command
// that is NaN keeps its value; an actuator whose commands are all NaN gets none. If one is out of range, none acts.
simpartner_status simpartner_command(simpartner_simulation *simulation, const double *commands, size_t count);

// Copies the present commands into an array: the last ones, or those that act before the first.
simpartner_status simpartner_present_commands(simpartner_simulation *simulation, double *commands, size_t count);

// Commands, makes `step_count` steps and reads, in one call: a cycle of a controller. NULL with the count 0 leaves
// out the commands or the readings.
simpartner_status simpartner_advance(simpartner_simulation *simulation,
                                     uint64_t step_count,
                                     const double *commands,
                                     size_t command_count,
                                     double *readings,
                                     size_t reading_count);

// Selects the channels of readings and commands: the devices of these names, "robot/device", or "device" if only one
// robot has it, in this order. NULL selects all of them.
simpartner_status simpartner_select(simpartner_simulation *simulation,
                                    const char *const *sensors,
                                    size_t sensor_count,
                                    const char *const *actuators,
                                    size_t actuator_count);

// Figures of a simulation: step, time, numbers of channels.
simpartner_status simpartner_get_info(simpartner_simulation *simulation, simpartner_info *info);

// Describes the reading at this place of the array, from 0.
simpartner_status simpartner_get_reading(simpartner_simulation *simulation, size_t index, simpartner_channel *channel);

// Describes the command at this place of the array, from 0.
simpartner_status simpartner_get_command(simpartner_simulation *simulation, size_t index, simpartner_channel *channel);

// Copies the numbers of a device into an array, selected or not. `count` gets their number, also if the array is too
// small. A scan that has not arrived yet has none.
simpartner_status simpartner_device_values(simpartner_simulation *simulation,
                                           const char *device,
                                           double *values,
                                           size_t capacity,
                                           size_t *count);

// Fetches the oldest event that has not been fetched yet. `found` says whether there was one.
simpartner_status simpartner_next_event(simpartner_simulation *simulation, simpartner_event *event, bool *found);

// Resets to step 0: equal to a fresh start with this seed, bit for bit. NULL keeps the seed.
simpartner_status simpartner_reset(simpartner_simulation *simulation, const uint64_t *seed);

// Copies the state into a buffer. `size` gets the number of bytes, also if the buffer is too small; NULL with the
// capacity 0 asks for the size. The size may change with each step. Commands for later steps are not part of it.
simpartner_status simpartner_snapshot(simpartner_simulation *simulation,
                                      uint8_t *buffer,
                                      size_t capacity,
                                      size_t *size);

// Restores the state from a snapshot of the same model, timestep and engine. Commands for later steps are dropped.
simpartner_status simpartner_restore(simpartner_simulation *simulation, const uint8_t *buffer, size_t size);

// Writes the hash of the state, as a server's run prints it at its end: 64 characters and a 0. Two simulations with
// equal hashes continue equally. `capacity` is at least SIMPARTNER_HASH_LENGTH + 1.
simpartner_status simpartner_state_hash(simpartner_simulation *simulation, char *hash, size_t capacity);

// Adds a robot from a file that is named as in a world. Everything else continues; the channels are then all sensors
// and all actuators.
//
// `name` is NULL for the name of the robot's model. `position` has three numbers, m, and `orientation` is a unit
// quaternion x, y, z, w; each may be NULL. `spawned`, if it is not NULL, gets the name, which stays until this
// thread's next call.
simpartner_status simpartner_spawn(simpartner_simulation *simulation,
                                   const char *file,
                                   const char *name,
                                   const double *position,
                                   const double *orientation,
                                   const char **spawned);

// Removes a robot or an object. Everything else continues; the channels are then all sensors and all actuators.
simpartner_status simpartner_remove(simpartner_simulation *simulation, const char *name);

// Answers a request as a server's control port does, such as "STEP 10", "TRUTH", "PARAM surface.friction 0.4" or
// "PLACE WorkPartner position=0,1,0". `answer` gets the text of all lines, which stays until this thread's next call.
// An answer that begins with ERR is a refusal, and no error of the call.
simpartner_status simpartner_ask(simpartner_simulation *simulation, const char *request, const char **answer);

// Answers a request as the port of a device does. Otherwise as simpartner_ask().
simpartner_status simpartner_ask_device(simpartner_simulation *simulation,
                                        const char *device,
                                        const char *request,
                                        const char **answer);

// Answers a request as the combined port of a robot does. Otherwise as simpartner_ask().
simpartner_status simpartner_ask_robot(simpartner_simulation *simulation,
                                       const char *robot,
                                       const char *request,
                                       const char **answer);

// Copies the image of a camera that has arrived last into a buffer. `plane` counts the images of the camera from 0.
// NULL with the capacity 0 asks for the description; the image is not computed again if the next call fetches it.
// The number of threads that compute it, 0 for one, changes no bit.
simpartner_status simpartner_get_image(simpartner_simulation *simulation,
                                       const char *device,
                                       size_t plane,
                                       size_t threads,
                                       simpartner_image *image,
                                       uint8_t *buffer,
                                       size_t capacity);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SIMPARTNER_H */
