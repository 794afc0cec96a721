/* The arithmetic of the NumPy engine, compiled: the same formulas with fewer passes over memory.

   `Network` is trunk, heads and their slopes over the flat buffers of parameters.py; `ppo_loss` and
   `adam` are the rest of a gradient step. compiled.py and optimizer.py call them; the Python modules
   beside this file explain the formulas, and tests/fast holds both to the same numbers.

   Inside, a sample is a row: [B, width], rows padded to whole vectors. Every matrix product is then
   `product` below, with a contiguous, padded right-hand side and vectors along its columns.

   No reduction depends on an array's address, so that a repeated run gives the same bits; comparisons
   are written so that a NaN fails them and is passed on. */

#include "vectors.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#define ROWS 8 /* 8 × 2 sums, in 32 registers */
#else
#define ROWS 6 /* 6 × 2 sums, 2 vectors and a factor fill 16 registers */
#endif

enum { MOST_LAYERS = 64, NODES = 16 };
enum activation { TANH, RELU, LEAKY_RELU, ELU, SILU, GELU };
static const float ILLEGAL = -1e9f;

INLINE len padded(len width) { return (width + LANES - 1) / LANES * LANES; }

/* ---------------------------------------------------------------- matrix product */

typedef struct {
    const float *at;
    len stride;  /* between rows */
    int turned;  /* element (m, k) lies at [k, m] */
} Left;

/* `rows` × `vecs` vectors of C; all three constants, so that the sums stay in registers. */
INLINE void tile(const int rows, const int vecs, const int turned, len depth, const float *a, len a_stride,
                 const float *b, len b_stride, const float *start, len start_stride, float *c, len c_stride,
                 len width)
{
    vec sums[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++)
            sums[r][v] = start ? *(const vec *)(start + r * start_stride + v * LANES) : (vec){0};
    for (len k = 0; k < depth; k++) {
        vec right[2];
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++)
            right[v] = *(const vec *)(b + k * b_stride + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            float left = turned ? a[k * a_stride + r] : a[r * a_stride + k];
#pragma GCC unroll 2
            for (int v = 0; v < vecs; v++)
                sums[r][v] = add_product(sums[r][v], left, right[v]);
        }
    }
    if (width >= vecs * LANES) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < vecs; v++)
                *(vec *)(c + r * c_stride + v * LANES) = sums[r][v];
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        vec row[2] = {sums[r][0], sums[r][vecs - 1]};
        memcpy(c + r * c_stride, row, (size_t)width * sizeof(float));
    }
}

#define TILE(n, vecs, turned)                                                                              \
    case n:                                                                                                \
        tile(n, vecs, turned, depth, a, left.stride, b, b_stride, s, start_stride, out, c_stride, width);  \
        break;
#if ROWS == 8
#define TILES(vecs, turned)                                                                                \
    switch (rows) {                                                                                        \
        TILE(8, vecs, turned) TILE(7, vecs, turned) TILE(6, vecs, turned) TILE(5, vecs, turned)            \
        TILE(4, vecs, turned) TILE(3, vecs, turned) TILE(2, vecs, turned) TILE(1, vecs, turned)            \
    }
#else
#define TILES(vecs, turned)                                                                                \
    switch (rows) {                                                                                        \
        TILE(6, vecs, turned) TILE(5, vecs, turned) TILE(4, vecs, turned)                                  \
        TILE(3, vecs, turned) TILE(2, vecs, turned) TILE(1, vecs, turned)                                  \
    }
#endif

/* C [height, columns] = start + A [height, depth] · B [depth, columns]. B and `start` are read, and never
   used, up to whole vectors; C is written up to `c_columns`. `start` may be C itself, or one row (stride 0). */
static void product(len height, len columns, len depth, Left left, const float *right, len b_stride,
                    const float *start, len start_stride, float *c, len c_stride, len c_columns)
{
    for (len n = 0; n < columns; n += 2 * LANES) {
        const float *b = right + n;
        len width = c_columns - n;
        int two = columns - n > LANES;
        for (len m = 0; m < height; m += ROWS) {
            int rows = (int)(height - m < ROWS ? height - m : ROWS);
            const float *a = left.at + (left.turned ? m : m * left.stride);
            const float *s = start ? start + m * start_stride + n : NULL;
            float *out = c + m * c_stride + n;
            if (left.turned) {
                if (two)
                    TILES(2, 1)
                else
                    TILES(1, 1)
            } else if (two)
                TILES(2, 0)
            else
                TILES(1, 0)
        }
    }
}

/* ---------------------------------------------------------------- functions of one number */

/* Eigen's rational approximation: within 3e-7, and |result| ≤ 1. */
INLINE float quick_tanh(float given)
{
    float x = given < -7.90531f ? -7.90531f : given;
    x = x > 7.90531f ? 7.90531f : x;
    float q = x * x;
    float p = -2.76076847742355e-16f;
    p = p * q + 2.00018790482477e-13f;
    p = p * q - 8.60467152213735e-11f;
    p = p * q + 5.12229709037114e-08f;
    p = p * q + 1.48572235717979e-05f;
    p = p * q + 6.37261928875436e-04f;
    p = p * q + 4.89352455891786e-03f;
    float d = 1.19825839466702e-06f;
    d = d * q + 1.18534705686654e-04f;
    d = d * q + 2.26843463243900e-03f;
    d = d * q + 4.89352518554385e-03f;
    float found = x * p / d;
    /* Exactly ±1 far out, so that a large factor, as in silu, does not make much of the last digit. */
    found = given > 9.0f ? 1.0f : found;
    return given < -9.0f ? -1.0f : found;
}

/* exp(x) − 1 and exp(x) for x ≤ 0: by way of tanh(x / 2), exact near 0 and to 3e-7 elsewhere. */
INLINE float quick_expm1(float x)
{
    float t = quick_tanh(0.5f * x);
    return 2.0f * t / (1.0f - t);
}

INLINE float sigmoid(float x) { return 0.5f + 0.5f * quick_tanh(0.5f * x); }

