/*
 * Mixing functions: random data as a pure function of its place, and the
 * position-keyed digest of a matrix.
 *
 * The digest of N elements is two 64-bit lanes, each the sum modulo 2^64 over
 * the elements of gp_hash_lane(lane, index, bits), where `bits` are the raw
 * bits of the element, zero extended, and `index` its place in the packed
 * column-major result (i + j*m + b*m*n). A sum does not care in which order a
 * device adds it, and the key makes a permutation of elements visible. The
 * same function is compiled for the host and for the device, so this header
 * includes only what both have.
 * Finaliser: the variant 13 constants of Stafford (2011) for the mixer of
 * Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014.
 */
#ifndef GP_BASE_HASH_H
#define GP_BASE_HASH_H

#include <stdint.h>

#ifdef __CUDACC__
#define GP_HASH_HD static __host__ __device__ inline
#else
#define GP_HASH_HD static inline
#endif

/* A bijection of 64-bit words that passes for random. */
GP_HASH_HD uint64_t gp_hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What one element adds to lane 0 or 1 of the digest. Two rounds, the first
 * on the key alone, so that neither bits nor index can cancel the other. */
GP_HASH_HD uint64_t gp_hash_lane(int lane, uint64_t index, uint64_t bits)
{
    uint64_t key = lane ? 0xd1b54a32d192ed03u : 0x9e3779b97f4a7c15u;

    return gp_hash_mix(bits ^ gp_hash_mix(index + key));
}

/* 128 bits of one packed matrix. Written as 32 hexadecimal digits, lane 0
 * first. */
struct gp_digest {
    uint64_t lane[2];
};

#endif
