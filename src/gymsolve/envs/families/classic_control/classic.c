/* The classic control environments of Gymnasium, all copies at once: its numbers, bit for bit.

   Every line repeats the arithmetic of one in gymnasium/envs/classic_control, in its order and in its
   precision, so nothing here may be contracted or rearranged. Sines and cosines that Gymnasium takes from
   NumPy come in from there (`trig`), since libm's may differ in the last bit; those it takes from `math` are
   libm's. Resets, and what an end means, are the business of classic.py. */

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "../../../fast/vectors.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct Classic Classic;

/* One environment's rules, for one copy (a row). `advance` moves the state; in between NumPy finds sines and
   cosines of the angles; `settle` writes what is seen of it, and says whether the episode ended. */
typedef struct {
    const char *name;
    int variables, functions, entries, choices; /* of the state, of `trig`, of what is seen, of an action */
    void (*advance)(Classic *envs, len row, const void *action, long stage);
    int (*settle)(Classic *envs, len row);
} Rules;

struct Classic {
    PyObject_HEAD
    const Rules *rules;
    Py_buffer held[8];
    int holds;
    len count;
    int64_t limit;
    double option;
    double *state;             /* [variables, N] */
    double *trig;              /* [functions, N] */
    float *obs;                /* [N, entries] */
    double *rewards, *returns; /* [N] of this step; of the episode so far */
    char *terminated, *truncated;
    int64_t *lengths;
};

#define STATE(variable) envs->state[(variable)*envs->count + row]
#define TRIG(function) envs->trig[(function)*envs->count + row]
#define OBS(entry) envs->obs[row * envs->rules->entries + (entry)]

/* As Python and NumPy square a number: a compiler would make x · x of it, which may differ in the last bit. */
static double squared(double x)
{
    volatile double two = 2.0;
    return pow(x, two);
}

static float squared_float(float x)
{
    volatile float two = 2.0f;
    return powf(x, two);
}

INLINE double clipped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* ---------------------------------------------------------------- CartPole */

static void push_cart(Classic *envs, len row, const void *action, long stage)
{
    (void)stage;
    const double gravity = 9.8, masspole = 0.1, total_mass = 0.1 + 1.0, length = 0.5, tau = 0.02;
    const double polemass_length = 0.1 * 0.5;
    double x_dot = STATE(1), theta_dot = STATE(3), cosine = TRIG(0), sine = TRIG(1);
    double force = *(const int64_t *)action == 1 ? 10.0 : -10.0;
    double temp = (force + polemass_length * (theta_dot * theta_dot) * sine) / total_mass;
    double thetaacc =
        (gravity * sine - cosine * temp) / (length * (4.0 / 3.0 - masspole * (cosine * cosine) / total_mass));
    double xacc = temp - polemass_length * thetaacc * cosine / total_mass;
    STATE(0) = STATE(0) + tau * x_dot;
    STATE(1) = x_dot + tau * xacc;
    STATE(2) = STATE(2) + tau * theta_dot;
    STATE(3) = theta_dot + tau * thetaacc;
}

static int settle_cart(Classic *envs, len row)
{
    const double angle = 12 * 2 * M_PI / 360;
    double x = STATE(0), theta = STATE(2);
    int fallen = x < -2.4 || x > 2.4 || theta < -angle || theta > angle;
    for (len i = 0; i < 4; i++) OBS(i) = (float)STATE(i);
    envs->rewards[row] = 1.0;
    if (envs->option) /* Sutton and Barto's rewards */
        envs->rewards[row] = fallen ? -1.0 : 0.0;
    return fallen;
}

/* ---------------------------------------------------------------- Pendulum */

/* Python's remainder: it has the sign of the divisor. */
static double remainder_of(double x, double divisor)
{
    double left = fmod(x, divisor);
    if (left == 0.0)
        return copysign(0.0, divisor);
    return (left < 0.0) != (divisor < 0.0) ? left + divisor : left;
}