/* Φ(z): Abramowitz & Stegun 7.1.26, as in activations.py. */
INLINE float normal_share(float z)
{
    float x = fabsf(z) * 0.70710678f;
    float t = 1.0f / (1.0f + 0.3275911f * x);
    float series =
        t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    float tail = 0.5f * series * (1.0f + quick_expm1(-x * x));
    return z < 0 ? tail : 1.0f - tail;
}

/* log(1 + y) for y in [0, 1]: the series of 2 artanh(y / (2 + y)). */
INLINE float quick_log1p(float y)
{
    float s = y / (2.0f + y), q = s * s;
    float p = 1.0f / 15;
    p = p * q + 1.0f / 13;
    p = p * q + 1.0f / 11;
    p = p * q + 1.0f / 9;
    p = p * q + 1.0f / 7;
    p = p * q + 1.0f / 5;
    p = p * q + 1.0f / 3;
    return 2.0f * s * (p * q + 1.0f);
}

/* log(1 − tanh²(u)), stable for large |u|. */
INLINE float log_slope(float u)
{
    float size = fabsf(u);
    return 2.0f * (0.69314718f - size - quick_log1p(1.0f + quick_expm1(-2.0f * size)));
}

/* z into h; one and the same array unless the slope needs z. */
static void activate(enum activation kind, len count, const float *restrict z, float *restrict h)
{
    switch (kind) {
    case TANH:
        for (len i = 0; i < count; i++) h[i] = quick_tanh(h[i]);
        break;
    case RELU:
        for (len i = 0; i < count; i++) h[i] = h[i] < 0 ? 0 : h[i];
        break;
    case LEAKY_RELU:
        for (len i = 0; i < count; i++) h[i] = h[i] < 0 ? 0.01f * h[i] : h[i];
        break;
    case ELU:
        for (len i = 0; i < count; i++) {
            float below = quick_expm1(h[i] < 0 ? h[i] : 0);
            h[i] = h[i] < 0 ? below : h[i];
        }
        break;
    case SILU:
        for (len i = 0; i < count; i++) h[i] = z[i] * sigmoid(z[i]);
        break;
    case GELU:
        for (len i = 0; i < count; i++) h[i] = z[i] * normal_share(z[i]);
        break;
    }
}

/* Multiply the slope `d` by that of the activation. */
static void deactivate(enum activation kind, len count, const float *restrict z, const float *restrict h,
                       float *restrict d)
{
    switch (kind) {
    case TANH:
        for (len i = 0; i < count; i++) d[i] *= 1.0f - h[i] * h[i];
        break;
    case RELU: /* 0 or NaN where it is not above 0 */
        for (len i = 0; i < count; i++) d[i] *= h[i] > 0 ? 1.0f : h[i];
        break;
    case LEAKY_RELU:
        for (len i = 0; i < count; i++) d[i] *= h[i] > 0 ? 1.0f : h[i] <= 0 ? 0.01f : h[i];
        break;
    case ELU:
        for (len i = 0; i < count; i++) d[i] *= h[i] >= 0 ? 1.0f : h[i] + 1.0f;
        break;
    case SILU:
        for (len i = 0; i < count; i++) {
            float s = sigmoid(z[i]);
            d[i] *= s + h[i] - h[i] * s;
        }
        break;
    case GELU:
        for (len i = 0; i < count; i++) {
            float density = (1.0f + quick_expm1(-0.5f * z[i] * z[i])) * 0.39894228f;
            d[i] *= normal_share(z[i]) + z[i] * density;
        }
        break;
    }
}

/* ---------------------------------------------------------------- the network */

typedef struct {
    len at, inputs, outputs; /* [inputs + 1, outputs] at this place of the flat buffers, the bias last */
} Linear;

typedef struct {
    len row, input, count; /* rows of the first matrix that belong to dense inputs */
} Block;

typedef struct {
    PyObject_HEAD
    Py_buffer values, grads;
    int towers, layers, squash, box;
    enum activation activation;
    Linear trunk[2][MOST_LAYERS], head, value;
    len log_std;             /* place of the spread; box only */
    len dense, blocks, parts, widest;
    Block *block;
    int64_t *choices;        /* of each part; categorical only */
    float node[NODES], weight[NODES];
    len lookups;             /* looked-up inputs of a sample */
    /* Work arrays for up to `room` samples, in one piece of memory. */
    len room;
    float *memory;
    float *x, *z[2][MOST_LAYERS], *h[2][MOST_LAYERS], *d[2];
    float *raw, *d_raw, *critic, *log_p, *p, *part_entropy, *packed;
    int64_t *chosen, *looked_up;    /* [B, parts], [B, lookups] */
    unsigned char *masked, *illegal; /* [B, parts, widest]; `illegal` is NULL when everything is legal */
    /* The last pass, for `backward`. */
    len batch;
    int has_values, has_log_probs;
} Network;

INLINE const float *weights(const Network *net, Linear layer) { return (float *)net->values.buf + layer.at; }
INLINE float *slopes(const Network *net, Linear layer) { return (float *)net->grads.buf + layer.at; }

/* Weights and bias with rows padded to whole vectors; in place if they are already. */
static const float *pack(const Network *net, Linear layer, len *stride)
{
    const float *from = weights(net, layer);
    *stride = padded(layer.outputs);
    if (*stride == layer.outputs)
        return from;
    for (len i = 0; i <= layer.inputs; i++) {
        float *row = net->packed + i * *stride;
        memcpy(row, from + i * layer.outputs, (size_t)layer.outputs * sizeof(float));
        memset(row + layer.outputs, 0, (size_t)(*stride - layer.outputs) * sizeof(float));
    }
    return net->packed;
}

/* Weights turned, [outputs, padded inputs], without the bias. */
static const float *turn(const Network *net, Linear layer, len *stride)
{
    const float *from = weights(net, layer);
    *stride = padded(layer.inputs);
    for (len o = 0; o < layer.outputs; o++)
        for (len i = 0; i < *stride; i++)
            net->packed[o * *stride + i] = i < layer.inputs ? from[i * layer.outputs + o] : 0;
    return net->packed;
}

