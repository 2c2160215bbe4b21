/* The model of the test FMUs: a mass on a spring and damper, m a + d v + c x = F, by Runge-Kutta 4 with steps of 1 ms.
 * The parameter `misbehave` makes steps that end after 0.5 s fail: 1 discard, 2 error, 3 fatal, 4 pending (FMI 3.0: the end of
 * the simulation), 5 not a number, 6 the end of the simulation after half of the step, 7 after all of it,
 * 8 at 0.55 s, 9 the same if the force at the begin of the step is above 0.25;
 * from 10 on, see misbehave.h.
 *
 * Lies, for probes: -DLIE_STATE restores all but the speed, -DROUGH_STATE all but the speed's last digits, -DLIE_BYTES loses it on the way through bytes, -DLIE_RESET
 * resets nothing, -DLIE_STEP always moves by 1 ms, -DLIE_INSTANCE shares the speed among instances, -DLIE_FEED computes the
 * acceleration in steps only, -DLIE_DERIVATIVE gives a wrong one by the force, -DLIE_STIFFNESS by the way, -DLIE_SLOPES and
 * -DLIE_UPDATE know no inputs inside steps. */

#include "misbehave.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F, X, V, M, C, D, A, REALS };

#define MAX_ORDER 3

typedef struct {
    double r[REALS];
    double slope[MAX_ORDER + 1]; /* derivatives of F at `since` */
    double since;
    double time;
    int steps;
    int misbehave;
    int on;
    char label[64];
} Model;

/* How much of a step is done: less than all of it where the simulation is to end on the way. */
static double part_done(const Model *m, double time, double size, double force, int *is_end)
{
    *is_end = 0;
    if (time + size > 0.5 + 1e-9 && (m->misbehave == 6 || m->misbehave == 7)) {
        *is_end = 1;
        return m->misbehave == 6 ? 0.5 * size : size;
    }
    if (time + size > 0.55 + 1e-9 && (m->misbehave == 8 || (m->misbehave == 9 && force > 0.25))) {
        *is_end = 1;
        return time < 0.55 ? 0.55 - time : 0;
    }
    return size;
}

#ifdef LIE_INSTANCE
static double shared_speed;
#endif

static void model_start(Model *m)
{
    memset(m, 0, sizeof *m);
#ifdef LIE_INSTANCE
    shared_speed = 0;
#endif
    m->r[X] = 1.0;
    m->r[M] = 1.0;
    m->r[C] = 1.0;
    strcpy(m->label, "mass");
}

/* F at a time: its value and derivatives as a Taylor series. */
/* Not used by FMUs that ask for their inputs. */
__attribute__((unused)) static double force(const Model *m, double time)
{
    double tau = time - m->since, term = 1.0, sum = m->r[F];
    for (int k = 1; k <= MAX_ORDER; k++) {
        term *= tau / k;
        sum += term * m->slope[k];
    }
    return sum;
}

typedef double (*Input)(void *owner, double time);

static double acceleration(const Model *m, double x, double v, double f)
{
    return (f - m->r[C] * x - m->r[D] * v) / m->r[M];
}

__attribute__((unused)) static void model_reset(Model *m)
{
#ifndef LIE_RESET
    model_start(m);
#endif
}

static void model_restore(Model *m, const void *state)
{
    double speed = m->r[V];
    memcpy(m, state, sizeof *m);
#ifdef LIE_STATE
    m->r[V] = speed;
#else
    (void)speed;
#endif
#ifdef ROUGH_STATE
    m->r[V] *= 1 + 1e-6;
#endif
}

static void model_write(const void *state, void *bytes)
{
    memcpy(bytes, state, sizeof(Model));
#ifdef LIE_BYTES
    ((Model *)bytes)->r[V] = 0;
#endif
}

static void model_evaluate(Model *m)
{
#ifndef LIE_FEED
    m->r[A] = acceleration(m, m->r[X], m->r[V], m->r[F]);
#endif
    (void)m;
}

static void model_step(Model *m, double asked, Input input, void *owner)
{
#ifdef LIE_STEP
    double size = 1e-3;
#else
    double size = asked;
#endif
#ifdef LIE_INSTANCE
    m->r[V] = shared_speed;
#endif
    int parts = (int)ceil(size / 1e-3 - 1e-6);
    double h = size / parts, start = m->time;
    misbehave(m->misbehave, start + size);
    for (int k = 0; k < parts; k++) {
        double t = start + k * h, x = m->r[X], v = m->r[V];
        double f0 = input(owner, t), f1 = input(owner, t + 0.5 * h), f2 = input(owner, t + h);
        double x1 = v, v1 = acceleration(m, x, v, f0);
        double x2 = v + 0.5 * h * v1, v2 = acceleration(m, x + 0.5 * h * x1, v + 0.5 * h * v1, f1);
        double x3 = v + 0.5 * h * v2, v3 = acceleration(m, x + 0.5 * h * x2, v + 0.5 * h * v2, f1);
        double x4 = v + h * v3, v4 = acceleration(m, x + h * x3, v + h * v3, f2);
        m->r[X] = x + h / 6 * (x1 + 2 * x2 + 2 * x3 + x4);
        m->r[V] = v + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    }
    m->time = start + asked;
    m->r[A] = acceleration(m, m->r[X], m->r[V], m->r[F]);
#ifdef LIE_INSTANCE
    shared_speed = m->r[V];
#endif
    m->steps++;
}
