/* An FMI 2.0 model-exchange FMU for the tests, without foreign headers. -DNOTE_PAST says in its log whether it may forget its
 * past, and which states it gets back. broken.h breaks optional functions. */

#include "broken.h"
#include "exchange.h"

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
} Instance;

typedef struct {
    int again, terminate, nominals, values, next_defined;
    double next;
} EventInfo;

/* The model, if the call is allowed now. */
#define ALLOWED(modes)                                                                                                 \
    Model *m = &((Instance *)c)->model;                                                                                \
    if (!(m->mode & (modes))) {                                                                                        \
        const Callbacks *to = ((Instance *)c)->callbacks;                                                              \
        to->logger(to->environment, "", ERROR, "logStatusError", "%s is not allowed in mode %d", __func__, m->mode);   \
        return ERROR;                                                                                                  \
    }

#ifdef NOTE_PAST
#define NOTE(what, time, flag)                                                                                         \
    ((Instance *)c)->callbacks->logger(((Instance *)c)->callbacks->environment, "", OK, what, "%.17g %d", time, flag)
#else
#define NOTE(what, time, flag) (void)m
#endif

const char *fmi2GetVersion(void) { return "2.0"; }
const char *fmi2GetTypesPlatform(void) { return "default"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks *callbacks,
                      int visible, int logging)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    if (type != 0 || strcmp(guid, "{exchange}") != 0)
        return NULL;
    Instance *i = callbacks->allocate(1, sizeof *i);
    model_start(&i->model);
    i->callbacks = callbacks;
    return i;
}
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *list) { (void)c, (void)on, (void)n, (void)list; return OK; }
void fmi2FreeInstance(void *c) { ((Instance *)c)->callbacks->release(c); }

int fmi2SetupExperiment(void *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ALLOWED(INSTANTIATED)
    m->time = m->completed = start;
    return OK;
}
int fmi2EnterInitializationMode(void *c) { ALLOWED(INSTANTIATED) m->mode = INITIALIZATION; return OK; }
int fmi2ExitInitializationMode(void *c) { ALLOWED(INITIALIZATION) m->mode = EVENT; return OK; }
int fmi2EnterEventMode(void *c) { ALLOWED(CONTINUOUS) m->mode = EVENT; return OK; }
int fmi2EnterContinuousTimeMode(void *c) { ALLOWED(EVENT) m->mode = CONTINUOUS; return OK; }
int fmi2Terminate(void *c) { ALLOWED(EVENT | CONTINUOUS) return OK; }
int fmi2Reset(void *c) { model_start(&((Instance *)c)->model); return OK; }

int fmi2NewDiscreteStates(void *c, EventInfo *info)
{
    ALLOWED(EVENT)
    Info found = model_event(m);
    *info = (EventInfo){found.again, found.terminate, 0, found.values, found.next_defined, found.next};
    return OK;
}

int fmi2CompletedIntegratorStep(void *c, int never_back, int *event, int *terminate)
{
    HANGS_IF_LOST();
    ALLOWED(CONTINUOUS)
    NOTE("step", m->time, never_back);
    m->completed = never_back ? m->time : -DBL_MAX;
    *event = MODEL == WRAP && m->r[X1] > 2 * M_PI;
    *terminate = 0;
    return OK;
}

int fmi2SetTime(void *c, double time) { ALLOWED(EVENT | CONTINUOUS) return model_set_time(m, time); }
int fmi2SetContinuousStates(void *c, const double *x, size_t n)
{
    ALLOWED(CONTINUOUS)
    memcpy(m->r + X1, x, n * sizeof *x);
    return n == STATES ? OK : ERROR;
}
int fmi2GetContinuousStates(void *c, double *x, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    memcpy(x, m->r + X1, n * sizeof *x);
    return n == STATES ? OK : ERROR;
}
int fmi2GetNominalsOfContinuousStates(void *c, double *x, size_t n)
{
    ALLOWED(EVENT | CONTINUOUS)
    for (size_t k = 0; k < n; k++)
        x[k] = 1.0;
    return OK;
}
int fmi2GetDerivatives(void *c, double *dx, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    int status = model_evaluate(m);
    memcpy(dx, m->r + D1, n * sizeof *dx);
    m->i[EVALUATIONS]++;
    return n == STATES ? status : ERROR;
}
int fmi2GetEventIndicators(void *c, double *z, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    model_indicators(m, z);
    return n == INDICATORS ? OK : ERROR;
}

int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *value)
{
    ALLOWED(ANY)
    int status = model_evaluate(m);
    for (size_t k = 0; k < n; k++)
        value[k] = m->r[vr[k]];
    return status;
}
int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *value)
{
    ALLOWED(ANY)
    for (size_t k = 0; k < n; k++) {
        if (m->mode == CONTINUOUS && vr[k] != U)
            return ERROR;
        m->r[vr[k]] = value[k];
    }
    return OK;
}
int fmi2GetInteger(void *c, const unsigned *vr, size_t n, int *value) { ALLOWED(ANY) while (n--) value[n] = m->i[vr[n]]; return OK; }
int fmi2SetInteger(void *c, const unsigned *vr, size_t n, const int *value) { ALLOWED(ANY & ~CONTINUOUS) while (n--) m->i[vr[n]] = value[n]; return OK; }
int fmi2GetBoolean(void *c, const unsigned *vr, size_t n, int *value) { ALLOWED(ANY) (void)vr; while (n--) value[n] = m->on; return OK; }
int fmi2SetBoolean(void *c, const unsigned *vr, size_t n, const int *value) { ALLOWED(ANY & ~CONTINUOUS) (void)vr; while (n--) m->on = value[n]; return OK; }
int fmi2GetString(void *c, const unsigned *vr, size_t n, const char **value) { (void)c, (void)vr, (void)n, (void)value; return ERROR; }
int fmi2SetString(void *c, const unsigned *vr, size_t n, const char *const *value) { (void)c, (void)vr, (void)n, (void)value; return ERROR; }

int fmi2GetFMUstate(void *c, void **state)
{
    BREAKS();
    if (!*state)
        *state = malloc(sizeof(Model));
    model_save(&((Instance *)c)->model, *state);
    return OK;
}
int fmi2SetFMUstate(void *c, void *state)
{
    BREAKS();
    Model *m = &((Instance *)c)->model;
    model_restore(m, state);
    NOTE("restore", m->time, 0);
    return OK;
}
int fmi2FreeFMUstate(void *c, void **state) { BREAKS(); (void)c; free(*state); *state = NULL; return OK; }
int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) { BREAKS(); (void)c, (void)state; *size = sizeof(Model); return OK; }
int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t size) { BREAKS(); (void)c; memcpy(bytes, state, size); return OK; }
int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **state)
{
    BREAKS();
    (void)c;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return size == sizeof(Model) ? OK : ERROR;
}

int fmi2GetDirectionalDerivative(void *c, const unsigned *of, size_t n_of, const unsigned *by, size_t n_by,
                                 const double *seed, double *change)
{
    BREAKS();
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    for (size_t k = 0; k < n_of; k++) {
        change[k] = 0;
        for (size_t j = 0; j < n_by; j++)
            change[k] += model_partial(m, of[k], by[j]) * seed[j];
    }
    return OK;
}
