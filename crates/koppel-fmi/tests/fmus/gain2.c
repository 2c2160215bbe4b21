/* y = k u + x, x' = u, as an FMI 2.0 co-simulation FMU without states that could be saved.
   -DLAZY: outputs follow inputs while it is initialised, later only at the end of a step.
   -DDIFFERENCE: y = u - w, and a body whose brake opens at 0.15 s: z' = v, v' = 1, by Euler's method. */

#include <stdlib.h>

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

enum { U, Y, K, X, W, Z, V, COUNT };

typedef struct {
    double r[COUNT];
    int is_stepping;
    const Callbacks *callbacks;
} Instance;

#ifdef DIFFERENCE
static void evaluate(Instance *i) { i->r[Y] = i->r[U] - i->r[W]; }
#else
static void evaluate(Instance *i) { i->r[Y] = i->r[K] * i->r[U] + i->r[X]; }
#endif

const char *fmi2GetVersion(void) { return "2.0"; }
const char *fmi2GetTypesPlatform(void) { return "default"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks *callbacks,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)visible, (void)logging;
    Instance *i = callbacks->allocate(1, sizeof *i);
    i->r[K] = 2;
    i->r[X] = 1;
    i->callbacks = callbacks;
    return i;
}

void fmi2FreeInstance(void *c) { ((Instance *)c)->callbacks->release(c); }
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *list) { (void)c, (void)on, (void)n, (void)list; return 0; }
int fmi2SetupExperiment(void *c, int t, double tolerance, double start, int s, double stop)
{
    (void)c, (void)t, (void)tolerance, (void)start, (void)s, (void)stop;
    return 0;
}
int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
int fmi2ExitInitializationMode(void *c) { evaluate(c); ((Instance *)c)->is_stepping = 1; return 0; }
int fmi2Terminate(void *c) { (void)c; return 0; }
int fmi2Reset(void *c) { (void)c; return 0; }

int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *value)
{
    Instance *i = c;
#ifdef LAZY
    if (!i->is_stepping)
#endif
        evaluate(i);
    for (size_t k = 0; k < n; k++)
        value[k] = i->r[vr[k]];
    return 0;
}

int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *value)
{
    for (size_t k = 0; k < n; k++)
        ((Instance *)c)->r[vr[k]] = value[k];
    return 0;
}

int fmi2DoStep(void *c, double time, double size, int no_set_before)
{
    (void)no_set_before;
    Instance *i = c;
    i->r[Z] += size * i->r[V];
    if (time > 0.15 - 1e-9)
        i->r[V] += size;
    i->r[X] += size * i->r[U];
    evaluate(i);
    return 0;
}

#define STUB(name) int name(void) { return 3; }
STUB(fmi2GetInteger) STUB(fmi2GetBoolean) STUB(fmi2GetString) STUB(fmi2SetInteger) STUB(fmi2SetBoolean) STUB(fmi2SetString)
STUB(fmi2GetFMUstate) STUB(fmi2SetFMUstate) STUB(fmi2FreeFMUstate) STUB(fmi2SerializedFMUstateSize) STUB(fmi2SerializeFMUstate)
STUB(fmi2DeSerializeFMUstate) STUB(fmi2GetDirectionalDerivative) STUB(fmi2SetRealInputDerivatives)
STUB(fmi2GetRealOutputDerivatives) STUB(fmi2CancelStep) STUB(fmi2GetStatus) STUB(fmi2GetRealStatus) STUB(fmi2GetIntegerStatus)
STUB(fmi2GetBooleanStatus) STUB(fmi2GetStringStatus)
