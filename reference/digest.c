#include "reference/digest.h"

/* By width, so that a compiler can make vectors of each loop. */
void gp_digest_add(struct gp_digest *digest, const struct gp_type *type,
                   const void *from, int64_t index, int64_t count)
{
    uint64_t first = (uint64_t)index, sum[2] = {0, 0};

    if (type->bytes == 8) {
        const uint64_t *bits = from;
        for (int64_t i = 0; i < count; i++) {
            sum[0] += gp_hash_lane(0, first + (uint64_t)i, bits[i]);
            sum[1] += gp_hash_lane(1, first + (uint64_t)i, bits[i]);
        }
    } else if (type->bytes == 4) {
        const uint32_t *bits = from;
        for (int64_t i = 0; i < count; i++) {
            sum[0] += gp_hash_lane(0, first + (uint64_t)i, bits[i]);
            sum[1] += gp_hash_lane(1, first + (uint64_t)i, bits[i]);
        }
    } else {
        const uint16_t *bits = from;
        for (int64_t i = 0; i < count; i++) {
            sum[0] += gp_hash_lane(0, first + (uint64_t)i, bits[i]);
            sum[1] += gp_hash_lane(1, first + (uint64_t)i, bits[i]);
        }
    }
    digest->lane[0] += sum[0];
    digest->lane[1] += sum[1];
}
