/* Stacks of convolutions with ReLUs over uint8 pictures, forwards and backwards.

   A convolution whose stride divides its kernel is one of stride 1 over folded pictures: stride × stride
   neighbours become channels of one place. What lies under one row of the kernel is then contiguous, and
   all three passes are small matrix products over shifted rows, with vectors along outputs or inputs.
   Pictures pass through all layers one by one, so that whatever they leave stays in the cache.

   Pictures are divided among the threads that torch has: others would have to fight for the cores with
   torch's, which keep spinning for a while after their own work. OpenMP may give fewer threads than it is
   asked for, so each takes parts until none is left; a part writes rows and slopes of its own.
   nn/convolutions.py finds torch's OpenMP and lays out weights and slopes. */

#include "vectors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#define MOST 10 /* 10 × 2 sums, in 32 registers */
#define UNROLL _Pragma("GCC unroll 10")
#else
#define MOST 6 /* 6 × 2 sums, 2 vectors and a factor fill 16 registers */
#define UNROLL _Pragma("GCC unroll 6")
#endif
#define PAIR _Pragma("GCC unroll 2")
#define BLOCK (2 * LANES)

enum { MOST_LAYERS = 8, WIDE = 512 /* pixels */, NEAR = 24 * 1024 / 4 /* floats that stay in the nearest cache */ };
typedef uint8_t quads __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(16)));
#if defined(__clang__)
#define REORDER(bytes, ...) __builtin_shufflevector(bytes, bytes, __VA_ARGS__)
#else
#define REORDER(bytes, ...) __builtin_shuffle(bytes, (quads){__VA_ARGS__})
#endif
typedef int32_t ivec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct {
    len channels, height, width, outputs, stride;
    len taps;                  /* of the kernel, over folded places, in each direction */
    len grid_h, grid_w, depth; /* the folded input: places, and numbers per place */
    len out_h, out_w;
    len span;                  /* taps × depth: numbers under one row of the kernel */
} Layer;

typedef struct {
    int layers;
    Layer layer[MOST_LAYERS];
    len weights, biases; /* of all layers */
    len kept;            /* numbers that backward needs of a picture: inputs of all layers but the first */
    len features, widest_in, widest_out;
} Stack;

INLINE len in_size(const Layer *l) { return l->grid_h * l->grid_w * l->depth; }
INLINE len out_size(const Layer *l) { return l->out_h * l->out_w * l->outputs; }
INLINE len weight_size(const Layer *l) { return l->taps * l->span * l->outputs; }

/* ---------------------------------------------------------------- tiles: sums that stay in registers */

/* out [rows, outputs] = ReLU(bias + what the kernel sees at `rows` neighbouring places · w). */
INLINE void forward_tile(const int rows, const int vecs, const Layer *l, const float *in, const float *w,
                         const float *bias, float *out)
{
    vec sums[MOST][2];
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++) sums[r][v] = *(const vec *)(bias + v * LANES);
    for (len tap = 0; tap < l->taps; tap++, in += l->grid_w * l->depth)
        for (len j = 0; j < l->span; j++, w += vecs * LANES) {
            vec right[2];
            PAIR for (int v = 0; v < vecs; v++) right[v] = *(const vec *)(w + v * LANES);
            UNROLL for (int r = 0; r < rows; r++) {
                float left = in[r * l->depth + j];
                PAIR for (int v = 0; v < vecs; v++) sums[r][v] = add_product(sums[r][v], left, right[v]);
            }
        }
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++)
            *(vec *)(out + r * l->outputs + v * LANES) = (vec)((ivec)sums[r][v] & ~(sums[r][v] < 0));
}

