/* An FMI 3.0 co-simulation FMU without events: x' = u by ten Euler steps per step, y = u w, z = u + 3 w, with derivatives.
 * It asks for its inputs before each of its own steps and shows its outputs after each. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Log)(void *, int, const char *, const char *);
typedef void (*Update)(void *, double, bool, bool, bool, bool, bool *, double *);

enum { OK, WARNING, DISCARD, ERROR };
enum { U = 1, W, X, Y, Z };

typedef struct {
    double r[Z + 1];
    void *environment;
    Update update;
} Instance;

const char *fmi3GetVersion(void) { return "3.0"; }
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t *required, size_t n_required, void *environment,
                                  Log log, Update update)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)log, (void)required;
    if (events || early || n_required != 5)
        return NULL;
    Instance *i = calloc(1, sizeof *i);
    i->environment = environment;
    i->update = update;
    return i;
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    (void)c, (void)has_tolerance, (void)tolerance, (void)start, (void)has_stop, (void)stop;
    return OK;
}
int fmi3ExitInitializationMode(void *c) { (void)c; return OK; }
int fmi3Terminate(void *c) { (void)c; return OK; }
int fmi3Reset(void *c) { memset(((Instance *)c)->r, 0, sizeof ((Instance *)c)->r); return OK; }
int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *value, size_t n_values)
{
    Instance *i = c;
    (void)n_values;
    i->r[Y] = i->r[U] * i->r[W];
    i->r[Z] = i->r[U] + 3 * i->r[W];
    for (size_t k = 0; k < n; k++)
        value[k] = i->r[vr[k]];
    return OK;
}
int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *value, size_t n_values)
{
    (void)n_values;
    for (size_t k = 0; k < n; k++)
        ((Instance *)c)->r[vr[k]] = value[k];
    return OK;
}
int fmi3DoStep(void *c, double time, double size, bool no_set_state, bool *event, bool *terminate, bool *early, double *reached)
{
    Instance *i = c;
    bool ask = false;
    double at = 0;
    (void)no_set_state;
    *event = *terminate = *early = false;
    for (int k = 0; k < 10; k++) {
        i->update(i->environment, time + k * size / 10, true, false, false, false, &ask, &at);
        i->r[X] += size / 10 * i->r[U];
        i->update(i->environment, time + (k + 1) * size / 10, false, true, true, false, &ask, &at);
    }
    *reached = time + size;
    return OK;
}

static double slope(const Instance *i, uint32_t of, uint32_t by)
{
    if (of == Y)
        return by == U ? i->r[W] : i->r[U];
    if (of == Z)
        return by == U ? 1 : 3;
    return 0;
}
int fmi3GetDirectionalDerivative(void *c, const uint32_t *of, size_t n_of, const uint32_t *by, size_t n_by, const double *seed,
                                 size_t n_seed, double *change, size_t n_change)
{
    if (n_seed != n_by || n_change != n_of)
        return ERROR;
    for (size_t k = 0; k < n_of; k++) {
        change[k] = 0;
        for (size_t j = 0; j < n_by; j++)
            change[k] += slope(c, of[k], by[j]) * seed[j];
    }
    return OK;
}
int fmi3GetAdjointDerivative(void *c, const uint32_t *of, size_t n_of, const uint32_t *by, size_t n_by, const double *seed,
                             size_t n_seed, double *change, size_t n_change)
{
    if (n_seed != n_of || n_change != n_by)
        return ERROR;
    for (size_t j = 0; j < n_by; j++) {
        change[j] = 0;
        for (size_t k = 0; k < n_of; k++)
            change[j] += seed[k] * slope(c, of[k], by[j]);
    }
    return OK;
}
int fmi3GetOutputDerivatives(void *c, const uint32_t *vr, size_t n, const int32_t *order, double *value, size_t n_values)
{
    (void)n_values;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] != X || order[k] != 1)
            return ERROR;
        value[k] = ((Instance *)c)->r[U];
    }
    return OK;
}