/* out [B, padded outputs] from rows of `below`. */
static void linear(const Network *net, Linear layer, const float *below, float *out)
{
    len stride;
    const float *w = pack(net, layer, &stride);
    Left left = {below, padded(layer.inputs), 0};
    product(net->batch, stride, layer.inputs, left, w, stride, w + layer.inputs * stride, 0, out, stride, stride);
}

/* g [inputs, outputs] = the sum over samples of below ⊗ d. */
static void outer_sums(const Network *net, len inputs, len outputs, const float *below, len below_stride,
                       const float *d, float *g)
{
    len stride = padded(outputs);
    /* Some samples at a time, for the sake of the cache; g is read up to whole vectors, so they must fit. */
    len step = stride == outputs ? 128 : net->batch;
    for (len b = 0; b < net->batch; b += step) {
        len depth = net->batch - b < step ? net->batch - b : step;
        product(inputs, outputs, depth, (Left){below + b * below_stride, below_stride, 1}, d + b * stride, stride,
                b ? g : NULL, outputs, g, outputs, outputs);
    }
}

/* Slopes of weights and bias from those of the outputs, d [B, padded outputs]. */
static void linear_slopes(const Network *net, Linear layer, const float *below, const float *d)
{
    static const float one = 1.0f;
    float *g = slopes(net, layer);
    outer_sums(net, layer.inputs, layer.outputs, below, padded(layer.inputs), d, g);
    outer_sums(net, 1, layer.outputs, &one, 0, d, g + layer.inputs * layer.outputs);
}

/* Slope of the inputs, written to or added to `below` [B, padded inputs]. */
static void linear_back(const Network *net, Linear layer, const float *d, float *below, int add)
{
    len stride;
    const float *w = turn(net, layer, &stride);
    Left left = {d, padded(layer.outputs), 0};
    product(net->batch, stride, layer.outputs, left, w, stride, add ? below : NULL, stride, below, stride, stride);
}

/* The first layer: dense inputs block by block, then one row of the matrix per looked-up category. */
static void first_layer(const Network *net, Linear layer, float *out)
{
    len stride, width = layer.outputs;
    const float *w = pack(net, layer, &stride);
    const float *start = w + layer.inputs * stride;
    len start_stride = 0;
    for (len k = 0; k < net->blocks; k++) {
        Block block = net->block[k];
        product(net->batch, stride, block.count, (Left){net->x + block.input, net->dense, 0},
                w + block.row * stride, stride, start, start_stride, out, stride, stride);
        start = out;
        start_stride = stride;
    }
    for (len b = 0; b < net->batch; b++)
        for (len k = 0; k < net->lookups; k++) {
            const float *row = w + net->looked_up[b * net->lookups + k] * stride;
            for (len o = 0; o < width; o++) out[b * stride + o] += row[o];
        }
}

static void first_slopes(const Network *net, Linear layer, const float *d)
{
    static const float one = 1.0f;
    len width = layer.outputs, stride = padded(width);
    float *g = slopes(net, layer);
    if (net->lookups)
        memset(g, 0, (size_t)(layer.inputs * width) * sizeof(float));
    for (len k = 0; k < net->blocks; k++) {
        Block block = net->block[k];
        outer_sums(net, block.count, width, net->x + block.input, net->dense, d, g + block.row * width);
    }
    outer_sums(net, 1, width, &one, 0, d, g + layer.inputs * width);
    for (len b = 0; b < net->batch; b++)
        for (len k = 0; k < net->lookups; k++) {
            float *row = g + net->looked_up[b * net->lookups + k] * width;
            for (len o = 0; o < width; o++) row[o] += d[b * stride + o];
        }
}

static void tower_forward(const Network *net, int tower)
{
    for (int k = 0; k < net->layers; k++) {
        Linear layer = net->trunk[tower][k];
        if (k == 0)
            first_layer(net, layer, net->z[tower][0]);
        else
            linear(net, layer, net->h[tower][k - 1], net->z[tower][k]);
        activate(net->activation, net->batch * padded(layer.outputs), net->z[tower][k], net->h[tower][k]);
    }
}

/* From the slope of the last layer in d[0] down to the weights; d[0] and d[1] take turns. */
static void tower_backward(const Network *net, int tower)
{
    float *d = net->d[0], *next = net->d[1];
    for (int k = net->layers - 1; k >= 0; k--) {
        Linear layer = net->trunk[tower][k];
        deactivate(net->activation, net->batch * padded(layer.outputs), net->z[tower][k], net->h[tower][k], d);
        if (k == 0) {
            first_slopes(net, layer, d);
            return;
        }
        linear_slopes(net, layer, net->h[tower][k - 1], d);
        linear_back(net, layer, d, next, 0);
        float *spare = d;
        d = next;
        next = spare;
    }
}

INLINE const float *actor_out(const Network *net) { return net->h[0][net->layers - 1]; }
INLINE const float *critic_out(const Network *net) { return net->h[net->towers - 1][net->layers - 1]; }

static void predict(const Network *net, float *values)
{
    linear(net, net->value, critic_out(net), net->critic);
    for (len b = 0; b < net->batch; b++) values[b] = net->critic[b * LANES];
}

/* ---------------------------------------------------------------- categorical choices */

/* log p and p [B, parts, widest] from the logits; choices that are illegal or padding get p = 0. */
static void categorical(const Network *net)
{
    len stride = padded(net->head.outputs), widest = net->widest;
    for (len b = 0; b < net->batch; b++) {
        const float *logit = net->raw + b * stride;
        for (len part = 0; part < net->parts; part++) {
            len at = (b * net->parts + part) * widest, choices = net->choices[part];
            float *log_p = net->log_p + at, *p = net->p + at;
            float top = -INFINITY, total = 0;
            for (len c = 0; c < widest; c++) {
                int banned = c >= choices || (net->illegal && net->illegal[at + c]);
                log_p[c] = banned ? ILLEGAL : logit[c];
                top = log_p[c] > top ? log_p[c] : top;
            }
            for (len c = 0; c < widest; c++) {
                log_p[c] -= top;
                p[c] = expf(log_p[c]);
                total += p[c];
            }
            float log_total = logf(total);
            for (len c = 0; c < widest; c++) {
                p[c] /= total;
                log_p[c] -= log_total;
            }
            logit += choices;
        }
    }
}

