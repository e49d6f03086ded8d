/*
 * Wide instructions where the CPU has them: a function is compiled for several
 * and chosen when the program starts. The numbers are the same.
 *
 * GP_CLONES(with) before a definition adds a version with the feature `with`
 * ("avx2", "fma") and one with AVX-512. By feature, not by architecture: a
 * clone for arch=haswell is only chosen on a Haswell. The names of such
 * functions must be unique in the program, as clang's resolvers are global
 * even for static ones.
 */
#ifndef GP_BASE_CLONES_H
#define GP_BASE_CLONES_H

#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define GP_CLONES(with)                                                        \
    __attribute__((target_clones("default", with, "avx512f")))
#endif
#endif
#ifndef GP_CLONES
#define GP_CLONES(with)
#endif

#endif
