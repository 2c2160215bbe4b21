/* An FMI 2.0 co-simulation FMU for the tests, without foreign headers. -DNO_RESET leaves a function out, -DWANDER changes the
 * current folder, -DSTRICT gives no derivatives before initialization is over, -DREFUSE_SLOPES=2 -DREFUSAL=3 answers input
 * derivatives of order 2 or more with status 3, -DREFUSE_FROM=0.5 from that time on. broken.h breaks one
 * of the optional functions. -DCOUNT=1 counts instances in the file `instances`, -DLICENCE allows one at a
 * time, in whatever process. -DMODE_APART takes no steps in initialization, and keeps that out of its state. -DNOTE_PAST says in its log
 * whether it may forget its past, and which states it gets back; -DRESTARTS begins anew in every step in which it may not. -DFORGETS loses its
 * parameters when the experiment is set up, -DLOSES when initialization ends; -DORDER takes parameters after that set-up and
 * inputs after initialization has begun only. -DCRASH_STATE crashes where a state is restored. -DFLAGS
 * writes process, time and whether it may forget its past into the file `flags` at every step. */

#include "broken.h"
#include "mass.h"

#ifndef REFUSE_FROM
#define REFUSE_FROM 0.0
#endif

#ifndef WANDER
#define chdir(folder) 0
#endif

#ifdef LIE_DERIVATIVE
#define SLOPE 1.1
#else
#define SLOPE 1.0
#endif

#ifdef LIE_STIFFNESS
#define SPRING 1.1
#else
#define SPRING 1.0
#endif

typedef void (*Logger)(void *, const char *, int, const char *, const char *, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

typedef struct {
    Model model;
    const Callbacks *callbacks;
    char name[64];
    int is_initializing;
    int is_set_up, has_begun;
} Instance;

enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING };

#ifdef NOTE_PAST
#define NOTE(what, time, flag) i->callbacks->logger(i->callbacks->environment, i->name, OK, what, "%.17g %d", time, flag)
#else
#define NOTE(what, time, flag) (void)i
#endif

#ifdef NEEDS_HELPER
double helper(double x);
double use_helper(void) { return helper(1.0); }
#endif

const char *fmi2GetVersion(void) { return "2.0"; }
const char *fmi2GetTypesPlatform(void) { return "default"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks *callbacks,
                      int visible, int logging)
{
    (void)visible, (void)logging;
    if (strcmp(guid, "{mass}") != 0) {
        callbacks->logger(callbacks->environment, name, ERROR, "logStatusError", "wrong guid %s, expected %s (%d, %g)",
                          guid, "{mass}", 42, 2.5);
        return NULL;
    }
    if (type != 1 || strncmp(resources, "file:///", 8) != 0 || chdir("/") != 0)
        return NULL;
#ifdef COUNT
    FILE *file = fopen("instances", "a");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
#endif
#ifdef LICENCE
    FILE *licence = fopen("licence", "wx");
    if (!licence) {
        callbacks->logger(callbacks->environment, name, ERROR, "logStatusError", "no licence left");
        return NULL;
    }
    fclose(licence);
#endif
    Instance *i = callbacks->allocate(1, sizeof *i);
    model_start(&i->model);
    i->callbacks = callbacks;
    snprintf(i->name, sizeof i->name, "%s", name);
    return i;
}

void fmi2FreeInstance(void *c)
{
#ifdef LICENCE
    remove("licence");
#endif
    ((Instance *)c)->callbacks->release(c);
}
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *list) { (void)c, (void)on, (void)n, (void)list; return OK; }

int fmi2SetupExperiment(void *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
#ifdef FORGETS
    model_start(&((Instance *)c)->model);
#endif
    ((Instance *)c)->model.time = start;
    ((Instance *)c)->is_set_up = 1;
    return OK;
}

int fmi2EnterInitializationMode(void *c)
{
    ((Instance *)c)->is_initializing = ((Instance *)c)->has_begun = 1;
    return chdir("/") == 0 ? OK : ERROR;
}
int fmi2ExitInitializationMode(void *c)
{
#ifdef LOSES
    ((Instance *)c)->model.r[M] = 1;
    strcpy(((Instance *)c)->model.label, "lost");
#endif
    ((Instance *)c)->is_initializing = 0;
    return OK;
}
int fmi2Terminate(void *c) { (void)c; return OK; }
#ifndef NO_RESET
int fmi2Reset(void *c) { BREAKS(); model_reset(&((Instance *)c)->model); return OK; }
#endif

int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *value)
{
    Model *m = &((Instance *)c)->model;
    model_evaluate(m);
    for (size_t k = 0; k < n; k++)
        value[k] = m->misbehave == 5 && m->time > 0.5 ? NAN : m->r[vr[k]];
    return OK;
}

int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *value)
{
    Model *m = &((Instance *)c)->model;
    for (size_t k = 0; k < n; k++) {
#ifdef ORDER
        if (vr[k] == F ? !((Instance *)c)->has_begun : vr[k] == M && !((Instance *)c)->is_set_up)
            return ERROR;
#endif
        m->r[vr[k]] = value[k];
        if (vr[k] == F) {
            memset(m->slope, 0, sizeof m->slope);
            m->since = m->time;
        }
    }
    return OK;
}

int fmi2GetInteger(void *c, const unsigned *vr, size_t n, int *value)
{
    Model *m = &((Instance *)c)->model;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == 0 ? m->steps : m->misbehave;
    return OK;
}

int fmi2SetInteger(void *c, const unsigned *vr, size_t n, const int *value)
{
    for (size_t k = 0; k < n; k++)
        if (vr[k] == 1)
            ((Instance *)c)->model.misbehave = value[k];
    return OK;
}