static void choose(const Network *net, const float *noise, int64_t *actions)
{
    for (len i = 0; i < net->batch * net->parts; i++) {
        const float *log_p = net->log_p + i * net->widest;
        len best = 0;
        float highest = -INFINITY;
        for (len c = 0; c < net->widest; c++) {
            float score = log_p[c] + (noise ? noise[i * net->widest + c] : 0);
            if (score > highest) {
                highest = score;
                best = c;
            }
        }
        actions[i] = best;
    }
}

/* False if an action is none of the choices. */
static int choices_log_prob(const Network *net, const int64_t *actions, float *log_probs)
{
    for (len b = 0; b < net->batch; b++) {
        log_probs[b] = 0;
        for (len part = 0; part < net->parts; part++) {
            len i = b * net->parts + part;
            if (actions[i] < 0 || actions[i] >= net->choices[part])
                return 0;
            net->chosen[i] = actions[i];
            log_probs[b] += net->log_p[i * net->widest + actions[i]];
        }
    }
    return 1;
}

static void choices_entropy(const Network *net, float *entropy)
{
    for (len b = 0; b < net->batch; b++) {
        entropy[b] = 0;
        for (len part = 0; part < net->parts; part++) {
            len i = b * net->parts + part;
            float sum = 0;
            for (len c = 0; c < net->widest; c++) sum += net->p[i * net->widest + c] * net->log_p[i * net->widest + c];
            net->part_entropy[i] = -sum;
            entropy[b] -= sum;
        }
    }
}

/* ∂ log p(a) = [a] − p and ∂H = −p (log p + H), per part, with respect to the logits. */
static void choices_slopes(const Network *net, const float *d_log_probs, float d_entropy)
{
    len stride = padded(net->head.outputs);
    for (len b = 0; b < net->batch; b++) {
        float *d = net->d_raw + b * stride, slope = d_log_probs[b];
        for (len part = 0; part < net->parts; part++) {
            len i = b * net->parts + part, at = i * net->widest;
            for (len c = 0; c < net->choices[part]; c++) {
                float p = net->p[at + c];
                d[c] = (c == net->chosen[i] ? slope : 0) - p * slope;
                d[c] -= d_entropy * p * (net->log_p[at + c] + net->part_entropy[i]);
                if (net->illegal && net->illegal[at + c])
                    d[c] = 0; /* matters only where nothing at all is legal */
            }
            d += net->choices[part];
        }
    }
}

/* ---------------------------------------------------------------- Gaussian actions */

static void draw(const Network *net, const float *noise, float *actions)
{
    len size = net->head.outputs, stride = padded(size);
    const float *log_std = (float *)net->values.buf + net->log_std;
    for (len a = 0; a < size; a++) {
        float std = expf(log_std[a]);
        for (len b = 0; b < net->batch; b++)
            actions[b * size + a] = net->raw[b * stride + a] + (noise ? noise[b * size + a] * std : 0);
    }
}

/* Leaves the distance from the mean, in standard deviations, in `p` [B, A]. */
static void box_log_prob(const Network *net, const float *actions, float *log_probs)
{
    len size = net->head.outputs, stride = padded(size);
    const float *log_std = (float *)net->values.buf + net->log_std;
    float constant = 0.5f * logf(2 * (float)M_PI) * (float)size;
    for (len a = 0; a < size; a++) constant += log_std[a];
    for (len b = 0; b < net->batch; b++) log_probs[b] = 0;
    for (len a = 0; a < size; a++) {
        float shrink = expf(-log_std[a]);
        for (len b = 0; b < net->batch; b++) {
            float u = actions[b * size + a], z = (u - net->raw[b * stride + a]) * shrink;
            net->p[b * size + a] = z;
            log_probs[b] -= 0.5f * z * z;
            if (net->squash)
                log_probs[b] -= log_slope(u);
        }
    }
    for (len b = 0; b < net->batch; b++) log_probs[b] -= constant;
}

static void box_entropy(const Network *net, float *entropy)
{
    len size = net->head.outputs, stride = padded(size);
    const float *log_std = (float *)net->values.buf + net->log_std;
    float gaussian = 0.5f * (logf(2 * (float)M_PI) + 1.0f) * (float)size;
    for (len a = 0; a < size; a++) gaussian += log_std[a];
    for (len b = 0; b < net->batch; b++) entropy[b] = gaussian;
    for (len a = 0; net->squash && a < size; a++) {
        float std = expf(log_std[a]);
        for (len b = 0; b < net->batch; b++) {
            float lost[NODES], sum = 0;
            for (int k = 0; k < NODES; k++)
                lost[k] = net->weight[k] * log_slope(net->raw[b * stride + a] + std * net->node[k]);
            for (int k = 0; k < NODES; k++) sum += lost[k];
            entropy[b] += sum;
        }
    }
}

/* ∂ log p = z/σ for the mean and z² − 1 for log σ; squashing adds to the slope of the entropy. */
static void box_slopes(const Network *net, const float *d_log_probs, float d_entropy)
{
    len size = net->head.outputs, stride = padded(size);
    const float *log_std = (float *)net->values.buf + net->log_std;
    for (len a = 0; a < size; a++) {
        float std = expf(log_std[a]), shrink = expf(-log_std[a]);
        double spread = (double)d_entropy * (double)net->batch; /* thousands of terms: a float would lose digits */
        for (len b = 0; b < net->batch; b++) {
            float z = net->p[b * size + a], slope = z * shrink * d_log_probs[b];
            spread += (z * z - 1.0f) * d_log_probs[b];
            if (net->squash && d_entropy != 0) {
                float pull[NODES];
                for (int k = 0; k < NODES; k++)
                    pull[k] = 2.0f * net->weight[k] * quick_tanh(net->raw[b * stride + a] + std * net->node[k]);
                for (int k = 0; k < NODES; k++) {
                    slope -= d_entropy * pull[k];
                    spread -= d_entropy * pull[k] * std * net->node[k];
                }
            }
            net->d_raw[b * stride + a] = slope;
        }
        ((float *)net->grads.buf)[net->log_std + a] = (float)spread;
    }
}

