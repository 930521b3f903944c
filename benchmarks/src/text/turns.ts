// Measures contenders by turns: in each round, each one runs the queries of a class, as often as fits into the time of a turn and at least once.
export interface Turns {
  readonly rounds: number
  readonly turnMs: number
  /** `cpu`: CPU time of all threads of this process, which says more on a machine that has other work. Default: `wall`. */
  readonly clock?: Clock
}

export type Clock = 'wall' | 'cpu'

const warmTurns = 5

/** What contenders took, by their position. */
export interface Measured {
  /** Median of the rounds. */
  readonly micros: readonly number[]
  /** Median of the quotients of each round, with the first one as divisor. */
  readonly ratios: readonly number[]
}

/** Queries that were run, and the microseconds that they took, if their contender measures that itself. */
export interface Ran {
  readonly queries: number
  readonly micros?: number
}

/** `runAll` runs all queries of the class in the contender at a position. */
export async function measureByTurns(
  { rounds, turnMs, clock = 'wall' }: Turns,
  contenders: number,
  runAll: (contender: number) => Promise<Ran>,
): Promise<Measured> {
  const took = Array.from({ length: contenders }, (): number[] => [])
  // The first round compiles, so it is longer.
  for (let round = -1; round < rounds; round++) {
    for (let contender = 0; contender < contenders; contender++) {
      const begun = nowMs(clock)
      let queries = 0
      let micros: number | undefined
      do {
        const ran = await runAll(contender)
        queries += ran.queries
        if (ran.micros !== undefined) micros = (micros ?? 0) + ran.micros
      } while (nowMs(clock) - begun < (round < 0 ? turnMs * warmTurns : turnMs))
      if (round >= 0) took[contender]?.push((micros ?? (nowMs(clock) - begun) * 1_000) / queries)
    }
  }
  const own = took[0] as number[]
  return {
    micros: took.map(median),
    ratios: took.map((micros) => median(micros.map((one, round) => one / (own[round] as number)))),
  }
}

function nowMs(clock: Clock): number {
  if (clock === 'wall') return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

/** Our time, and the time of each other contender with its quotient. */
export function cellsOf({ micros, ratios }: Measured): string {
  const [own = Number.NaN, ...others] = micros
  const cells = others.map((one, i) => `${rounded(one)} (${(ratios[i + 1] as number).toFixed(1)} x)`)
  return [rounded(own), ...cells].join(' | ')
}

function rounded(micros: number): string {
  return micros < 100 ? micros.toFixed(1) : micros.toFixed(0)
}
