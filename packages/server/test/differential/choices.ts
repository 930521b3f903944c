// Random choices of a generator of requests.
import { type Random, seededRandom } from '@annal/wal/testing'

export interface Choices extends Random {
  one<T>(list: readonly T[]): T
  /** From 0 to `most` of them, in their order. */
  some<T>(list: readonly T[], probability: number): T[]
}

export function choicesFrom(seed: number): Choices {
  const random = seededRandom(seed)
  return {
    ...random,
    one: (list) => list[random.below(list.length)]!,
    some: (list, probability) => list.filter(() => random.chance(probability)),
  }
}