/* ---------------------------------------------------------------- arrays from Python */

typedef struct {
    Py_buffer view[10];
    int count;
} Held;

static void release(Held *held)
{
    while (held->count) PyBuffer_Release(&held->view[--held->count]);
}

/* The buffer of an array of floats 'f', doubles 'd', int64 'l' or booleans '?'; NULL with an error set. */
static Py_buffer *hold(Held *held, PyObject *array, char kind, int dims, int flags)
{
    Py_buffer *view = &held->view[held->count];
    if (PyObject_GetBuffer(array, view, flags | PyBUF_FORMAT) < 0)
        return NULL;
    held->count++;
    char found = view->format[0] == 'q' ? 'l' : view->format[0];
    len size = kind == 'f' ? 4 : kind == '?' ? 1 : 8;
    if (found != kind || view->itemsize != size || view->ndim != dims) {
        PyErr_Format(PyExc_ValueError, "expected %d dimensions of '%c', got %d of '%s'", dims, kind, view->ndim,
                     view->format);
        return NULL;
    }
    return view;
}

/* The data of a contiguous array with `count` numbers. */
static void *numbers(Held *held, PyObject *array, char kind, int dims, len count, int writable)
{
    Py_buffer *view = hold(held, array, kind, dims, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0));
    if (view && view->len != count * view->itemsize) {
        PyErr_Format(PyExc_ValueError, "expected %zd numbers, got %zd", count, view->len / view->itemsize);
        return NULL;
    }
    return view ? view->buf : NULL;
}

static int expect(len given, len wanted)
{
    if (given != wanted)
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", wanted, given);
    return given == wanted;
}

/* ---------------------------------------------------------------- work arrays */

typedef struct {
    float *memory; /* NULL while only the size is asked for */
    len used;
} Arena;

static float *carve(Arena *arena, len count)
{
    float *at = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += (count + 15) / 16 * 16;
    return at;
}

INLINE len larger(len a, len b) { return a > b ? a : b; }

static len packed_size(Linear layer)
{
    return larger((layer.inputs + 1) * padded(layer.outputs), layer.outputs * padded(layer.inputs));
}

static void lay_out(Network *net, len room, Arena *arena)
{
    int needs_z = net->activation == SILU || net->activation == GELU;
    len widest = 0, packed = larger(packed_size(net->head), packed_size(net->value));
    len cells = net->box ? net->head.outputs : net->parts * net->widest;
    for (int t = 0; t < net->towers; t++)
        for (int k = 0; k < net->layers; k++) {
            len width = padded(net->trunk[t][k].outputs);
            net->h[t][k] = carve(arena, room * width);
            net->z[t][k] = needs_z ? carve(arena, room * width) : net->h[t][k];
            widest = larger(widest, width);
            packed = larger(packed, packed_size(net->trunk[t][k]));
        }
    net->x = carve(arena, room * net->dense);
    net->d[0] = carve(arena, room * widest);
    net->d[1] = carve(arena, room * widest);
    net->raw = carve(arena, room * padded(net->head.outputs));
    net->d_raw = carve(arena, room * padded(net->head.outputs));
    net->critic = carve(arena, room * LANES);
    net->log_p = carve(arena, room * cells);
    net->p = carve(arena, room * cells);
    net->part_entropy = carve(arena, room * net->parts);
    net->packed = carve(arena, packed);
    net->chosen = (int64_t *)carve(arena, 2 * room * net->parts);
    net->looked_up = (int64_t *)carve(arena, 2 * room * net->lookups);
    net->masked = (unsigned char *)carve(arena, (room * cells + 3) / 4);
}

static int reserve(Network *net, len batch)
{
    net->batch = batch;
    net->has_values = net->has_log_probs = 0;
    if (batch <= net->room)
        return 1;
    Arena arena = {NULL, 0};
    lay_out(net, batch, &arena);
    free(net->memory);
    size_t bytes = (size_t)arena.used * sizeof(float);
    net->memory = aligned_alloc(64, bytes);
    net->room = net->memory ? batch : 0;
    if (!net->memory) {
        PyErr_NoMemory();
        return 0;
    }
    memset(net->memory, 0, bytes);
    arena = (Arena){net->memory, 0};
    lay_out(net, batch, &arena);
    return 1;
}

/* Take a batch: dense features [inputs + 1, B], lookups [parts, B] or None, illegal choices or None. */
static int take(Network *net, Held *held, PyObject *dense, PyObject *lookups, PyObject *illegal)
{
    Py_buffer *view = hold(held, dense, 'f', 2, PyBUF_STRIDES);
    if (!view)
        return 0;
    if (view->shape[0] != net->dense + 1) {
        PyErr_SetString(PyExc_ValueError, "these features are not this network's");
        return 0;
    }
    if (!reserve(net, view->shape[1]))
        return 0;
    for (len i = 0; i < net->dense; i++) {
        const char *row = (char *)view->buf + i * view->strides[0];
        for (len b = 0; b < net->batch; b++)
            net->x[b * net->dense + i] = *(const float *)(row + b * view->strides[1]);
    }
    net->illegal = NULL;
    if (illegal != Py_None) {
        len cells = net->batch * net->parts * net->widest;
        const void *masked = numbers(held, illegal, '?', 2, cells, 0);
        if (!masked)
            return 0;
        net->illegal = memcpy(net->masked, masked, (size_t)cells);
    }
    if (!net->lookups)
        return 1;
    view = hold(held, lookups, 'l', 2, PyBUF_STRIDES);
    if (!view)
        return 0;
    if (view->shape[0] != net->lookups || view->shape[1] != net->batch) {
        PyErr_SetString(PyExc_ValueError, "these lookups are not this network's");
        return 0;
    }
    for (len k = 0; k < net->lookups; k++)
        for (len b = 0; b < net->batch; b++) {
            int64_t row = *(int64_t *)((char *)view->buf + k * view->strides[0] + b * view->strides[1]);
            if (row < 0 || row >= net->trunk[0][0].inputs) {
                PyErr_SetString(PyExc_IndexError, "a category is out of range");
                return 0;
            }
            net->looked_up[b * net->lookups + k] = row;
        }
    return 1;
}

