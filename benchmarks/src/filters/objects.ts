// Objects with filter values of every type, equal for equal seeds.

export interface Values {
  readonly category: string
  readonly uniform: number
  readonly rating: number
  readonly flag: boolean
  readonly created: string
  readonly url: string
}

/** A value of a hundred categories, numbers with and without repetition, a boolean, a time, and a unique string. */
export function* objectsOf(count: number, seed: number): Generator<Values, void, undefined> {
  const random = randomOf(seed)
  for (let index = 0; index < count; index++) {
    yield {
      category: `category-${Math.floor(random() * 100)}`,
      uniform: random(),
      rating: Math.floor(random() * 1_000),
      flag: random() < 0.5,
      created: new Date(1.6e12 + index * 60_000).toISOString(),
      url: `https://example.org/items/${index}`,
    }
  }
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32
  }
}