int fmi2GetBoolean(void *c, const unsigned *vr, size_t n, int *value) { (void)vr; while (n--) value[n] = ((Instance *)c)->model.on; return OK; }
int fmi2SetBoolean(void *c, const unsigned *vr, size_t n, const int *value) { (void)vr; while (n--) ((Instance *)c)->model.on = value[n]; return OK; }
int fmi2GetString(void *c, const unsigned *vr, size_t n, const char **value) { (void)vr; while (n--) value[n] = ((Instance *)c)->model.label; return OK; }
int fmi2SetString(void *c, const unsigned *vr, size_t n, const char *const *value)
{
    (void)vr;
    while (n--)
        snprintf(((Instance *)c)->model.label, 64, "%s", value[n]);
    return OK;
}

int fmi2SetRealInputDerivatives(void *c, const unsigned *vr, size_t n, const int *order, const double *value)
{
    BREAKS();
    Model *m = &((Instance *)c)->model;
    (void)m, (void)value;
#ifdef REFUSE_SLOPES
    if (order[0] >= REFUSE_SLOPES && m->time >= REFUSE_FROM)
        return REFUSAL;
#endif
    for (size_t k = 0; k < n; k++) {
        if (vr[k] != F || order[k] < 1 || order[k] > MAX_ORDER)
            return ERROR;
#ifndef LIE_SLOPES
        m->slope[order[k]] = value[k];
#endif
    }
    return OK;
}

static double input(void *owner, double time) { return force(owner, time); }

int fmi2DoStep(void *c, double time, double size, int no_set_state)
{
    HANGS_IF_LOST();
    Instance *i = c;
    NOTE("step", time, no_set_state);
#ifdef FLAGS
    FILE *flags = fopen("flags", "a");
    fprintf(flags, "%d %.17g %d\n", (int)getpid(), time, no_set_state);
    fclose(flags);
#endif
#ifdef RESTARTS
    if (!no_set_state) {
        double force = i->model.r[F];
        model_start(&i->model);
        i->model.r[F] = force, i->model.time = i->model.since = time;
    }
#endif
    if (chdir("/") != 0)
        return ERROR;
    if (fabs(time - i->model.time) > 1e-9) {
        i->callbacks->logger(i->callbacks->environment, i->name, ERROR, "logStatusError", "at %g, asked for %g",
                             i->model.time, time);
        return ERROR;
    }
    if (time + size > 0.5 && i->model.misbehave >= 1 && i->model.misbehave <= 4) {
        i->callbacks->logger(i->callbacks->environment, i->name, ERROR, "logEvents", "I refuse to pass %s", "0.5 s");
        return i->model.misbehave + 1;
    }
    i->model.time = time;
#ifdef MODE_APART
    if (i->is_initializing) {
        i->model.time += size;
        return OK;
    }
#endif
    int is_end;
    double done = part_done(&i->model, time, size, i->model.r[F], &is_end);
    model_step(&i->model, done, input, &i->model);
    return is_end ? DISCARD : OK;
}

int fmi2CancelStep(void *c) { (void)c; return ERROR; }
int fmi2GetRealStatus(void *c, int kind, double *value)
{
    *value = ((Instance *)c)->model.time;
    return kind == 2 ? OK : DISCARD;
}
int fmi2GetBooleanStatus(void *c, int kind, int *value)
{
    *value = kind == 3 && ((Instance *)c)->model.misbehave >= 6;
    return OK;
}

int fmi2GetFMUstate(void *c, void **state)
{
    BREAKS();
    if (!*state)
        *state = malloc(sizeof(Model));
    memcpy(*state, &((Instance *)c)->model, sizeof(Model));
    return OK;
}
int fmi2SetFMUstate(void *c, void *state)
{
#ifdef CRASH_STATE
    __builtin_trap();
#endif
    BREAKS();
    Instance *i = c;
    model_restore(&i->model, state);
    NOTE("restore", i->model.time, 0);
    return OK;
}
int fmi2FreeFMUstate(void *c, void **state) { BREAKS(); (void)c; free(*state); *state = NULL; return OK; }
int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) { BREAKS(); (void)c, (void)state; *size = sizeof(Model); return OK; }
int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t size) { BREAKS(); (void)c, (void)size; model_write(state, bytes); return OK; }
int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **state)
{
    BREAKS();
    (void)c;
    if (size != sizeof(Model))
        return ERROR;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return OK;
}

int fmi2GetDirectionalDerivative(void *c, const unsigned *of, size_t n_of, const unsigned *by, size_t n_by,
                                 const double *seed, double *change)
{
    BREAKS();
    Model *m = &((Instance *)c)->model;
#ifdef STRICT
    if (((Instance *)c)->is_initializing)
        return ERROR;
#endif
    for (size_t k = 0; k < n_of; k++) {
        change[k] = 0;
        for (size_t j = 0; j < n_by; j++) {
            double factor = of[k] == by[j] ? 1.0 : 0.0;
            if (of[k] == A)
                factor = by[j] == F ? SLOPE / m->r[M] : by[j] == X ? -SPRING * m->r[C] / m->r[M] : by[j] == V ? -m->r[D] / m->r[M] : 0;
            change[k] += factor * seed[j];
        }
    }
    return OK;
}

/* x' = v, x'' = v' = a. */
int fmi2GetRealOutputDerivatives(void *c, const unsigned *vr, size_t n, const int *order, double *value)
{
    Model *m = &((Instance *)c)->model;
    for (size_t k = 0; k < n; k++) {
        int of = (int)vr[k] - X + order[k];
        if (order[k] < 1 || of > 2 || of < 1)
            return ERROR;
        value[k] = of == 1 ? m->r[V] : acceleration(m, m->r[X], m->r[V], force(m, m->time));
    }
    return OK;
}