static void head_forward(Network *net)
{
    linear(net, net->head, actor_out(net), net->raw);
    if (!net->box)
        categorical(net);
}

static int head_log_prob(Network *net, const void *actions, float *log_probs)
{
    if (net->box)
        box_log_prob(net, actions, log_probs);
    else if (!choices_log_prob(net, actions, log_probs)) {
        PyErr_SetString(PyExc_IndexError, "an action is none of the choices");
        return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- methods */

static len action_size(const Network *net) { return net->box ? net->head.outputs : net->parts; }

/* evaluate(dense, lookups, illegal, actions, log_probs, entropy, values): the last three are written. */
static PyObject *network_evaluate(Network *net, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    unsigned mode = flush_subnormals();
    int done = 0;
    if (!expect(given, 7) || !take(net, &held, args[0], args[1], args[2]))
        goto out;
    len batch = net->batch;
    const void *actions = numbers(&held, args[3], net->box ? 'f' : 'l', 2, batch * action_size(net), 0);
    float *log_probs = actions ? numbers(&held, args[4], 'f', 1, batch, 1) : NULL;
    float *entropy = log_probs ? numbers(&held, args[5], 'f', 1, batch, 1) : NULL;
    float *values = entropy ? numbers(&held, args[6], 'f', 1, batch, 1) : NULL;
    if (!values)
        goto out;
    for (int t = 0; t < net->towers; t++) tower_forward(net, t);
    predict(net, values);
    head_forward(net);
    if (!head_log_prob(net, actions, log_probs))
        goto out;
    if (net->box)
        box_entropy(net, entropy);
    else
        choices_entropy(net, entropy);
    net->has_values = net->has_log_probs = done = 1;
out:
    restore_subnormals(mode);
    release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* critic(dense, lookups, values): the last is written. */
static PyObject *network_critic(Network *net, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    unsigned mode = flush_subnormals();
    float *values = NULL;
    if (!expect(given, 3) || !take(net, &held, args[0], args[1], Py_None))
        goto out;
    values = numbers(&held, args[2], 'f', 1, net->batch, 1);
    if (!values)
        goto out;
    tower_forward(net, net->towers - 1);
    predict(net, values);
    net->has_values = 1;
out:
    restore_subnormals(mode);
    release(&held);
    return values ? Py_NewRef(Py_None) : NULL;
}

/* act(dense, lookups, illegal, noise, actions, log_probs, values): the last three are written. With None for
   the noise the actions are the likeliest, and the last two are left alone. */
static PyObject *network_act(Network *net, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    unsigned mode = flush_subnormals();
    int done = 0, greedy = given > 3 && args[3] == Py_None;
    if (!expect(given, 7) || !take(net, &held, args[0], args[1], args[2]))
        goto out;
    len batch = net->batch, size = action_size(net);
    float *noise = NULL, *log_probs = NULL, *values = NULL;
    void *actions = numbers(&held, args[4], net->box ? 'f' : 'l', 2, batch * size, 1);
    if (!actions)
        goto out;
    if (!greedy) {
        noise = numbers(&held, args[3], 'f', net->box ? 2 : 3, batch * size * (net->box ? 1 : net->widest), 0);
        log_probs = noise ? numbers(&held, args[5], 'f', 1, batch, 1) : NULL;
        values = log_probs ? numbers(&held, args[6], 'f', 1, batch, 1) : NULL;
        if (!values)
            goto out;
    }
    tower_forward(net, 0);
    head_forward(net);
    if (net->box)
        draw(net, noise, actions);
    else
        choose(net, noise, actions);
    if (!greedy) {
        if (net->towers == 2)
            tower_forward(net, 1);
        predict(net, values);
        head_log_prob(net, actions, log_probs);
    }
    done = 1;
out:
    restore_subnormals(mode);
    release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* backward(d_log_probs, d_entropy, d_values): slopes of the last pass; None for what has none. */
static PyObject *network_backward(Network *net, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    unsigned mode = flush_subnormals();
    int done = 0;
    const float *d_log_probs = NULL, *d_values = NULL;
    if (!expect(given, 3))
        goto out;
    double d_entropy = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred())
        goto out;
    if (args[0] != Py_None && !(d_log_probs = numbers(&held, args[0], 'f', 1, net->batch, 0)))
        goto out;
    if (args[2] != Py_None && !(d_values = numbers(&held, args[2], 'f', 1, net->batch, 0)))
        goto out;
    if ((d_log_probs && !net->has_log_probs) || (d_values && !net->has_values)) {
        PyErr_SetString(PyExc_RuntimeError, "the last pass did not compute what this slope belongs to");
        goto out;
    }
    if (d_log_probs) {
        if (net->box)
            box_slopes(net, d_log_probs, (float)d_entropy);
        else
            choices_slopes(net, d_log_probs, (float)d_entropy);
        linear_slopes(net, net->head, actor_out(net), net->d_raw);
        linear_back(net, net->head, net->d_raw, net->d[0], 0);
        if (net->towers == 2 || !d_values)
            tower_backward(net, 0);
    }
    if (d_values) {
        for (len b = 0; b < net->batch; b++) net->critic[b * LANES] = d_values[b];
        linear_slopes(net, net->value, critic_out(net), net->critic);
        linear_back(net, net->value, net->critic, net->d[0], net->towers == 1 && d_log_probs);
        tower_backward(net, net->towers - 1);
    }
    done = 1;
out:
    restore_subnormals(mode);
    release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* ---------------------------------------------------------------- the type */

static Linear as_linear(const int64_t *three) { return (Linear){three[0], three[1], three[2]}; }

static int fits(const Network *net, Linear layer)
{
    len end = layer.at + (layer.inputs + 1) * layer.outputs, size = net->values.len / (len)sizeof(float);
    return layer.at >= 0 && layer.inputs >= 0 && layer.outputs > 0 && end <= size;
}

/* Copy of the data of a contiguous array, to be freed. */
static void *copied(Py_buffer *view)
{
    void *copy = malloc((size_t)view->len + 1);
    return copy ? memcpy(copy, view->buf, (size_t)view->len) : NULL;
}

/* Everything but the two flat buffers, checked against their size. */
static int describe(Network *net, Held *held, PyObject *trunk, PyObject *ends, PyObject *blocks, PyObject *choices,
                    PyObject *rule)
{
    int flags = PyBUF_C_CONTIGUOUS;
    Py_buffer *layers = hold(held, trunk, 'l', 3, flags); /* [towers, layers, (at, inputs, outputs)] */
    const int64_t *two = layers ? numbers(held, ends, 'l', 2, 6, 0) : NULL;
    Py_buffer *rows = two ? hold(held, blocks, 'l', 2, flags) : NULL;
    Py_buffer *parts = rows ? hold(held, choices, 'l', 1, flags) : NULL;
    const float *nodes = parts ? numbers(held, rule, 'f', 2, 2 * NODES, 0) : NULL;
    if (!nodes)
        return 0;
    net->towers = (int)layers->shape[0];
    net->layers = (int)layers->shape[1];
    int sound = net->towers >= 1 && net->towers <= 2 && net->layers >= 1 && net->layers <= MOST_LAYERS;
    for (int i = 0; sound && i < net->towers * net->layers; i++) {
        Linear layer = as_linear((int64_t *)layers->buf + 3 * i);
        net->trunk[i / net->layers][i % net->layers] = layer;
        sound = fits(net, layer);
    }
    net->head = as_linear(two);
    net->value = as_linear(two + 3);
    net->blocks = rows->shape[0];
    net->parts = parts->shape[0];
    net->block = copied(rows);
    net->choices = copied(parts);
    for (len i = 0; i < net->parts; i++) net->widest = larger(net->widest, net->choices[i]);
    memcpy(net->node, nodes, sizeof net->node);
    memcpy(net->weight, nodes + NODES, sizeof net->weight);
    if (!sound || !fits(net, net->head) || !fits(net, net->value) || net->value.outputs != 1)
        PyErr_SetString(PyExc_ValueError, "the layers do not fit the buffers");
    return !PyErr_Occurred();
}

static PyObject *network_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"values", "grads",   "trunk",   "ends",       "blocks",  "choices", "rule",
                            "dense",  "lookups", "log_std", "activation", "squash", NULL};
    PyObject *values, *grads, *trunk, *ends, *blocks, *choices, *rule;
    len dense, lookups, log_std;
    int activation, squash;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOOOnnnip", names, &values, &grads, &trunk, &ends, &blocks,
                                     &choices, &rule, &dense, &lookups, &log_std, &activation, &squash))
        return NULL;
    Network *net = (Network *)type->tp_alloc(type, 0);
    if (!net)
        return NULL;
    Held held = {.count = 0};
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;
    net->dense = dense;
    net->lookups = lookups;
    net->log_std = log_std;
    net->activation = (enum activation)activation;
    net->squash = squash;
    int sound = !PyObject_GetBuffer(values, &net->values, flags) && !PyObject_GetBuffer(grads, &net->grads, flags) &&
                describe(net, &held, trunk, ends, blocks, choices, rule);
    net->box = sound && net->parts == 0;
    release(&held);
    if (sound && net->block && net->choices)
        return (PyObject *)net;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_DECREF(net);
    return NULL;
}

