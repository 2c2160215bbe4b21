/* An FMI 3.0 co-simulation FMU for the tests, without foreign headers. -DREFUSAL=3 answers inputs that are set inside
 * a step with status 3; broken.h breaks them or other optional functions. -DNOTE_PAST says in its log whether it may forget its past, and which states it gets back. */

#include "broken.h"
#include "mass.h"
#include <stdbool.h>

typedef void (*Log)(void *, int, const char *, const char *);
typedef void (*Update)(void *, double, bool, bool, bool, bool, bool *, double *);

typedef struct {
    Model model;
    void *environment;
    Log log;
    Update update;
    bool is_inside;
    double vector[3];
    int8_t small;
    uint64_t large;
} Instance;

enum { OK, WARNING, DISCARD, ERROR, FATAL };

static void note(Instance *i, const char *what, double time, int flag)
{
#ifdef NOTE_PAST
    char text[64];
    snprintf(text, sizeof text, "%.17g %d", time, flag);
    i->log(i->environment, OK, what, text);
#else
    (void)i, (void)what, (void)time, (void)flag;
#endif
}

const char *fmi3GetVersion(void) { return "3.0"; }

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t *required, size_t n_required, void *environment,
                                  Log log, Update update)
{
    (void)name, (void)visible, (void)logging, (void)required, (void)n_required;
    if (strcmp(token, "{mass}") != 0) {
        log(environment, ERROR, "logStatusError", "wrong token");
        return NULL;
    }
    if (events || early || !strchr("/\\", resources[strlen(resources) - 1]))
        return NULL;
    Instance *i = calloc(1, sizeof *i);
    model_start(&i->model);
    i->environment = environment;
    i->log = log;
    i->update = update;
    i->large = 1;
    return i;
}

void fmi3FreeInstance(void *c) { free(c); }

int fmi3EnterInitializationMode(void *c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ((Instance *)c)->model.time = start;
    return OK;
}
int fmi3ExitInitializationMode(void *c) { (void)c; return OK; }
int fmi3Terminate(void *c) { (void)c; return OK; }
int fmi3Reset(void *c) { model_reset(&((Instance *)c)->model); return OK; }

/* References 0.. are the reals of the model, 20 is the array, 99 the time. */
int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *value, size_t n_values)
{
    Instance *i = c;
    Model *m = &i->model;
    size_t at = 0;
    model_evaluate(m);
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == 20) {
            memcpy(value + at, i->vector, sizeof i->vector);
            at += 3;
        } else if (vr[k] == 99) {
            value[at++] = m->time;
        } else {
            value[at++] = m->misbehave == 5 && m->time > 0.5 ? NAN : m->r[vr[k]];
        }
    }
    return at == n_values ? OK : ERROR;
}

int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *value, size_t n_values)
{
    Instance *i = c;
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == 20) {
            memcpy(i->vector, value + at, sizeof i->vector);
            at += 3;
        } else {
#ifdef REFUSAL
            if (vr[k] == F && i->is_inside)
                return REFUSAL;
#endif
            if (i->is_inside)
                BREAKS();
            i->model.r[vr[k]] = value[at++];
        }
    }
    return at == n_values ? OK : ERROR;
}

