// Seeded random numbers (mulberry32): the same seed gives the same run, on every machine.

/** A source of random numbers. */
export interface Random {
  /** In [0, 1). */
  next(): number
  /** An integer in [0, below). */
  below(below: number): number
  chance(probability: number): boolean
}

/** A random source that always returns the same numbers for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    below: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
  }
}

/** The seed of a test run: `ANNAL_SEED` when it is set, so that a failing run can be repeated. */
export function chosenSeed(fallback = Date.now() % 1_000_000_000): number {
  const given = Number(process.env.ANNAL_SEED)
  return Number.isSafeInteger(given) && given > 0 ? given : fallback
}