static void network_dealloc(Network *net)
{
    free(net->memory);
    free(net->block);
    free(net->choices);
    if (net->values.obj)
        PyBuffer_Release(&net->values);
    if (net->grads.obj)
        PyBuffer_Release(&net->grads);
    Py_TYPE(net)->tp_free((PyObject *)net);
}

#define METHOD(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}

static PyMethodDef network_methods[] = {
    METHOD("evaluate", network_evaluate), METHOD("critic", network_critic), METHOD("act", network_act),
    METHOD("backward", network_backward), {NULL, NULL, 0, NULL},
};

static PyTypeObject NetworkType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gymsolve._kernels.Network",
    .tp_basicsize = sizeof(Network),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = network_new,
    .tp_dealloc = (destructor)network_dealloc,
    .tp_methods = network_methods,
};

/* ---------------------------------------------------------------- the rest of a gradient step */

typedef struct {
    double clip, vf_coef, huber_delta, clip_value; /* infinite where there is no limit */
} Limits;

/* Half-squared error with a bounded slope. */
INLINE float value_error(float gap, float delta, float *slope)
{
    *slope = gap < -delta ? -delta : gap > delta ? delta : gap;
    return *slope * (gap - 0.5f * *slope);
}

INLINE float critic_error(float value, float target, float old, Limits limits, float *slope)
{
    float delta = (float)limits.huber_delta, limit = (float)limits.clip_value, unused;
    float loss = value_error(value - target, delta, slope);
    if (isinf(limit))
        return loss;
    float change = value - old;
    float near = old + (change < -limit ? -limit : change > limit ? limit : change);
    float clipped = value_error(near - target, delta, &unused);
    *slope *= (float)(fabsf(change) <= limit || loss > clipped);
    return loss < clipped ? clipped : loss;
}

/* ppo_loss(columns [4, B], log_probs, entropy, values, d_log_probs, d_values, standardize, clip, vf_coef,
   huber_delta, clip_value): the slopes are written; means of KL, gain, value loss, entropy, clipped and ratio. */
