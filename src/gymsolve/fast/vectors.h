/* What the compiled kernels share: vectors of floats as wide as the processor's, and its rounding mode. */

#ifndef GYMSOLVE_VECTORS
#define GYMSOLVE_VECTORS

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif

#define INLINE static inline __attribute__((always_inline))
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef Py_ssize_t len;

/* sum + factor · numbers, rounded once wherever the processor can. Left to the compiler, which fuses some sums and
   not others, a row would have other bits alone than among others. */
#if defined(__AVX512F__)
#include <immintrin.h>
INLINE vec add_product(vec sum, float factor, vec numbers)
{
    return (vec)_mm512_fmadd_ps(_mm512_set1_ps(factor), (__m512)numbers, (__m512)sum);
}
#elif defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>
INLINE vec add_product(vec sum, float factor, vec numbers)
{
    return (vec)_mm256_fmadd_ps(_mm256_set1_ps(factor), (__m256)numbers, (__m256)sum);
}
#else
INLINE vec add_product(vec sum, float factor, vec numbers) { return sum + factor * numbers; }
#endif

/* Subnormal numbers cost a hundred times as much as others, and are nothing to a gradient: while a kernel
   computes they count as 0. */
#if defined(__SSE2__)
#include <immintrin.h>
INLINE unsigned flush_subnormals(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
}
INLINE void restore_subnormals(unsigned before) { _mm_setcsr(before); }
#else
INLINE unsigned flush_subnormals(void) { return 0; }
INLINE void restore_subnormals(unsigned before) { (void)before; }
#endif

#endif
