/* An FMI 3.0 co-simulation FMU with everything but physics: arrays sized by a structural parameter, strings, binaries,
 * every type of number, event mode, early return and every kind of clock. It refuses what the standard forbids: discrete
 * inputs outside event mode, steps inside it, clocked variables without their clock.
 *
 * Time-based clocks tick: `periodic` every 0.1 s from 0.05 s; `changing` after 0.1, 0.2, 0.3, ... s; `countdown` 0.07 s
 * after every second tick of `periodic`; `tunable` every `interval`. `ramp` rises with slope 1 and falls back to 0 when it
 * reaches 1: the FMU returns early for that. `alarm` ticks at every fall. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Log)(void *, int, const char *, const char *);
typedef void (*Update)(void *, double, bool, bool, bool, bool, bool *, double *);

enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { INSTANTIATED, CONFIGURATION, INITIALIZATION, EVENT, STEP };
enum {
    TIME, N, U, Y, K, TEXT_IN, TEXT_OUT, DATA_IN, DATA_OUT, ALARM_IN, ALARM, PERIODIC, CHANGING, COUNTDOWN, TUNABLE,
    INTERVAL, RAMP, FALLS, PERIODIC_TICKS, CHANGING_TICKS, COUNTDOWN_TICKS, TUNABLE_TICKS, ALARMS, LAST_PERIODIC, LAST_CHANGING,
    LAST_COUNTDOWN, LAST_FALL, EVENTS, F32_IN, F32_OUT, I8_IN, I8_OUT, U8_IN, U8_OUT, I16_IN, I16_OUT, U16_IN, U16_OUT, I32_IN,
    I32_OUT, U32_IN, U32_OUT, I64_IN, I64_OUT, U64_IN, U64_OUT, B_IN, B_OUT, E_IN, E_OUT, TOTAL, WORDS, WISH, WISHES, FRAME,
    FRAMES, LABEL, KEY, FAULT, SAMPLED, SAMPLE, LAST_ALARM
};

#define MAX 8

typedef struct {
    int mode, fault;
    double time, ramp, interval, u[MAX], k[MAX], sampled, sample;
    uint64_t n;
    char text[64], label[64], words[2][32];
    uint8_t data[64], frame[64], key[8];
    size_t data_size, frame_size, key_size;
    int falls, periodic_ticks, changing_ticks, countdown_ticks, tunable_ticks, alarms, events, frames, wishes;
    double last_periodic, last_changing, last_countdown, last_fall, last_alarm, wish;
    bool falls_now, alarm, countdown_set, interval_new, input_clock[TUNABLE + 1];
    float f32;
    int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64, e; uint64_t u64; bool b;
} Model;

typedef struct {
    Model m;
    void *environment;
    Log log;
    bool events, early;
    char out[512];
    uint8_t reversed[64];
} Instance;

const char *fmi3GetVersion(void) { return "3.0"; }

static int refuse(Instance *i, const char *what)
{
    i->log(i->environment, ERROR, "logStatusError", what);
    return ERROR;
}

static void start(Model *m)
{
    memset(m, 0, sizeof *m);
    m->n = 2;
    m->interval = 0.25;
    for (int j = 0; j < MAX; j++)
        m->k[j] = 1;
    strcpy(m->text, "silence");
    strcpy(m->label, "events");
    strcpy(m->words[0], "one");
    strcpy(m->words[1], "two");
    m->wish = -1;
}

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t *required, size_t n_required, void *environment,
                                  Log log, Update update)
{
    (void)name, (void)resources, (void)visible, (void)required, (void)n_required, (void)update;
    if (strcmp(token, "{events}") != 0) {
        log(environment, ERROR, "logStatusError", "wrong token");
        return NULL;
    }
    Instance *i = calloc(1, sizeof *i);
    start(&i->m);
    i->environment = environment;
    i->log = log;
    i->events = events;
    i->early = early;
    if (logging)
        log(environment, OK, "logAll", "debug logging is on");
    return i;
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3Reset(void *c) { start(&((Instance *)c)->m); return OK; }
int fmi3Terminate(void *c) { (void)c; return OK; }

static int change_mode(Instance *i, int from, int to, const char *complaint)
{
    if (i->m.mode != from)
        return refuse(i, complaint);
    i->m.mode = to;
    return OK;
}
int fmi3EnterConfigurationMode(void *c) { return change_mode(c, INSTANTIATED, CONFIGURATION, "no configuration now"); }
int fmi3ExitConfigurationMode(void *c) { return change_mode(c, CONFIGURATION, INSTANTIATED, "no configuration to exit"); }
int fmi3EnterInitializationMode(void *c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ((Instance *)c)->m.time = start;
    return change_mode(c, INSTANTIATED, INITIALIZATION, "no initialization now");
}
int fmi3ExitInitializationMode(void *c)
{
    return change_mode(c, INITIALIZATION, ((Instance *)c)->events ? EVENT : STEP, "no initialization to exit");
}
#ifndef NO_EVENT_MODE
int fmi3EnterEventMode(void *c)
{
    ((Instance *)c)->m.events++;
    return change_mode(c, STEP, EVENT, "no event now");
}
#endif
int fmi3EnterStepMode(void *c)
{
    Model *m = &((Instance *)c)->m;
    memset(m->input_clock, 0, sizeof m->input_clock);
    return change_mode(c, EVENT, STEP, "no event to leave");
}

/* Inputs that are no continuous numbers need event mode once the simulation runs. */
static bool may_set_discrete(Instance *i) { return !i->events || i->m.mode != STEP; }