static void twist_pendulum(Classic *envs, len row, const void *action, long stage)
{
    (void)stage;
    const double dt = 0.05, g = envs->option;
    double theta = STATE(0), speed = STATE(1), sine = TRIG(1);
    float torque = *(const float *)action;
    torque = torque < -2.0f ? -2.0f : torque > 2.0f ? 2.0f : torque;
    float effort = 0.001f * squared_float(torque), push = 3.0f * torque; /* in single precision, as actions are */
    double upright = remainder_of(theta + M_PI, 2 * M_PI) - M_PI;
    envs->rewards[row] = -(squared(upright) + 0.1 * squared(speed) + effort);
    speed = clipped(speed + (3 * g / (2 * 1.0) * sine + push) * dt, -8.0, 8.0);
    STATE(0) = theta + speed * dt;
    STATE(1) = speed;
}

static int settle_pendulum(Classic *envs, len row)
{
    OBS(0) = (float)TRIG(0), OBS(1) = (float)TRIG(1), OBS(2) = (float)STATE(1);
    return 0;
}

/* ---------------------------------------------------------------- MountainCar */

static void push_car(Classic *envs, len row, const void *action, long stage)
{
    (void)stage;
    double position = STATE(0), velocity = STATE(1);
    int64_t push = *(const int64_t *)action - 1;
    velocity += (double)push * 0.001 + cos(3 * position) * -0.0025;
    velocity = clipped(velocity, -0.07, 0.07);
    position = clipped(position + velocity, -1.2, 0.6);
    if (position == -1.2 && velocity < 0)
        velocity = 0;
    STATE(0) = position, STATE(1) = velocity;
}

static int settle_car(Classic *envs, len row)
{
    OBS(0) = (float)STATE(0), OBS(1) = (float)STATE(1);
    envs->rewards[row] = -1.0;
    return STATE(0) >= 0.5 && STATE(1) >= envs->option;
}

/* ---------------------------------------------------------------- MountainCarContinuous */

/* The state has single precision, except right after a reset, and Python's numbers adapt to it. */
#define DRIVE(real)                                                                                        \
    do {                                                                                                   \
        real position = (real)STATE(0), velocity = (real)STATE(1);                                         \
        velocity += force * 0.0015f - (float)(0.0025 * cos((double)(3 * position)));                       \
        velocity = velocity > (real)0.07 ? (real)0.07 : velocity;                                          \
        velocity = velocity < (real)-0.07 ? (real)-0.07 : velocity;                                        \
        position += velocity;                                                                              \
        position = position > (real)0.6 ? (real)0.6 : position;                                            \
        position = position < (real)-1.2 ? (real)-1.2 : position;                                          \
        if (position == (real)-1.2 && velocity < 0)                                                        \
            velocity = 0;                                                                                  \
        there = position >= (real)0.45 && velocity >= (real)envs->option;                                  \
        STATE(0) = (float)position, STATE(1) = (float)velocity;                                            \
    } while (0)

static void drive_car(Classic *envs, len row, const void *action, long stage)
{
    (void)stage;
    float force = *(const float *)action;
    int there;
    force = force < -1.0f ? -1.0f : force > 1.0f ? 1.0f : force;
    if (envs->lengths[row] == 0)
        DRIVE(double);
    else
        DRIVE(float);
    envs->rewards[row] = (there ? 100.0 : 0.0) - squared(force) * 0.1;
    envs->terminated[row] = (char)there;
}

static int settle_driven(Classic *envs, len row)
{
    OBS(0) = (float)STATE(0), OBS(1) = (float)STATE(1);
    return envs->terminated[row];
}

/* ---------------------------------------------------------------- Acrobot */

/* Its state has five times four variables: where it is, where the integration is, and three slopes there.
   Its trig: three angles, their cosines, and the sines of the first two. */
#define POINT(variable) STATE(4 + (variable))
#define SLOPE(number, variable) STATE(4 + 4 * (number) + (variable))
#define ANGLE(number) TRIG(number)
#define COSINE(number) TRIG(3 + (number))
#define SINE(number) TRIG(6 + (number))