/* d [rows, numbers under the kernel] += g [rows, outputs] · w turned; the rows of d overlap. */
INLINE void back_tile(const int rows, const int vecs, const Layer *l, const float *g, const float *w, float *d)
{
    vec sums[MOST][2];
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++) sums[r][v] = (vec){0};
    for (len o = 0; o < l->outputs; o++, w += vecs * LANES) {
        vec right[2];
        PAIR for (int v = 0; v < vecs; v++) right[v] = *(const vec *)(w + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            float left = g[r * l->outputs + o];
            PAIR for (int v = 0; v < vecs; v++) sums[r][v] = add_product(sums[r][v], left, right[v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++) *(vec *)(d + r * l->depth + v * LANES) += sums[r][v];
}

/* dw [rows of outputs, inputs] += the sum over `lines` of places of g ⊗ in. */
INLINE void slope_tile(const int rows, const int vecs, const Layer *l, len lines, const float *in,
                       const float *g, float *dw)
{
    vec sums[MOST][2];
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++) sums[r][v] = *(const vec *)(dw + (r * vecs + v) * LANES);
    for (len y = 0; y < lines; y++, in += (l->grid_w - l->out_w) * l->depth)
        for (len x = 0; x < l->out_w; x++, in += l->depth, g += l->outputs) {
            vec right[2];
            PAIR for (int v = 0; v < vecs; v++) right[v] = *(const vec *)(in + v * LANES);
            UNROLL for (int r = 0; r < rows; r++) {
                float left = g[r];
                PAIR for (int v = 0; v < vecs; v++) sums[r][v] = add_product(sums[r][v], left, right[v]);
            }
        }
    UNROLL for (int r = 0; r < rows; r++)
        PAIR for (int v = 0; v < vecs; v++) *(vec *)(dw + (r * vecs + v) * LANES) = sums[r][v];
}

#define CASE(n, tile, ...) case n: tile(n, __VA_ARGS__); break;
#define UP_TO_6(tile, ...)                                                                                 \
    CASE(6, tile, __VA_ARGS__) CASE(5, tile, __VA_ARGS__) CASE(4, tile, __VA_ARGS__)                       \
    CASE(3, tile, __VA_ARGS__) CASE(2, tile, __VA_ARGS__) CASE(1, tile, __VA_ARGS__)
#if MOST == 10
#define BY_ROWS(tile, ...)                                                                                 \
    switch (rows) {                                                                                        \
        CASE(10, tile, __VA_ARGS__) CASE(9, tile, __VA_ARGS__) CASE(8, tile, __VA_ARGS__)                  \
        CASE(7, tile, __VA_ARGS__) UP_TO_6(tile, __VA_ARGS__)                                              \
    }
#else
#define BY_ROWS(tile, ...) switch (rows) { UP_TO_6(tile, __VA_ARGS__) }
#endif
#define TILE(tile, two, ...)                                                                               \
    if (two)                                                                                               \
        BY_ROWS(tile, 2, __VA_ARGS__)                                                                      \
    else                                                                                                   \
        BY_ROWS(tile, 1, __VA_ARGS__)

/* Of `left` rows, as many as keep the tiles alike: 7 are 4 and 3, not 6 and 1. */
INLINE int next_rows(len left)
{
    len tiles = (left + MOST - 1) / MOST;
    return (int)((left + tiles - 1) / tiles);
}

/* ---------------------------------------------------------------- one layer, one picture */

/* w: blocks of outputs, each [taps, span, block]. */
static void forward(const Layer *l, const float *in, const float *w, const float *bias, float *out)
{
    for (len o = 0; o < l->outputs; o += BLOCK) {
        int two = l->outputs - o > LANES;
        for (len y = 0; y < l->out_h; y++)
            for (len x = 0, rows; x < l->out_w; x += rows) {
                rows = next_rows(l->out_w - x);
                TILE(forward_tile, two, l, in + (y * l->grid_w + x) * l->depth, w, bias + o,
                     out + (y * l->out_w + x) * l->outputs + o)
            }
        w += l->taps * l->span * (two ? BLOCK : LANES);
    }
}

/* w: for every row of taps, blocks of inputs, each [outputs, block]. */
static void back(const Layer *l, const float *g, const float *w, float *d)
{
    memset(d, 0, (size_t)in_size(l) * sizeof(float));
    for (len tap = 0; tap < l->taps; tap++)
        for (len j = 0; j < l->span; j += BLOCK) {
            int two = l->span - j > LANES;
            for (len y = 0; y < l->out_h; y++)
                for (len x = 0, rows; x < l->out_w; x += rows) {
                    rows = next_rows(l->out_w - x);
                    TILE(back_tile, two, l, g + (y * l->out_w + x) * l->outputs, w,
                         d + ((y + tap) * l->grid_w + x) * l->depth + j)
                }
            w += l->outputs * (two ? BLOCK : LANES);
        }
}

/* dw: laid out like w of `back`; as many lines at a time as the nearest cache holds. */
static void slopes(const Layer *l, const float *in, const float *g, float *dw, float *d_bias)
{
    len most = NEAR / (l->out_w * (l->outputs + BLOCK));
    most = most < 1 ? 1 : most;
    for (len y = 0; y < l->out_h; y += most) {
        len lines = l->out_h - y < most ? l->out_h - y : most;
        float *to = dw;
        for (len tap = 0; tap < l->taps; tap++)
            for (len j = 0; j < l->span; j += BLOCK) {
                int two = l->span - j > LANES;
                for (len o = 0, rows; o < l->outputs; o += rows) {
                    rows = next_rows(l->outputs - o);
                    TILE(slope_tile, two, l, lines, in + (y + tap) * l->grid_w * l->depth + j,
                         g + y * l->out_w * l->outputs + o, to)
                    to += rows * (two ? BLOCK : LANES);
                }
            }
    }
    for (len place = 0; place < l->out_h * l->out_w; place++)
        for (len o = 0; o < l->outputs; o++) d_bias[o] += g[place * l->outputs + o];
}

/* ---------------------------------------------------------------- between layers */

/* One line of pixels, channels last, into every place's row of the fold. */
INLINE void spread(const len run, len places, len depth, const uint8_t *line, float *row)
{
    for (len place = 0; place < places; place++, line += run, row += depth)
        for (len i = 0; i < run; i++) row[i] = line[i];
}

/* One line of four planes, channels last. */
INLINE void weave(len pixels, const uint8_t *line, Py_ssize_t plane, uint8_t *woven)
{
    for (len x = 0; x < pixels; x += 4, line += 4, woven += 16) {
        uint32_t four[4];
        for (int c = 0; c < 4; c++) memcpy(&four[c], line + c * plane, 4);
        quads taken = (quads)(words){four[0], four[1], four[2], four[3]};
        *(quads *)woven = REORDER(taken, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    }
}

/* A picture [channels, height, width], of any strides, folded; places beyond its edge are 0. */
static void fold_picture(const Layer *l, const uint8_t *from, const Py_ssize_t *strides, float *to)
{
    len run = l->stride * l->channels;
    int packed = strides[1] == 1 && strides[3] == l->channels; /* channels last: a run is contiguous */
    int planes = strides[3] == 1 && l->channels == 4 && l->stride == 4 && l->width <= WIDE;
    _Alignas(16) uint8_t woven[4 * WIDE];
    len whole = packed || planes ? l->width / l->stride : 0;
    if (l->grid_h * l->stride > l->height || l->grid_w * l->stride > l->width)
        memset(to, 0, (size_t)in_size(l) * sizeof(float));
    for (len y = 0; y < l->height; y++) {
        const uint8_t *line = from + y * strides[2];
        float *row = to + y / l->stride * l->grid_w * l->depth + y % l->stride * run;
        if (planes) {
            weave(whole * 4, line, strides[1], woven);
            spread(16, whole, l->depth, woven, row);
        } else if (run == 16) /* four frames, or channels, at a stride of four: by far the commonest */
            spread(16, whole, l->depth, line, row);
        else
            spread(run, whole, l->depth, line, row);
        for (len x = whole * l->stride; x < l->width; x++)
            for (len c = 0; c < l->channels; c++)
                row[x / l->stride * l->depth + x % l->stride * l->channels + c] =
                    line[c * strides[1] + x * strides[3]];
    }
}

/* Where the place (y, x) of a layer's unfolded input lies in the folded one. */
INLINE len folded(const Layer *l, len y, len x)
{
    return (y / l->stride * l->grid_w + x / l->stride) * l->depth +
           (y % l->stride * l->stride + x % l->stride) * l->channels;
}

static void fold(const Layer *next, const float *from, float *to)
{
    if (next->grid_h * next->stride > next->height || next->grid_w * next->stride > next->width)
        memset(to, 0, (size_t)in_size(next) * sizeof(float));
    for (len y = 0; y < next->height; y++)
        for (len x = 0; x < next->width; x++, from += next->channels)
            memcpy(to + folded(next, y, x), from, (size_t)next->channels * sizeof(float));
}

/* g [places, channels]: the slope of a layer's input, unfolded, where the ReLU before it was open. */
static void unfold_slopes(const Layer *l, const float *d, const float *in, float *g)
{
    for (len y = 0; y < l->height; y++)
        for (len x = 0; x < l->width; x++, g += l->channels) {
            const float *slope = d + folded(l, y, x), *value = in + folded(l, y, x);
            for (len c = 0; c < l->channels; c++) g[c] = value[c] <= 0 ? 0 : slope[c];
        }
}

/* ---------------------------------------------------------------- all layers, one picture */

typedef struct {
    float *memory, *in, *d, *out, *g;
} Room;

static int make_room(const Stack *s, Room *room)
{
    len in = (s->widest_in + 15) / 16 * 16, out = (s->widest_out + 15) / 16 * 16;
    room->memory = aligned_alloc(64, (size_t)(2 * in + 2 * out) * sizeof(float));
    room->in = room->memory;
    room->d = room->in + in;
    room->out = room->d + in;
    room->g = room->out + out;
    return room->memory != NULL;
}

/* features [outputs, out_h, out_w] of the last layer; `kept` may be the room's. */
static void picture_forward(const Stack *s, const Room *room, const uint8_t *from, const Py_ssize_t *strides,
                            const float *w, const float *bias, float *kept, float *features)
{
    fold_picture(&s->layer[0], from, strides, room->in);
    const float *in = room->in;
    for (int k = 0; k < s->layers; k++) {
        const Layer *l = &s->layer[k];
        forward(l, in, w, bias, room->out);
        w += weight_size(l);
        bias += l->outputs;
        if (k + 1 < s->layers) {
            float *to = kept ? kept : k % 2 ? room->in : room->d;
            fold(l + 1, room->out, to);
            in = to;
            kept = kept ? kept + in_size(l + 1) : NULL;
        }
    }
    const Layer *last = &s->layer[s->layers - 1];
    len places = last->out_h * last->out_w;
    for (len o = 0; o < last->outputs; o++)
        for (len place = 0; place < places; place++)
            features[o * places + place] = room->out[place * last->outputs + o];
}

/* Adds to the slopes of all weights and biases. */
static void picture_back(const Stack *s, const Room *room, const uint8_t *from, const Py_ssize_t *strides,
                         const float *w, const float *kept, const float *features, const float *d_features,
                         float *dw, float *d_bias)
{
    const Layer *l = &s->layer[s->layers - 1];
    len places = l->out_h * l->out_w;
    for (len place = 0; place < places; place++)
        for (len o = 0; o < l->outputs; o++) {
            len at = o * places + place;
            room->g[place * l->outputs + o] = features[at] <= 0 ? 0 : d_features[at];
        }
    fold_picture(&s->layer[0], from, strides, room->in);
    const float *in = kept + s->kept;
    w += s->weights;
    dw += s->weights;
    d_bias += s->biases;
    for (; l >= s->layer; l--) {
        int first = l == s->layer;
        in = first ? room->in : in - in_size(l);
        w -= weight_size(l);
        dw -= weight_size(l);
        d_bias -= l->outputs;
        slopes(l, in, room->g, dw, d_bias);
        if (!first) {
            back(l, room->g, w, room->d);
            unfold_slopes(l, room->d, in, room->g);
        }
    }
}

/* ---------------------------------------------------------------- for Python */

INLINE len larger(len a, len b) { return a > b ? a : b; }

/* From rows of channels, height, width, outputs, kernel, stride; 0 if this code cannot serve them. */
static int read_stack(Stack *s, const int64_t *row, len layers)
{
    *s = (Stack){.layers = (int)layers};
    if (layers < 1 || layers > MOST_LAYERS)
        return 0;
    for (int k = 0; k < layers; k++, row += 6) {
        Layer *l = &s->layer[k], *below = l - 1;
        len kernel = row[4], stride = row[5];
        *l = (Layer){.channels = row[0], .height = row[1], .width = row[2], .outputs = row[3], .stride = stride};
        if (l->channels < 1 || stride < 1 || kernel < 1 || kernel % stride || l->outputs < 1 ||
            l->outputs % LANES || l->height < kernel || l->width < kernel)
            return 0;
        l->taps = kernel / stride;
        l->grid_h = (l->height + stride - 1) / stride;
        l->grid_w = (l->width + stride - 1) / stride;
        l->depth = stride * stride * l->channels;
        l->out_h = (l->height - kernel) / stride + 1;
        l->out_w = (l->width - kernel) / stride + 1;
        l->span = l->taps * l->depth;
        if (l->span % LANES ||
            (k && (l->channels != below->outputs || l->height != below->out_h || l->width != below->out_w)))
            return 0;
        s->weights += weight_size(l);
        s->biases += l->outputs;
        s->kept += k ? in_size(l) : 0;
        s->widest_in = larger(s->widest_in, in_size(l));
        s->widest_out = larger(s->widest_out, out_size(l));
        s->features = out_size(l);
    }
    return 1;
}

typedef struct {
    Py_buffer view[8];
    int count;
} Held;

static void let_go(Held *held)
{
    while (held->count) PyBuffer_Release(&held->view[--held->count]);
}

/* The data of a contiguous array of floats with `size` numbers; NULL with an error set. */
static float *floats(Held *held, PyObject *array, len size, int writable)
{
    Py_buffer *view = &held->view[held->count];
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) < 0)
        return NULL;
    held->count++;
    if (view->format[0] != 'f' || view->len != size * 4) {
        PyErr_Format(PyExc_ValueError, "expected %zd floats, got %zd bytes of '%s'", size, view->len, view->format);
        return NULL;
    }
    return view->buf;
}