int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *value, size_t n_values)
{
    Instance *i = c;
    Model *m = &i->m;
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        switch (vr[j]) {
        case TIME: value[at++] = m->time; break;
        case U: case Y: case K:
            for (size_t e = 0; e < m->n; e++)
                value[at++] = vr[j] == U ? m->u[e] : vr[j] == K ? m->k[e] : m->k[e] * m->u[e];
            break;
        case INTERVAL: value[at++] = m->interval; break;
        case RAMP: value[at++] = m->ramp; break;
        case LAST_PERIODIC: value[at++] = m->last_periodic; break;
        case LAST_CHANGING: value[at++] = m->last_changing; break;
        case LAST_COUNTDOWN: value[at++] = m->last_countdown; break;
        case LAST_FALL: value[at++] = m->last_fall; break;
        case LAST_ALARM: value[at++] = m->last_alarm; break;
        case WISH: value[at++] = m->wish; break;
        case SAMPLED: value[at++] = m->sampled; break;
        case SAMPLE: value[at++] = m->sample; break;
        default: return refuse(i, "unknown float");
        }
    }
    return at == n_values ? OK : refuse(i, "wrong number of floats");
}

int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *value, size_t n_values)
{
    Instance *i = c;
    Model *m = &i->m;
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        switch (vr[j]) {
        case U: case K:
            if (vr[j] == K && !may_set_discrete(i))
                return refuse(i, "parameters are tuned in event mode");
            for (size_t e = 0; e < m->n; e++)
                *(vr[j] == U ? &m->u[e] : &m->k[e]) = value[at++];
            break;
        case INTERVAL:
            if (!may_set_discrete(i))
                return refuse(i, "parameters are tuned in event mode");
            m->interval = value[at++];
            m->interval_new = true;
            break;
        case WISH: m->wish = value[at++]; break;
        case SAMPLED:
            if (i->m.mode == EVENT && !m->input_clock[PERIODIC])
                return refuse(i, "the clock of `sampled` does not tick");
            if (i->m.mode == STEP)
                return refuse(i, "`sampled` is set in event mode");
            m->sampled = value[at++];
            break;
        default: return refuse(i, "unknown float");
        }
    }
    return at == n_values ? OK : refuse(i, "wrong number of floats");
}

