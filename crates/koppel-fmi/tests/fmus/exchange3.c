/* An FMI 3.0 model-exchange FMU for the tests, without foreign headers. Integers have references from 20, the Boolean 30.
 * broken.h breaks optional functions. */

#include "broken.h"
#include "exchange.h"

typedef void (*Log)(void *, int, const char *, const char *);

typedef struct {
    Model model;
    void *environment;
    Log log;
} Instance;

/* The model, if the call is allowed now. */
#define ALLOWED(modes)                                                                                                 \
    Model *m = &((Instance *)c)->model;                                                                                \
    if (!(m->mode & (modes))) {                                                                                        \
        char text[100];                                                                                                \
        snprintf(text, sizeof text, "%s is not allowed in mode %d", __func__, m->mode);                                \
        ((Instance *)c)->log(((Instance *)c)->environment, ERROR, "logStatusError", text);                             \
        return ERROR;                                                                                                  \
    }

const char *fmi3GetVersion(void) { return "3.0"; }

void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible,
                                   bool logging, void *environment, Log log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    if (strcmp(token, "{exchange}") != 0)
        return NULL;
    Instance *i = calloc(1, sizeof *i);
    model_start(&i->model);
    i->environment = environment;
    i->log = log;
    return i;
}
void fmi3FreeInstance(void *c) { free(c); }

int fmi3EnterInitializationMode(void *c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ALLOWED(INSTANTIATED)
    m->time = m->completed = start;
    m->mode = INITIALIZATION;
    return OK;
}
int fmi3ExitInitializationMode(void *c) { ALLOWED(INITIALIZATION) m->mode = EVENT; return OK; }
int fmi3EnterEventMode(void *c) { ALLOWED(CONTINUOUS) m->mode = EVENT; return OK; }
int fmi3EnterContinuousTimeMode(void *c) { ALLOWED(EVENT) m->mode = CONTINUOUS; return OK; }
int fmi3Terminate(void *c) { ALLOWED(EVENT | CONTINUOUS) return OK; }
int fmi3Reset(void *c) { model_start(&((Instance *)c)->model); return OK; }

int fmi3UpdateDiscreteStates(void *c, bool *again, bool *terminate, bool *nominals, bool *values, bool *next_defined,
                             double *next)
{
    ALLOWED(EVENT)
    Info info = model_event(m);
    *again = info.again, *terminate = info.terminate, *nominals = false, *values = info.values;
    *next_defined = info.next_defined, *next = info.next;
    return OK;
}

int fmi3CompletedIntegratorStep(void *c, bool never_back, bool *event, bool *terminate)
{
    HANGS_IF_LOST();
    ALLOWED(CONTINUOUS)
    m->completed = never_back ? m->time : -DBL_MAX;
    *event = MODEL == WRAP && m->r[X1] > 2 * M_PI;
    *terminate = false;
    return OK;
}

int fmi3SetTime(void *c, double time) { ALLOWED(EVENT | CONTINUOUS) return model_set_time(m, time); }
int fmi3SetContinuousStates(void *c, const double *x, size_t n)
{
    ALLOWED(CONTINUOUS)
    memcpy(m->r + X1, x, n * sizeof *x);
    return n == STATES ? OK : ERROR;
}
int fmi3GetContinuousStates(void *c, double *x, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    memcpy(x, m->r + X1, n * sizeof *x);
    return n == STATES ? OK : ERROR;
}
int fmi3GetNominalsOfContinuousStates(void *c, double *x, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    for (size_t k = 0; k < n; k++)
        x[k] = 1.0;
    return OK;
}
int fmi3GetContinuousStateDerivatives(void *c, double *dx, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    int status = model_evaluate(m);
    memcpy(dx, m->r + D1, n * sizeof *dx);
    m->i[EVALUATIONS]++;
    return n == STATES ? status : ERROR;
}
int fmi3GetEventIndicators(void *c, double *z, size_t n)
{
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    model_indicators(m, z);
    return n == INDICATORS ? OK : ERROR;
}
int fmi3GetNumberOfEventIndicators(void *c, size_t *n) { (void)c; *n = INDICATORS; return OK; }
int fmi3GetNumberOfContinuousStates(void *c, size_t *n) { (void)c; *n = STATES; return OK; }

int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *value, size_t n_values)
{
    ALLOWED(ANY)
    int status = model_evaluate(m);
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == 99 ? m->time : m->r[vr[k]];
    return n == n_values ? status : ERROR;
}
int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *value, size_t n_values)
{
    ALLOWED(ANY)
    for (size_t k = 0; k < n; k++) {
        if (m->mode == CONTINUOUS && vr[k] != U)
            return ERROR;
        m->r[vr[k]] = value[k];
    }
    return n == n_values ? OK : ERROR;
}
int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *value, size_t n_values) { ALLOWED(ANY) (void)n_values; while (n--) value[n] = m->i[vr[n] - 20]; return OK; }
int fmi3SetInt32(void *c, const uint32_t *vr, size_t n, const int32_t *value, size_t n_values) { ALLOWED(ANY & ~CONTINUOUS) (void)n_values; while (n--) m->i[vr[n] - 20] = value[n]; return OK; }
int fmi3GetBoolean(void *c, const uint32_t *vr, size_t n, bool *value, size_t n_values) { ALLOWED(ANY) (void)vr, (void)n_values; while (n--) value[n] = m->on; return OK; }
int fmi3SetBoolean(void *c, const uint32_t *vr, size_t n, const bool *value, size_t n_values) { ALLOWED(ANY & ~CONTINUOUS) (void)vr, (void)n_values; while (n--) m->on = value[n]; return OK; }

int fmi3GetFMUState(void *c, void **state)
{
    BREAKS();
    if (!*state)
        *state = malloc(sizeof(Model));
    model_save(&((Instance *)c)->model, *state);
    return OK;
}
int fmi3SetFMUState(void *c, void *state) { BREAKS(); model_restore(&((Instance *)c)->model, state); return OK; }
int fmi3FreeFMUState(void *c, void **state) { BREAKS(); (void)c; free(*state); *state = NULL; return OK; }
int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size) { BREAKS(); (void)c, (void)state; *size = sizeof(Model); return OK; }
int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t size) { BREAKS(); (void)c; memcpy(bytes, state, size); return OK; }
int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t size, void **state)
{
    BREAKS();
    (void)c;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return size == sizeof(Model) ? OK : ERROR;
}

int fmi3GetDirectionalDerivative(void *c, const uint32_t *of, size_t n_of, const uint32_t *by, size_t n_by,
                                 const double *seed, size_t n_seed, double *change, size_t n_change)
{
    BREAKS();
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    for (size_t k = 0; k < n_of; k++) {
        change[k] = 0;
        for (size_t j = 0; j < n_by; j++)
            change[k] += model_partial(m, of[k], by[j]) * seed[j];
    }
    return n_of == n_change && n_by == n_seed ? OK : ERROR;
}

int fmi3GetAdjointDerivative(void *c, const uint32_t *of, size_t n_of, const uint32_t *by, size_t n_by,
                             const double *seed, size_t n_seed, double *change, size_t n_change)
{
    BREAKS();
    ALLOWED(INITIALIZATION | EVENT | CONTINUOUS)
    for (size_t j = 0; j < n_by; j++) {
        change[j] = 0;
        for (size_t k = 0; k < n_of; k++)
            change[j] += model_partial(m, of[k], by[j]) * seed[k];
    }
    return n_by == n_change && n_of == n_seed ? OK : ERROR;
}