typedef void (*Fork)(void (*work)(void *), void *data, unsigned threads, unsigned flags); /* GOMP_parallel */

typedef struct Job Job;
typedef void (*Visit)(const Job *job, const Room *room, len part, len picture);

struct Job {
    Stack stack;
    const uint8_t *x;
    const Py_ssize_t *strides; /* of picture, channel, line and pixel */
    len pictures;
    Fork fork;
    int threads; /* as many as there are parts */
    int taken, failed;
    Visit visit; /* a pass of one picture */
    /* Forwards w is laid out for it, backwards turned; only one of the two passes uses the rest. */
    float *w, *bias, *kept, *features;
    float *d_features, *dw, *d_bias;
};

/* What both functions begin and end with: geometry, x, …, threads, fork. */
static int read_job(Job *job, Held *held, PyObject *const *args, len given, len wanted)
{
    *job = (Job){.failed = 0};
    if (given != wanted) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", wanted, given);
        return 0;
    }
    Py_buffer *rows = &held->view[held->count];
    if (PyObject_GetBuffer(args[0], rows, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return 0;
    held->count++;
    if (rows->itemsize != 8 || rows->ndim != 2 || rows->shape[1] != 6 ||
        !read_stack(&job->stack, rows->buf, rows->shape[0])) {
        PyErr_SetString(PyExc_ValueError, "not a stack that these kernels serve");
        return 0;
    }
    Py_buffer *x = &held->view[held->count];
    if (PyObject_GetBuffer(args[1], x, PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return 0;
    held->count++;
    const Layer *first = job->stack.layer;
    if (x->format[0] != 'B' || x->ndim != 4 || x->shape[1] != first->channels || x->shape[2] != first->height ||
        x->shape[3] != first->width) {
        PyErr_SetString(PyExc_ValueError, "these are not pictures of this stack");
        return 0;
    }
    job->x = x->buf;
    job->strides = x->strides;
    job->pictures = x->shape[0];
    job->threads = (int)PyLong_AsLong(args[wanted - 2]);
    job->fork = (Fork)PyLong_AsVoidPtr(args[wanted - 1]);
    if (!PyErr_Occurred() && job->threads < 1)
        PyErr_SetString(PyExc_ValueError, "there has to be a thread");
    return !PyErr_Occurred();
}

static void visit_forward(const Job *job, const Room *room, len part, len b)
{
    (void)part;
    const Stack *s = &job->stack;
    picture_forward(s, room, job->x + b * job->strides[0], job->strides, job->w, job->bias,
                    job->kept ? job->kept + b * s->kept : NULL, job->features + b * s->features);
}

static void visit_back(const Job *job, const Room *room, len part, len b)
{
    const Stack *s = &job->stack;
    picture_back(s, room, job->x + b * job->strides[0], job->strides, job->w, job->kept + b * s->kept,
                 job->features + b * s->features, job->d_features + b * s->features, job->dw + part * s->weights,
                 job->d_bias + part * s->biases);
}

/* What every thread does: take parts that nobody has taken yet, until none is left. */
static void take_parts(void *data)
{
    Job *job = data;
    Room room;
    if (!make_room(&job->stack, &room)) {
        job->failed = 1;
        return;
    }
    unsigned mode = flush_subnormals();
    for (len part; (part = __atomic_fetch_add(&job->taken, 1, __ATOMIC_RELAXED)) < job->threads;)
        for (len b = job->pictures * part / job->threads; b < job->pictures * (part + 1) / job->threads; b++)
            job->visit(job, &room, part, b);
    restore_subnormals(mode);
    free(room.memory);
}

static PyObject *divide(Job *job, Held *held, Visit visit)
{
    job->visit = visit;
    Py_BEGIN_ALLOW_THREADS
    if (job->threads > 1)
        job->fork(take_parts, job, (unsigned)job->threads, 0);
    else
        take_parts(job);
    Py_END_ALLOW_THREADS
    let_go(held);
    return job->failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

static PyObject *refuse(Held *held)
{
    let_go(held);
    return NULL;
}

/* convolve(geometry, x, weights, biases, kept or None, features, threads, fork) */
PyObject *convolve(PyObject *module, PyObject *const *args, len given)
{
    (void)module;
    Held held = {.count = 0};
    Job job;
    if (!read_job(&job, &held, args, given, 8))
        return refuse(&held);
    const Stack *s = &job.stack;
    if (!(job.w = floats(&held, args[2], s->weights, 0)) || !(job.bias = floats(&held, args[3], s->biases, 0)) ||
        (args[4] != Py_None && !(job.kept = floats(&held, args[4], job.pictures * s->kept, 1))) ||
        !(job.features = floats(&held, args[5], job.pictures * s->features, 1)))
        return refuse(&held);
    return divide(&job, &held, visit_forward);
}

/* convolve_back(geometry, x, turned weights, kept, features, d_features, d_weights, d_biases,
                 threads, fork); the slopes have a row for every thread, and are added to. */
PyObject *convolve_back(PyObject *module, PyObject *const *args, len given)
{
    (void)module;
    Held held = {.count = 0};
    Job job;
    if (!read_job(&job, &held, args, given, 10))
        return refuse(&held);
    const Stack *s = &job.stack;
    len features = job.pictures * s->features;
    if (!(job.w = floats(&held, args[2], s->weights, 0)) ||
        !(job.kept = floats(&held, args[3], job.pictures * s->kept, 0)) ||
        !(job.features = floats(&held, args[4], features, 0)) ||
        !(job.d_features = floats(&held, args[5], features, 0)) ||
        !(job.dw = floats(&held, args[6], job.threads * s->weights, 1)) ||
        !(job.d_bias = floats(&held, args[7], job.threads * s->biases, 1)))
        return refuse(&held);
    return divide(&job, &held, visit_back);
}