int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *value, size_t n_values)
{
    Model *m = &((Instance *)c)->m;
    (void)n_values;
    for (size_t j = 0; j < n; j++)
        switch (vr[j]) {
        case FALLS: value[j] = m->falls; break;
        case PERIODIC_TICKS: value[j] = m->periodic_ticks; break;
        case CHANGING_TICKS: value[j] = m->changing_ticks; break;
        case COUNTDOWN_TICKS: value[j] = m->countdown_ticks; break;
        case TUNABLE_TICKS: value[j] = m->tunable_ticks; break;
        case ALARMS: value[j] = m->alarms; break;
        case EVENTS: value[j] = m->events; break;
        case WISHES: value[j] = m->wishes; break;
        case FRAMES: value[j] = m->frames; break;
        case FAULT: value[j] = m->fault; break;
        default: value[j] = m->i32;
        }
    return OK;
}
int fmi3SetInt32(void *c, const uint32_t *vr, size_t n, const int32_t *value, size_t n_values)
{
    Instance *i = c;
    (void)n_values;
    for (size_t j = 0; j < n; j++) {
        if (vr[j] == FAULT) {
            i->m.fault = value[j];
            continue;
        }
        if (!may_set_discrete(i))
            return refuse(i, "integers are set in event mode");
        i->m.i32 = value[j];
    }
    return OK;
}

#define NUMBER(name, type, field)                                                                                             \
    int fmi3Get##name(void *c, const uint32_t *vr, size_t n, type *value, size_t n_values)                                     \
    {                                                                                                                          \
        (void)vr, (void)n_values;                                                                                              \
        for (size_t j = 0; j < n; j++)                                                                                         \
            value[j] = ((Instance *)c)->m.field;                                                                               \
        return OK;                                                                                                             \
    }                                                                                                                          \
    int fmi3Set##name(void *c, const uint32_t *vr, size_t n, const type *value, size_t n_values)                               \
    {                                                                                                                          \
        (void)vr, (void)n, (void)n_values;                                                                                     \
        if (!may_set_discrete(c))                                                                                              \
            return refuse(c, "discrete inputs are set in event mode");                                                        \
        ((Instance *)c)->m.field = *value;                                                                                     \
        return OK;                                                                                                             \
    }
NUMBER(Float32, float, f32)
NUMBER(Int8, int8_t, i8)
NUMBER(UInt8, uint8_t, u8)
NUMBER(Int16, int16_t, i16)
NUMBER(UInt16, uint16_t, u16)
NUMBER(UInt32, uint32_t, u32)
NUMBER(Boolean, bool, b)

int fmi3GetInt64(void *c, const uint32_t *vr, size_t n, int64_t *value, size_t n_values)
{
    Model *m = &((Instance *)c)->m;
    (void)n_values;
    for (size_t j = 0; j < n; j++)
        value[j] = vr[j] == E_IN || vr[j] == E_OUT ? m->e : m->i64;
    return OK;
}
int fmi3SetInt64(void *c, const uint32_t *vr, size_t n, const int64_t *value, size_t n_values)
{
    (void)n_values;
    if (!may_set_discrete(c))
        return refuse(c, "discrete inputs are set in event mode");
    for (size_t j = 0; j < n; j++)
        *(vr[j] == E_IN ? &((Instance *)c)->m.e : &((Instance *)c)->m.i64) = value[j];
    return OK;
}
int fmi3GetUInt64(void *c, const uint32_t *vr, size_t n, uint64_t *value, size_t n_values)
{
    Model *m = &((Instance *)c)->m;
    (void)n_values;
    for (size_t j = 0; j < n; j++)
        value[j] = vr[j] == N ? m->n : m->u64;
    return OK;
}
int fmi3SetUInt64(void *c, const uint32_t *vr, size_t n, const uint64_t *value, size_t n_values)
{
    Instance *i = c;
    (void)n_values;
    for (size_t j = 0; j < n; j++) {
        if (vr[j] == N) {
            if (i->m.mode != CONFIGURATION)
                return refuse(i, "structural parameters are set in configuration mode");
            if (value[j] > MAX)
                return refuse(i, "at most 8 elements");
            i->m.n = value[j];
        } else {
            if (!may_set_discrete(i))
                return refuse(i, "discrete inputs are set in event mode");
            i->m.u64 = value[j];
        }
    }
    return OK;
}

