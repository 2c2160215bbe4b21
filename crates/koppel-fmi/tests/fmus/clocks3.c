/* An FMI 3.0 model-exchange FMU with clocks, a text and bytes. x' = 1. `periodic` ticks every 0.1 s from 0.05 s: it counts,
 * takes `held` over into `sample`, and at every third tick sets off the clock `alarm`. `alarm_in` counts, too, and halves x.
 * Texts come out reversed, bytes as they went in. It refuses what the standard forbids: texts, bytes and clocks outside
 * event mode and initialisation, `held` without its clock. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Log)(void *, int, const char *, const char *);

enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { INSTANTIATED, INITIALIZATION, EVENT, CONTINUOUS };
enum { TIME, X, DX, TEXT_IN, TEXT_OUT, DATA_IN, DATA_OUT, PERIODIC, ALARM_IN, ALARM, HELD, SAMPLE, TICKS, ALARMS, LAST };

typedef struct {
    int mode;
    double time, x, held, sample, last;
    int32_t ticks, alarms;
    bool periodic, alarm_in, alarm;
    char text[64];
    uint8_t data[64];
    size_t size;
} Model;

typedef struct {
    Model m;
    void *environment;
    Log log;
    char out[64];
} Instance;

static int refuse(Instance *i, const char *what)
{
    i->log(i->environment, ERROR, "logStatusError", what);
    return ERROR;
}

const char *fmi3GetVersion(void) { return "3.0"; }

void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                   void *environment, Log log)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    Instance *i = calloc(1, sizeof *i);
    strcpy(i->m.text, "silence");
    i->environment = environment;
    i->log = log;
    return i;
}

void fmi3FreeInstance(void *c) { free(c); }

int fmi3EnterInitializationMode(void *c, bool t, double tolerance, double start, bool s, double stop)
{
    Model *m = &((Instance *)c)->m;
    (void)t, (void)tolerance, (void)s, (void)stop;
    m->mode = INITIALIZATION;
    m->time = start;
    return OK;
}

int fmi3ExitInitializationMode(void *c) { ((Instance *)c)->m.mode = EVENT; return OK; }
int fmi3EnterEventMode(void *c) { ((Instance *)c)->m.mode = EVENT; return OK; }
int fmi3EnterContinuousTimeMode(void *c)
{
    Model *m = &((Instance *)c)->m;
    m->mode = CONTINUOUS;
    m->periodic = m->alarm_in = m->alarm = false;
    return OK;
}
int fmi3Terminate(void *c) { (void)c; return OK; }
int fmi3Reset(void *c)
{
    Model *m = &((Instance *)c)->m;
    memset(m, 0, sizeof *m);
    strcpy(m->text, "silence");
    return OK;
}

int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *value, size_t nv)
{
    Model *m = &((Instance *)c)->m;
    (void)nv;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == TIME ? m->time : vr[k] == X ? m->x : vr[k] == DX ? 1 : vr[k] == HELD ? m->held
                 : vr[k] == SAMPLE ? m->sample : m->last;
    return OK;
}

int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *value, size_t nv)
{
    Instance *i = c;
    (void)nv;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == HELD && !i->m.periodic)
            return refuse(i, "held is set without its clock");
        if (vr[k] == HELD)
            i->m.held = value[k];
        if (vr[k] == X)
            i->m.x = value[k];
    }
    return OK;
}

int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *value, size_t nv)
{
    Model *m = &((Instance *)c)->m;
    (void)nv;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == TICKS ? m->ticks : m->alarms;
    return OK;
}

static bool may_set(Instance *i) { return i->m.mode == EVENT || i->m.mode == INITIALIZATION; }

int fmi3GetString(void *c, const uint32_t *vr, size_t n, const char **value, size_t nv)
{
    Instance *i = c;
    (void)nv;
    size_t length = strlen(i->m.text);
    for (size_t k = 0; k < length; k++)
        i->out[k] = i->m.text[length - 1 - k];
    i->out[length] = 0;
    for (size_t k = 0; k < n; k++)
        value[k] = vr[k] == TEXT_OUT ? i->out : i->m.text;
    return OK;
}

int fmi3SetString(void *c, const uint32_t *vr, size_t n, const char *const *value, size_t nv)
{
    Instance *i = c;
    (void)vr, (void)nv;
    if (!may_set(i))
        return refuse(i, "a text is set outside event mode");
    for (size_t k = 0; k < n; k++)
        strncpy(i->m.text, value[k], sizeof i->m.text - 1);
    return OK;
}

int fmi3GetBinary(void *c, const uint32_t *vr, size_t n, size_t *sizes, const uint8_t **value, size_t nv)
{
    Model *m = &((Instance *)c)->m;
    (void)vr, (void)nv;
    for (size_t k = 0; k < n; k++)
        sizes[k] = m->size, value[k] = m->data;
    return OK;
}

int fmi3SetBinary(void *c, const uint32_t *vr, size_t n, const size_t *sizes, const uint8_t *const *value, size_t nv)
{
    Instance *i = c;
    (void)vr, (void)nv;
    if (!may_set(i))
        return refuse(i, "bytes are set outside event mode");
    for (size_t k = 0; k < n; k++) {
        i->m.size = sizes[k] < 64 ? sizes[k] : 64;
        memcpy(i->m.data, value[k], i->m.size);
    }
    return OK;
}

int fmi3SetClock(void *c, const uint32_t *vr, size_t n, const bool *value)
{
    Instance *i = c;
    if (i->m.mode != EVENT)
        return refuse(i, "a clock ticks outside event mode");
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == PERIODIC)
            i->m.periodic = value[k];
        if (vr[k] == ALARM_IN)
            i->m.alarm_in = value[k];
    }
    return OK;
}

int fmi3GetClock(void *c, const uint32_t *vr, size_t n, bool *value)
{
    Model *m = &((Instance *)c)->m;
    (void)vr;
    while (n--)
        value[n] = m->alarm;
    return OK;
}

int fmi3UpdateDiscreteStates(void *c, bool *again, bool *terminate, bool *nominals, bool *values, bool *defined, double *next)
{
    Model *m = &((Instance *)c)->m;
    *again = *terminate = *nominals = *values = *defined = false;
    *next = 0;
    if (m->periodic) {
        m->periodic = false;
        m->ticks++;
        m->last = m->time;
        m->sample = m->held;
        if (m->ticks % 3 == 0)
            m->alarm = *again = true;
    } else {
        m->alarm = false;
    }
    if (m->alarm_in) {
        m->alarm_in = false;
        m->alarms++;
        m->x /= 2;
        *values = true;
    }
    return OK;
}

int fmi3SetTime(void *c, double time) { ((Instance *)c)->m.time = time; return OK; }
int fmi3SetContinuousStates(void *c, const double *x, size_t n) { if (n) ((Instance *)c)->m.x = *x; return OK; }
int fmi3GetContinuousStates(void *c, double *x, size_t n) { if (n) *x = ((Instance *)c)->m.x; return OK; }
int fmi3GetContinuousStateDerivatives(void *c, double *dx, size_t n) { (void)c; if (n) *dx = 1; return OK; }
int fmi3GetNominalsOfContinuousStates(void *c, double *x, size_t n) { (void)c; if (n) *x = 1; return OK; }
int fmi3GetEventIndicators(void *c, double *z, size_t n) { (void)c, (void)z, (void)n; return OK; }
int fmi3CompletedIntegratorStep(void *c, bool final, bool *event, bool *terminate)
{
    (void)c, (void)final;
    *event = *terminate = false;
    return OK;
}

int fmi3GetFMUState(void *c, void **state)
{
    if (!*state)
        *state = malloc(sizeof(Model));
    memcpy(*state, &((Instance *)c)->m, sizeof(Model));
    return OK;
}
int fmi3SetFMUState(void *c, void *state) { memcpy(&((Instance *)c)->m, state, sizeof(Model)); return OK; }
int fmi3FreeFMUState(void *c, void **state) { (void)c; free(*state); *state = NULL; return OK; }
int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size) { (void)c, (void)state; *size = sizeof(Model); return OK; }
int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t size) { (void)c; memcpy(bytes, state, size); return OK; }
int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t size, void **state)
{
    (void)c;
    *state = malloc(sizeof(Model));
    memcpy(*state, bytes, size);
    return OK;
}
