// Points near 200 centers, made one at a time: for benchmarks that write objects while they run, and need no exact answers.

/** The same numbers and points in every run. */
export function seededPoints(dimension: number): { readonly random: () => number; readonly point: () => number[] } {
  let state = 42
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const centers = Array.from({ length: 200 }, () => Array.from({ length: dimension }, () => random() - 0.5))
  const point = () => {
    const center = centers[Math.floor(random() * centers.length)] as number[]
    return center.map((value) => value + (random() - 0.5) * 0.6)
  }
  return { random, point }
}