int fmi3GetString(void *c, const uint32_t *vr, size_t n, const char **value, size_t n_values)
{
    Instance *i = c;
    Model *m = &i->m;
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        if (vr[j] == WORDS) {
            value[at++] = m->words[0];
            value[at++] = m->words[1];
        } else if (vr[j] == TOTAL) {
            snprintf(i->out, sizeof i->out, "%s+%s", m->words[0], m->words[1]);
            value[at++] = i->out;
        } else if (vr[j] == TEXT_OUT) {
            snprintf(i->out, sizeof i->out, "%s at %.3f by %s", m->text, m->time, m->label);
            value[at++] = i->out;
        } else {
            value[at++] = vr[j] == LABEL ? m->label : m->text;
        }
    }
    return at == n_values ? OK : refuse(i, "wrong number of texts");
}
int fmi3SetString(void *c, const uint32_t *vr, size_t n, const char *const *value, size_t n_values)
{
    Instance *i = c;
    size_t at = 0;
    if (!may_set_discrete(i))
        return refuse(i, "texts are set in event mode");
    for (size_t j = 0; j < n; j++) {
        if (vr[j] == WORDS) {
            snprintf(i->m.words[0], 32, "%s", value[at++]);
            snprintf(i->m.words[1], 32, "%s", value[at++]);
        } else {
            snprintf(vr[j] == LABEL ? i->m.label : i->m.text, 64, "%s", value[at++]);
        }
    }
    return at == n_values ? OK : refuse(i, "wrong number of texts");
}

int fmi3GetBinary(void *c, const uint32_t *vr, size_t n, size_t *size, const uint8_t **value, size_t n_values)
{
    Instance *i = c;
    Model *m = &i->m;
    (void)n, (void)n_values;
    if (*vr == DATA_OUT) {
        for (size_t j = 0; j < m->data_size; j++)
            i->reversed[j] = m->data[m->data_size - 1 - j];
        if (m->key_size)
            i->reversed[0] ^= m->key[0];
        *size = m->data_size;
        *value = i->reversed;
    } else if (*vr == FRAMES + 100) {
        /* The frame is there only while its clock ticks. */
        *size = m->alarm ? 1 : 0;
        i->reversed[0] = (uint8_t)m->falls;
        *value = i->reversed;
    } else {
        *size = *vr == FRAME ? m->frame_size : m->data_size;
        *value = *vr == FRAME ? m->frame : m->data;
    }
    return OK;
}
int fmi3SetBinary(void *c, const uint32_t *vr, size_t n, const size_t *size, const uint8_t *const *value, size_t n_values)
{
    Instance *i = c;
    (void)n, (void)n_values;
    if (*size > 64)
        return refuse(i, "too many bytes");
    if (!may_set_discrete(i))
        return refuse(i, "bytes are set in event mode");
    if (*vr == FRAME) {
        if (!i->m.input_clock[ALARM_IN])
            return refuse(i, "the clock of `frame` does not tick");
        memcpy(i->m.frame, *value, *size);
        i->m.frame_size = *size;
        i->m.frames += *size ? i->m.frame[0] : 0;
    } else if (*vr == KEY) {
        memcpy(i->m.key, *value, *size);
        i->m.key_size = *size;
    } else {
        memcpy(i->m.data, *value, *size);
        i->m.data_size = *size;
    }
    return OK;
}

