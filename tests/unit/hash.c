/* The mixer against its published values, and what a digest must see. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "harness/base/hash.h"
#include "tests/unit/random.h"

/* The first outputs of splitmix64 with the seed 1234567 (Vigna's reference
 * implementation; also in the tests of other libraries). It adds the golden
 * gamma and mixes. */
Test(hash, mixer_is_that_of_splitmix64)
{
    static const uint64_t expected[] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
        4593380528125082431u, 16408922859458223821u};
    uint64_t state = 1234567;

    for (int i = 0; i < 5; i++) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        cr_assert_eq(gp_hash_mix(state), expected[i]);
    }
}

static struct gp_digest digest_of(const uint32_t *words, int count)
{
    struct gp_digest digest = {{0, 0}};

    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < 2; lane++)
            digest.lane[lane] += gp_hash_lane(lane, (uint64_t)i, words[i]);
    return digest;
}

static bool both_differ(const struct gp_digest *a, const struct gp_digest *b)
{
    return a->lane[0] != b->lane[0] && a->lane[1] != b->lane[1];
}

enum { COUNT = 64 };

static void fill(uint32_t *words)
{
    struct rng rng = {51};

    for (int i = 0; i < COUNT; i++)
        words[i] = (uint32_t)rng_next(&rng);
}

Test(hash, the_lanes_are_different_functions)
{
    for (uint64_t index = 0; index < 100; index++)
        for (uint64_t bits = 0; bits < 10; bits++)
            cr_assert_neq(gp_hash_lane(0, index, bits),
                          gp_hash_lane(1, index, bits));
}

/* Every pair of two different elements, exchanged. */
Test(hash, a_permutation_shows)
{
    uint32_t words[COUNT];
    struct gp_digest before, after;

    fill(words);
    before = digest_of(words, COUNT);
    for (int i = 0; i < COUNT; i++)
        for (int j = i + 1; j < COUNT; j++) {
            uint32_t kept = words[i];
            words[i] = words[j];
            words[j] = kept;
            after = digest_of(words, COUNT);
            words[j] = words[i];
            words[i] = kept;
            cr_assert(both_differ(&before, &after), "%d %d", i, j);
        }
    after = digest_of(words, COUNT);
    cr_assert_arr_eq(&before, &after, sizeof before);
}

Test(hash, every_bit_of_every_element_shows)
{
    uint32_t words[COUNT];
    struct gp_digest before, after;

    fill(words);
    before = digest_of(words, COUNT);
    for (int i = 0; i < COUNT; i++)
        for (int bit = 0; bit < 32; bit++) {
            words[i] ^= UINT32_C(1) << bit;
            after = digest_of(words, COUNT);
            words[i] ^= UINT32_C(1) << bit;
            cr_assert(both_differ(&before, &after), "%d bit %d", i, bit);
        }
}

/* Zeros count too: one more of them is another matrix, and no element of any
 * place adds nothing. */
Test(hash, zeros_are_seen)
{
    static const uint32_t zeros[COUNT];
    struct gp_digest longer = digest_of(zeros, COUNT);
    struct gp_digest shorter = digest_of(zeros, COUNT - 1);

    cr_assert(both_differ(&longer, &shorter));
    for (uint64_t index = 0; index < 10000; index++)
        cr_assert(gp_hash_lane(0, index, 0) && gp_hash_lane(1, index, 0));
}

/* A digest is part of journals on other machines: it may not change. From
 * the definition in hash.h, by Python's integers. */
Test(hash, fixed_for_ever)
{
    static const uint32_t words[] = {0x3f800000, 0x40000000, 0xc0400000};
    const struct gp_digest digest = digest_of(words, 3);

    cr_assert_eq(digest.lane[0], UINT64_C(0x302bd3fbf7d27c64));
    cr_assert_eq(digest.lane[1], UINT64_C(0xb2d54bf39d9239e0));
}
