// The directions of greatest variance, by iterating on a few of them at once: accurate enough for a map, and fast.

const rounds = 8
/** Directions are computed from this many rows, spread over all rows. */
const rowsLookedAt = 800

/** The coordinates of each row along its `components` strongest directions, row by row. */
export function principal(rows: readonly Float32Array[], components: number): Float32Array {
  const dimension = rows[0]?.length ?? 0
  const wanted = Math.min(components, dimension)
  const mean = meanOf(rows, dimension)
  const stride = Math.max(1, Math.floor(rows.length / rowsLookedAt))
  const looked = rows.filter((_, i) => i % stride === 0)
  let basis = orthonormal(startingBasis(wanted, dimension))
  for (let round = 0; round < rounds; round++) {
    const next = basis.map(() => new Float64Array(dimension))
    for (const row of looked) {
      for (const [k, direction] of basis.entries()) {
        const weight = along(row, mean, direction)
        const sum = next[k]!
        for (let d = 0; d < dimension; d++) sum[d]! += weight * (row[d]! - mean[d]!)
      }
    }
    basis = orthonormal(next)
  }
  const out = new Float32Array(rows.length * wanted)
  for (const [r, row] of rows.entries()) {
    for (const [k, direction] of basis.entries()) out[r * wanted + k] = along(row, mean, direction)
  }
  return out
}

function meanOf(rows: readonly Float32Array[], dimension: number): Float64Array {
  const mean = new Float64Array(dimension)
  for (const row of rows) for (let d = 0; d < dimension; d++) mean[d]! += row[d]! / rows.length
  return mean
}

function along(row: Float32Array, mean: Float64Array, direction: Float64Array): number {
  let sum = 0
  for (let d = 0; d < direction.length; d++) sum += (row[d]! - mean[d]!) * direction[d]!
  return sum
}

/** A fixed sequence, so that a map does not change between two draws. */
function startingBasis(count: number, dimension: number): Float64Array[] {
  let state = 12_345
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32 - 0.5
  }
  return Array.from({ length: count }, () => Float64Array.from({ length: dimension }, next))
}

function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const done: Float64Array[] = []
  for (const vector of vectors) {
    for (const other of done) {
      const share = dot(vector, other)
      for (let d = 0; d < vector.length; d++) vector[d]! -= share * other[d]!
    }
    const length = Math.sqrt(dot(vector, vector)) || 1
    for (let d = 0; d < vector.length; d++) vector[d]! /= length
    done.push(vector)
  }
  return done
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}