int fmi3SetClock(void *c, const uint32_t *vr, size_t n, const bool *value)
{
    Instance *i = c;
    Model *m = &i->m;
    if (m->mode != EVENT)
        return refuse(i, "clocks tick in event mode");
    for (size_t j = 0; j < n; j++) {
        if (!value[j])
            continue;
        m->input_clock[vr[j]] = true;
        if (vr[j] == PERIODIC) {
            m->periodic_ticks++;
            m->last_periodic = m->time;
            m->countdown_set = m->periodic_ticks % 2 == 0;
        } else if (vr[j] == CHANGING) {
            m->changing_ticks++;
            m->last_changing = m->time;
        } else if (vr[j] == COUNTDOWN) {
            m->countdown_ticks++;
            m->last_countdown = m->time;
        } else if (vr[j] == TUNABLE) {
            m->tunable_ticks++;
        } else if (vr[j] == ALARM_IN) {
            m->alarms++;
            m->last_alarm = m->time;
        } else {
            return refuse(i, "unknown clock");
        }
    }
    return OK;
}
int fmi3GetClock(void *c, const uint32_t *vr, size_t n, bool *value)
{
    Instance *i = c;
    if (i->m.mode != EVENT)
        return refuse(i, "clocks are asked in event mode");
    for (size_t j = 0; j < n; j++)
        value[j] = vr[j] == ALARM && i->m.alarm;
    return OK;
}
int fmi3GetIntervalDecimal(void *c, const uint32_t *vr, size_t n, double *interval, int *qualifier)
{
    Model *m = &((Instance *)c)->m;
    (void)n;
    *qualifier = 2;
    if (*vr == CHANGING) {
        *interval = 0.1 * m->changing_ticks;
    } else if (*vr == COUNTDOWN) {
        *interval = 0.07;
        *qualifier = m->countdown_set ? 2 : m->periodic_ticks > 1 ? 1 : 0;
        m->countdown_set = false;
    } else {
        *interval = m->interval;
        *qualifier = m->interval_new ? 2 : 1;
        m->interval_new = false;
    }
    return OK;
}
int fmi3UpdateDiscreteStates(void *c, bool *again, bool *terminate, bool *nominals, bool *values, bool *has_next, double *next)
{
    Instance *i = c;
    Model *m = &i->m;
    if (m->mode != EVENT)
        return refuse(i, "no event");
    *terminate = m->fault == 4 && m->falls > 0;
    *nominals = *values = false;
    *again = false;
    m->alarm = false;
    if (m->input_clock[PERIODIC])
        m->sample = m->sampled;
    if (m->falls_now) {
        /* A first round falls, a second one lets the clock tick. */
        m->falls_now = false;
        m->ramp = 0;
        m->falls++;
        m->last_fall = m->time;
        m->alarm = true;
        *again = true;
    }
    if (m->fault == 5)
        *again = true;
    if (m->wish >= 0 && m->time >= m->wish - 1e-12) {
        m->wishes++;
        m->wish = m->wishes < 3 ? m->wish + 0.3 : -1;
    }
    *has_next = m->wish >= 0;
    *next = m->wish;
    return OK;
}

int fmi3DoStep(void *c, double time, double size, bool no_set_state, bool *event, bool *terminate, bool *early, double *reached)
{
    Instance *i = c;
    Model *m = &i->m;
    (void)no_set_state;
    *event = *terminate = *early = false;
    *reached = m->time;
    if (m->mode != STEP)
        return refuse(i, "no step now");
    if (fabs(time - m->time) > 1e-9)
        return refuse(i, "the step begins elsewhere");
    if (m->fault == 6)
        i->log(i->environment, WARNING, "logStatusWarning", "I am not well");
    if (m->fault == 7) {
        *early = true;
        return OK;
    }
    double rest = 1 - m->ramp;
    if (m->fault >= 1 && m->fault <= 3 && time + size > 0.5) {
        i->log(i->environment, ERROR, "logStatusError", "I refuse to pass 0.5 s");
        return m->fault + 1;
    }
    m->time = time + size;
    m->ramp += size;
    if (i->early && rest < size - 1e-9) {
        m->time = time + rest;
        m->ramp = 1;
        *early = true;
    }
    if (m->ramp >= 1 - 1e-9) {
        if (i->early && i->events) {
            *event = m->falls_now = true;
        } else {
            /* Without events it falls by itself. */
            m->ramp -= 1;
            m->falls++;
            m->last_fall = m->time;
        }
    }
    *reached = m->time;
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
    if (size != sizeof(Model))
        return ERROR;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return OK;
}
