/* Models of the model-exchange test FMUs, chosen by -DMODEL: equations with known solutions.
 *
 * All have the same variables. Reals: input u, states x1 and x2, their derivatives, parameters p1 to p3, output y.
 * Integers: outputs count and evaluations, parameter quit. Boolean: input on.
 *
 * Every call checks that it is allowed in the present mode, and that time never goes back beyond a completed step.
 * Lies, for probes: -DLIE_STATE restores all but the sign of the square wave, -DLIE_DERIVATIVE gives a wrong entry. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OSCILLATOR 1 /* p1 x1'' + p3 x1' + p2 x1 = factor u, factor 1 or, if on, 2; y = x1 + 0.5 u */
#define BALL 2       /* height x1, speed x2, gravity p1; at the ground x2 becomes -p2 x2, at rest below speed p3 */
#define SQUARE 3     /* x1' = y, y = 1 and -1 in turn, p1 s each */
#define WRAP 4       /* x1' = p1; a step event takes 2 pi off x1 */
#define TRACKER 5    /* x1' = -p1 (x1 - cos t) - sin t: x1 = cos t, however stiff */
#define VAN_DER_POL 6 /* p1 x1'' = (1 - x1^2) x1' - x1, with x2 = x1' */
#define GATE 7       /* no states; y is the time of the last event, at which u crossed 0.5 */
#define TANK 8       /* x1' = -1; derivatives are refused for x1 <= 0 */

#if MODEL == GATE
#define STATES 0
#elif MODEL == OSCILLATOR || MODEL == BALL || MODEL == VAN_DER_POL
#define STATES 2
#else
#define STATES 1
#endif
#define INDICATORS (MODEL == BALL || MODEL == GATE)

enum { U, X1, X2, D1, D2, P1, P2, P3, Y, REALS };
enum { COUNT, EVALUATIONS, QUIT, INTEGERS };
enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { INSTANTIATED = 1, INITIALIZATION = 2, EVENT = 4, CONTINUOUS = 8, ANY = 15 };

typedef struct {
    double r[REALS];
    int32_t i[INTEGERS];
    int on;
    int mode;
    double time, completed, next;
    double factor, sign;
    int at_rest;
} Model;

static void model_start(Model *m)
{
    memset(m, 0, sizeof *m);
    m->mode = INSTANTIATED;
    m->factor = m->sign = 1.0;
    m->r[X1] = m->r[P1] = m->r[P2] = 1.0;
    if (MODEL == BALL)
        m->r[P1] = 9.81, m->r[P2] = 0.7, m->r[P3] = 0.1;
    if (MODEL == SQUARE || MODEL == WRAP)
        m->r[X1] = 0.0;
    if (MODEL == VAN_DER_POL)
        m->r[X1] = 2.0, m->r[X2] = -0.66, m->r[P1] = 1e-6;
    if (MODEL == TRACKER)
        m->r[P1] = 1e6;
    m->next = m->r[P1];
}

/* Derivatives and outputs. */
static int model_evaluate(Model *m)
{
    double *r = m->r, t = m->time;
    r[D1] = r[X2];
    switch (MODEL) {
    case OSCILLATOR:
        r[D2] = (m->factor * r[U] - r[P2] * r[X1] - r[P3] * r[X2]) / r[P1];
        r[Y] = r[X1] + 0.5 * r[U];
        break;
    case BALL:
        r[D1] = m->at_rest ? 0.0 : r[X2];
        r[D2] = m->at_rest ? 0.0 : -r[P1];
        r[Y] = r[X1];
        break;
    case SQUARE:
        r[D1] = r[Y] = m->sign;
        break;
    case WRAP:
        r[D1] = r[P1];
        r[Y] = r[X1];
        break;
    case TRACKER:
        r[D1] = -r[P1] * (r[X1] - cos(t)) - sin(t);
        r[Y] = r[X1];
        break;
    case VAN_DER_POL:
        r[D2] = ((1 - r[X1] * r[X1]) * r[X2] - r[X1]) / r[P1];
        r[Y] = r[X1];
        break;
    case TANK:
        if (r[X1] <= 0)
            return DISCARD;
        r[D1] = -1;
        r[Y] = r[X1];
        break;
    }
    return OK;
}