/* `_dsdt` of the book, at the point reached. */
static void find_slope(Classic *envs, len row, double torque, double slope[4])
{
    const double m1 = 1.0, m2 = 1.0, l1 = 1.0, lc1 = 0.5, lc2 = 0.5, i1 = 1.0, i2 = 1.0, g = 9.8;
    double dtheta1 = POINT(2), dtheta2 = POINT(3), sine = SINE(0);
    double d1 = m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2 * l1 * lc2 * COSINE(0)) + i1 + i2;
    double d2 = m2 * (lc2 * lc2 + l1 * lc2 * COSINE(0)) + i2;
    double phi2 = m2 * lc2 * g * COSINE(1);
    double phi1 = -m2 * l1 * lc2 * squared(dtheta2) * sine - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sine +
                  (m1 * lc1 + m2 * l1) * g * COSINE(2) + phi2;
    double ddtheta2 = (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * squared(dtheta1) * sine - phi2) /
                      (m2 * (lc2 * lc2) + i2 - squared(d2) / d1);
    slope[0] = dtheta1, slope[1] = dtheta2;
    slope[2] = -(d2 * ddtheta2 + phi1) / d1, slope[3] = ddtheta2;
}

static double wrapped(double x)
{
    const double turn = M_PI - -M_PI;
    while (x > M_PI) x = x - turn;
    while (x < -M_PI) x = x + turn;
    return x;
}

/* Runge and Kutta: stage 0 asks for the angles at the start; the next three find a slope each and go to
   where it leads; the last one finds the fourth slope and goes where all of them lead. */
static void swing(Classic *envs, len row, const void *action, long stage)
{
    const double dt = 0.2;
    double slope[4] = {0};
    if (stage)
        find_slope(envs, row, (double)(*(const int64_t *)action - 1), slope);
    for (len i = 0; i < 4; i++) {
        if (stage == 4) {
            STATE(i) = STATE(i) + dt / 6.0 * (SLOPE(1, i) + 2 * SLOPE(2, i) + 2 * SLOPE(3, i) + slope[i]);
            continue;
        }
        POINT(i) = stage ? STATE(i) + (stage == 3 ? dt : dt / 2.0) * slope[i] : STATE(i);
        if (stage)
            SLOPE(stage, i) = slope[i];
    }
    if (stage < 4) {
        ANGLE(0) = POINT(1), ANGLE(1) = POINT(0) + POINT(1) - M_PI / 2.0, ANGLE(2) = POINT(0) - M_PI / 2;
        return;
    }
    STATE(0) = wrapped(STATE(0)), STATE(1) = wrapped(STATE(1));
    STATE(2) = clipped(STATE(2), -(4 * M_PI), 4 * M_PI), STATE(3) = clipped(STATE(3), -(9 * M_PI), 9 * M_PI);
    ANGLE(0) = STATE(0), ANGLE(1) = STATE(1), ANGLE(2) = STATE(1) + STATE(0);
}

static int settle_acrobot(Classic *envs, len row)
{
    int high = -COSINE(0) - COSINE(2) > 1.0;
    OBS(0) = (float)COSINE(0), OBS(1) = (float)SINE(0), OBS(2) = (float)COSINE(1), OBS(3) = (float)SINE(1);
    OBS(4) = (float)STATE(2), OBS(5) = (float)STATE(3);
    envs->rewards[row] = high ? 0.0 : -1.0;
    return high;
}

/* ---------------------------------------------------------------- all of them */

static const Rules all_rules[] = {
    {"CartPole", 4, 2, 4, 2, push_cart, settle_cart},
    {"Pendulum", 2, 2, 3, 0, twist_pendulum, settle_pendulum},
    {"MountainCar", 2, 0, 2, 3, push_car, settle_car},
    {"MountainCarContinuous", 2, 0, 2, 0, drive_car, settle_driven},
    {"Acrobot", 20, 8, 6, 3, swing, settle_acrobot},
};

/* The memory of an array of so many elements, for good. */
static void *hold(Classic *envs, PyObject *array, len elements, len size)
{
    Py_buffer *view = &envs->held[envs->holds];
    if (PyErr_Occurred() || PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0)
        return NULL;
    envs->holds++;
    if (view->itemsize != size || view->len != elements * size)
        PyErr_SetString(PyExc_ValueError, "these arrays are not those of the environments");
    return view->buf;
}

