/* SPDX-License-Identifier: MIT */
/* hal/sim/random.c - random numbers (splitmix64, for which any seed is good), and the
 * hash of hits and notifications (FNV-1a). */
#include "hal/sim/simp.h"

uint64_t
sim_random(struct sim *sim)
{
    uint64_t value;

    sim->random += 0x9E3779B97F4A7C15u;
    value = sim->random;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

uint64_t
sim_random_below(struct sim *sim, uint64_t bound)
{
    return sim_random(sim) % bound;
}

uint64_t
sim_hash_add(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (value & 0xFF)) * 0x100000001B3u;
        value >>= 8;
    }
    return hash;
}