static void model_indicators(const Model *m, double *z)
{
    if (MODEL == BALL)
        z[0] = m->at_rest ? 1.0 : m->r[X1];
    if (MODEL == GATE)
        z[0] = m->r[U] - 0.5;
}

typedef struct {
    bool again, terminate, values, next_defined;
    double next;
} Info;

static Info model_event(Model *m)
{
    Info info = {0};
    double *r = m->r;
    if (MODEL == OSCILLATOR) {
        double factor = m->on ? 2.0 : 1.0;
        info.again = factor != m->factor;
        m->factor = factor;
    }
    if (MODEL == BALL && r[X1] <= 0 && r[X2] < 0) {
        m->i[COUNT]++;
        r[X1] = DBL_MIN;
        r[X2] *= -r[P2];
        if (r[X2] < r[P3])
            m->at_rest = 1;
        info.values = true;
        info.terminate = m->i[QUIT] > 0 && m->i[COUNT] >= m->i[QUIT];
    }
    if (MODEL == SQUARE) {
        if (m->time >= m->next) {
            m->sign = -m->sign;
            m->i[COUNT]++;
            m->next = (m->i[COUNT] + 1) * r[P1];
        } else if (m->i[COUNT] == 0) {
            m->next = r[P1];
        }
        info.next_defined = true;
        info.next = m->next;
    }
    if (MODEL == WRAP && r[X1] > 2 * M_PI) {
        r[X1] -= 2 * M_PI;
        m->i[COUNT]++;
        info.values = true;
    }
    if (MODEL == GATE && (r[U] > 0.5) != (m->sign < 0)) {
        m->sign = -m->sign;
        r[Y] = m->time;
        m->i[COUNT]++;
    }
    return info;
}

static int model_set_time(Model *m, double time)
{
    if (time < m->completed)
        return ERROR;
    m->time = time;
    return OK;
}

/* Saves all but the completed time, which says how far back nobody goes: that is allowed now. */
static void model_save(const Model *m, Model *state)
{
    *state = *m;
    state->completed = -DBL_MAX;
}

static void model_restore(Model *m, const Model *state)
{
    double sign = m->sign;
    *m = *state;
#ifdef LIE_STATE
    m->sign = sign;
#else
    (void)sign;
#endif
}

/* Derivative of one variable by another. */
static double model_partial(const Model *m, unsigned of, unsigned by)
{
    const double *r = m->r;
    if (of == by)
        return 1.0;
    if (of == D1 && STATES == 2)
        return by == X2 ? 1.0 : 0.0;
    if (of == Y && MODEL != OSCILLATOR)
        return by == X1 && MODEL != SQUARE && MODEL != GATE ? 1.0 : 0.0;
    if (MODEL == OSCILLATOR) {
#ifdef LIE_DERIVATIVE
        double stiffness = -0.9 * r[P2];
#else
        double stiffness = -r[P2];
#endif
        if (of == D2)
            return by == U ? m->factor / r[P1] : by == X1 ? stiffness / r[P1] : by == X2 ? -r[P3] / r[P1] : 0.0;
        if (of == Y)
            return by == X1 ? 1.0 : by == U ? 0.5 : 0.0;
    }
    if (MODEL == VAN_DER_POL && of == D2)
        return (by == X1 ? -2 * r[X1] * r[X2] - 1 : by == X2 ? 1 - r[X1] * r[X1] : 0.0) / r[P1];
    if (MODEL == TRACKER && of == D1)
        return by == X1 ? -r[P1] : 0.0;
    return 0.0;
}