int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *value, size_t n_values)
{
    Model *m = &((Instance *)c)->model;
    (void)n_values;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == 7 ? m->steps : m->misbehave;
    return OK;
}
int fmi3SetInt32(void *c, const uint32_t *vr, size_t n, const int32_t *value, size_t n_values)
{
    (void)n_values;
    for (size_t k = 0; k < n; k++)
        if (vr[k] == 8)
            ((Instance *)c)->model.misbehave = value[k];
    return OK;
}
int fmi3GetInt8(void *c, const uint32_t *vr, size_t n, int8_t *value, size_t n_values) { (void)vr, (void)n, (void)n_values; *value = ((Instance *)c)->small; return OK; }
int fmi3SetInt8(void *c, const uint32_t *vr, size_t n, const int8_t *value, size_t n_values) { (void)vr, (void)n, (void)n_values; ((Instance *)c)->small = *value; return OK; }
/* Reference 14 has the last three digits. */
int fmi3GetUInt64(void *c, const uint32_t *vr, size_t n, uint64_t *value, size_t n_values)
{
    (void)n_values;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == 14 ? ((Instance *)c)->large % 1000 : ((Instance *)c)->large;
    return OK;
}
int fmi3SetUInt64(void *c, const uint32_t *vr, size_t n, const uint64_t *value, size_t n_values) { (void)vr, (void)n, (void)n_values; ((Instance *)c)->large = *value; return OK; }
int fmi3GetBoolean(void *c, const uint32_t *vr, size_t n, bool *value, size_t n_values) { (void)vr, (void)n, (void)n_values; *value = ((Instance *)c)->model.on; return OK; }
int fmi3SetBoolean(void *c, const uint32_t *vr, size_t n, const bool *value, size_t n_values) { (void)vr, (void)n, (void)n_values; ((Instance *)c)->model.on = *value; return OK; }
int fmi3GetString(void *c, const uint32_t *vr, size_t n, const char **value, size_t n_values) { (void)vr, (void)n, (void)n_values; *value = ((Instance *)c)->model.label; return OK; }
int fmi3SetString(void *c, const uint32_t *vr, size_t n, const char *const *value, size_t n_values)
{
    (void)vr, (void)n, (void)n_values;
    snprintf(((Instance *)c)->model.label, 64, "%s", *value);
    return OK;
}

/* Asks for the force at a time, if somebody answers. */
static double input(void *owner, double time)
{
    Instance *i = owner;
    bool early = false;
    double early_time = 0;
#ifdef LIE_UPDATE
    return i->model.r[F];
#endif
    i->is_inside = true;
    if (i->update)
        i->update(i->environment, time, true, true, false, false, &early, &early_time);
    i->is_inside = false;
    return i->model.r[F];
}

int fmi3DoStep(void *c, double time, double size, bool no_set_state, bool *event, bool *terminate, bool *early, double *reached)
{
    HANGS_IF_LOST();
    Instance *i = c;
    note(i, "step", time, no_set_state);
    *event = *terminate = *early = false;
    *reached = i->model.time;
    if (fabs(time - i->model.time) > 1e-9)
        return ERROR;
    if (time + size > 0.5 && i->model.misbehave == 4) {
        *terminate = true;
        return OK;
    }
    if (time + size > 0.5 && i->model.misbehave >= 1 && i->model.misbehave <= 3) {
        i->log(i->environment, ERROR, "logEvents", "I refuse to pass 0.5 s");
        return i->model.misbehave + 1;
    }
    i->model.time = time;
    int is_end;
    double done = part_done(&i->model, time, size, i->model.r[F], &is_end);
    *terminate = is_end;
    model_step(&i->model, done, input, i);
    *reached = i->model.time;
    return OK;
}

int fmi3GetFMUState(void *c, void **state)
{
    BREAKS();
    if (!*state)
        *state = malloc(sizeof(Model));
    memcpy(*state, &((Instance *)c)->model, sizeof(Model));
    return OK;
}
int fmi3SetFMUState(void *c, void *state)
{
    BREAKS();
    Instance *i = c;
    model_restore(&i->model, state);
    note(i, "restore", i->model.time, 0);
    return OK;
}
int fmi3FreeFMUState(void *c, void **state) { BREAKS(); (void)c; free(*state); *state = NULL; return OK; }
int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size) { BREAKS(); (void)c, (void)state; *size = sizeof(Model); return OK; }
int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t size) { BREAKS(); (void)c, (void)size; model_write(state, bytes); return OK; }
int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t size, void **state)
{
    BREAKS();
    (void)c;
    if (size != sizeof(Model))
        return ERROR;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return OK;
}

int fmi3GetDirectionalDerivative(void *c, const uint32_t *of, size_t n_of, const uint32_t *by, size_t n_by,
                                 const double *seed, size_t n_seed, double *change, size_t n_change)
{
    BREAKS();
    const double *r = ((Instance *)c)->model.r;
    for (size_t k = 0; k < n_of; k++) {
        change[k] = 0;
        for (size_t j = 0; j < n_by; j++) {
            double factor = of[k] == by[j] ? 1.0 : 0.0;
            if (of[k] == A)
                factor = by[j] == F ? 1 / r[M] : by[j] == X ? -r[C] / r[M] : by[j] == V ? -r[D] / r[M] : 0;
            change[k] += factor * seed[j];
        }
    }
    return n_of == n_change && n_by == n_seed ? OK : ERROR;
}