static PyObject *ppo_loss(PyObject *module, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    PyObject *means = NULL;
    if (!expect(given, 11))
        return NULL;
    Py_buffer *columns = hold(&held, args[0], 'f', 2, PyBUF_STRIDES);
    if (!columns)
        goto out;
    len rows = columns->shape[1];
    float *column[5];
    for (int i = 0; i < 5; i++)
        if (!(column[i] = numbers(&held, args[1 + i], 'f', 1, rows, i > 2)))
            goto out;
    const float *log_probs = column[0], *entropy = column[1], *values = column[2];
    float *d_log_probs = column[3], *d_values = column[4];
    int standardize = PyObject_IsTrue(args[6]);
    Limits limits = {PyFloat_AsDouble(args[7]), PyFloat_AsDouble(args[8]), PyFloat_AsDouble(args[9]),
                     PyFloat_AsDouble(args[10])};
    if (PyErr_Occurred())
        goto out;
    if (columns->shape[0] != 4 || (rows > 1 && columns->strides[1] != sizeof(float))) {
        PyErr_SetString(PyExc_ValueError, "expected four contiguous columns");
        goto out;
    }
    const float *old[4];
    for (int i = 0; i < 4; i++) old[i] = (float *)((char *)columns->buf + i * columns->strides[0]);
    double mean = 0, square = 0, scale = 1;
    if (standardize) {
        for (len b = 0; b < rows; b++) mean += old[1][b];
        mean /= (double)rows;
        for (len b = 0; b < rows; b++) square += (old[1][b] - mean) * (old[1][b] - mean);
        scale = sqrt(square / (double)rows) + 1e-8;
    }
    double kl = 0, gained = 0, missed = 0, spread = 0, clipped = 0, ratios = 0;
    float low = (float)(1 - limits.clip), high = (float)(1 + limits.clip), share = (float)(-1.0 / (double)rows);
    float weight = (float)(limits.vf_coef / (double)rows);
    for (len b = 0; b < rows; b++) {
        float advantage = (float)((old[1][b] - mean) / scale), slope;
        float log_ratio = log_probs[b] - old[0][b], ratio = expf(log_ratio), change = ratio - 1.0f;
        float gain = advantage * ratio;
        float kept = advantage * (ratio < low ? low : ratio > high ? high : ratio);
        kl += change - log_ratio;
        gained += gain > kept ? kept : gain;
        missed += critic_error(values[b], old[2][b], old[3][b], limits, &slope);
        spread += entropy[b];
        clipped += fabsf(change) > (float)limits.clip;
        ratios += ratio;
        /* Where the clipped branch is the smaller one, nothing flows back. */
        d_log_probs[b] = gain * (float)(gain <= kept) * share;
        d_values[b] = slope * weight;
    }
    means = Py_BuildValue("(dddddd)", kl / (double)rows, gained / (double)rows, missed / (double)rows,
                          spread / (double)rows, clipped / (double)rows, ratios / (double)rows);
out:
    release(&held);
    return means;
}

/* adam(values, grads, exp_avg, exp_avg_sq, factor, beta1, beta2, eps, rate, decay, shrink), all float32 and of one
   length: g = factor·grad + decay·value; value ← shrink·value − rate · m / (√v + eps). */
static PyObject *adam(PyObject *module, PyObject *const *args, len given)
{
    Held held = {.count = 0};
    float *array[4] = {NULL}, number[7];
    unsigned mode = flush_subnormals();
    int done = 0;
    if (!expect(given, 11))
        goto out;
    len count = 0;
    for (int i = 0; i < 4; i++) {
        Py_buffer *view = hold(&held, args[i], 'f', 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
        if (!view)
            goto out;
        if (i && view->shape[0] != count) {
            PyErr_SetString(PyExc_ValueError, "the buffers differ in length");
            goto out;
        }
        count = view->shape[0];
        array[i] = view->buf;
    }
    for (int i = 0; i < 7; i++) number[i] = (float)PyFloat_AsDouble(args[4 + i]);
    if (PyErr_Occurred())
        goto out;
    float *restrict value = array[0], *restrict mean = array[2], *restrict square = array[3];
    const float *restrict grad = array[1];
    float factor = number[0], beta1 = number[1], beta2 = number[2], eps = number[3], rate = number[4];
    float decay = number[5], shrink = number[6], fresh1 = (float)(1.0 - PyFloat_AsDouble(args[5]));
    float fresh2 = (float)(1.0 - PyFloat_AsDouble(args[6]));
    for (len i = 0; i < count; i++) {
        float g = factor * grad[i] + decay * value[i];
        mean[i] = beta1 * mean[i] + fresh1 * g;
        square[i] = beta2 * square[i] + fresh2 * g * g;
        value[i] = shrink * value[i] - rate * mean[i] / (sqrtf(square[i]) + eps);
    }
    done = 1;
out:
    restore_subnormals(mode);
    release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* ---------------------------------------------------------------- the module */

/* In convolutions.c. */
PyObject *convolve(PyObject *module, PyObject *const *args, len given);
PyObject *convolve_back(PyObject *module, PyObject *const *args, len given);

/* In envs/families/classic_control/classic.c. */
extern PyTypeObject ClassicType;

static PyMethodDef functions[] = {
    METHOD("ppo_loss", ppo_loss), METHOD("adam", adam), METHOD("convolve", convolve),
    METHOD("convolve_back", convolve_back), {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "gymsolve._kernels", .m_size = -1, .m_methods = functions,
};

/* A build for one processor must not crash on an older one. */
static int runs_here(void)
{
#if defined(__x86_64__) || defined(__i386__)
#if defined(__AVX512F__)
    if (!__builtin_cpu_supports("avx512f"))
        return 0;
#endif
#if defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2"))
        return 0;
#endif
#if defined(__FMA__)
    if (!__builtin_cpu_supports("fma"))
        return 0;
#endif
#endif
    return 1;
}

PyMODINIT_FUNC PyInit__kernels(void)
{
    if (!runs_here()) {
        PyErr_SetString(PyExc_ImportError, "built for another processor");
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyType_Ready(&NetworkType) < 0 || PyType_Ready(&ClassicType) < 0)
        return NULL;
    PyModule_AddObjectRef(module, "Network", (PyObject *)&NetworkType);
    PyModule_AddObjectRef(module, "Classic", (PyObject *)&ClassicType);
    PyModule_AddStringConstant(module, "SOURCE", SOURCE_DIGEST);
    PyModule_AddIntConstant(module, "LANES", LANES);
    return module;
}