static PyObject *classic_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name",    "state",      "trig",      "obs",     "rewards", "returns",
                            "lengths", "terminated", "truncated", "limit",   "option",  NULL};
    PyObject *state, *trig, *obs, *rewards, *returns, *lengths, *terminated, *truncated;
    const char *name;
    long long limit;
    double option;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOOOOOOOOLd", names, &name, &state, &trig, &obs, &rewards,
                                     &returns, &lengths, &terminated, &truncated, &limit, &option))
        return NULL;
    Classic *envs = (Classic *)type->tp_alloc(type, 0);
    if (!envs)
        return NULL;
    for (size_t i = 0; i < sizeof all_rules / sizeof *all_rules; i++)
        if (!strcmp(all_rules[i].name, name))
            envs->rules = &all_rules[i];
    if (!envs->rules)
        PyErr_Format(PyExc_ValueError, "there are no rules of %s", name);
    len count = PyErr_Occurred() ? 0 : PyObject_Length(rewards);
    if (count > 0) {
        const Rules *rules = envs->rules;
        envs->count = count;
        envs->limit = limit;
        envs->option = option;
        envs->state = hold(envs, state, rules->variables * count, sizeof(double));
        envs->trig = hold(envs, trig, rules->functions * count, sizeof(double));
        envs->obs = hold(envs, obs, rules->entries * count, sizeof(float));
        envs->rewards = hold(envs, rewards, count, sizeof(double));
        envs->returns = hold(envs, returns, count, sizeof(double));
        envs->lengths = hold(envs, lengths, count, sizeof(int64_t));
        envs->terminated = hold(envs, terminated, count, 1);
        envs->truncated = hold(envs, truncated, count, 1);
    } else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "there has to be an environment");
    if (!PyErr_Occurred())
        return (PyObject *)envs;
    Py_DECREF(envs);
    return NULL;
}

static void classic_dealloc(Classic *envs)
{
    for (int i = 0; i < envs->holds; i++) PyBuffer_Release(&envs->held[i]);
    Py_TYPE(envs)->tp_free((PyObject *)envs);
}

/* advance(actions, stage) */
static PyObject *classic_advance(Classic *envs, PyObject *const *args, len given)
{
    Py_buffer actions;
    const Rules *rules = envs->rules;
    len size = rules->choices ? sizeof(int64_t) : sizeof(float);
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "wanted are actions and a stage");
        return NULL;
    }
    long stage = PyLong_AsLong(args[1]);
    if (PyErr_Occurred() || PyObject_GetBuffer(args[0], &actions, PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    int sound = actions.itemsize == size && actions.len == envs->count * size;
    if (sound && rules->choices)
        for (len row = 0; row < envs->count; row++) {
            int64_t action = ((const int64_t *)actions.buf)[row];
            sound &= 0 <= action && action < rules->choices;
        }
    if (sound)
        for (len row = 0; row < envs->count; row++)
            rules->advance(envs, row, (const char *)actions.buf + row * size, stage);
    PyBuffer_Release(&actions);
    if (sound)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "these are no actions of the environments");
    return NULL;
}

/* settle() → how many episodes ended */
static PyObject *classic_settle(Classic *envs, PyObject *unused)
{
    (void)unused;
    long ended = 0;
    for (len row = 0; row < envs->count; row++) {
        int terminated = envs->rules->settle(envs, row);
        envs->lengths[row] += 1;
        envs->returns[row] += envs->rewards[row];
        envs->terminated[row] = (char)terminated;
        envs->truncated[row] = !terminated && envs->lengths[row] >= envs->limit;
        ended += envs->terminated[row] || envs->truncated[row];
    }
    return PyLong_FromLong(ended);
}

static PyMethodDef classic_methods[] = {
    {"advance", (PyCFunction)(void (*)(void))classic_advance, METH_FASTCALL, NULL},
    {"settle", (PyCFunction)(void (*)(void))classic_settle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject ClassicType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gymsolve._kernels.Classic",
    .tp_basicsize = sizeof(Classic),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = classic_new,
    .tp_dealloc = (destructor)classic_dealloc,
    .tp_methods = classic_methods,
};
