// The forms of a cosine vector in events and in files of original vectors, and the conversions to the given vector and to the compared
// one. All of it is part of the state or of replies, so the arithmetic must never change.

/** Numbered on disk, never renumbered. */
export const vectorForm = {
  /** Of unit length, or zero: compared directly. The given vector is this one times its norm. */
  unit: 0,
  /** The given vector; its norm is its length. */
  given: 1,
  /** The given vector together with a norm. */
  givenWithNorm: 2,
} as const

/** Lengths this close to 1 count as 1: such a vector stays unchanged. */
const unitTolerance = 1e-6

export function isUnitLength(length: number): boolean {
  return Math.abs(length - 1) <= unitTolerance
}

export function lengthOf(row: Float32Array): number {
  let sum = 0
  for (let i = 0; i < row.length; i++) sum += (row[i] as number) ** 2
  return Math.sqrt(sum)
}

/** Writes a vector of length `norm` as one of length 1. One that is of unit length already stays as it is, bit for bit. */
export function scaleToUnit(value: ArrayLike<number>, norm: number, target: Float32Array, offset: number): void {
  if (norm === 0 || isUnitLength(norm)) return
  for (let i = 0; i < value.length; i++) target[offset + i] = (value[i] as number) / norm
}

/** The vector as a field of cosine compares it. Not a copy where nothing changes. */
export function comparedVector(vector: Float32Array, form: number): Float32Array {
  if (form === vectorForm.unit) return vector
  const row = vector.slice()
  scaleToUnit(vector, lengthOf(vector), row, 0)
  return row
}

/**
 * The vector that was given. A client that takes the length out of a vector sends `vector` and `norm`: their product was given.
 * Where a vector comes with its own length as its norm, nothing was taken out. Not a copy where nothing changes.
 */
export function givenVector(vector: Float32Array, norm: number, form: number): Float32Array {
  if (form === vectorForm.given) return vector
  if (form === vectorForm.unit && isUndivided(vector, norm)) return vector
  if (form === vectorForm.givenWithNorm) {
    const length = lengthOf(vector)
    if (norm === 1 || Math.abs(norm - length) <= unitTolerance * length) return vector
  }
  return vector.map((x) => x * norm)
}

/**
 * Norms this close to 1 count as 1. Twice what the length of a row and its norm can be off, both rounded to float32: beyond it, the
 * length says whether the row was divided.
 */
const sureOfOne = 2.5e-7
/** Norms this far from 1 divided their row, however they were rounded. */
const sureOfDivision = 2 * unitTolerance

/**
 * Whether a row of form `unit` is the vector itself. The norm alone does not say so near the tolerance, since it was compared before
 * it was rounded to float32, and clients divide by norms that are nearer to 1.
 */
function isUndivided(row: Float32Array, norm: number): boolean {
  const off = Math.abs(norm - 1)
  if (off <= sureOfOne || off > sureOfDivision) return off <= sureOfOne
  const length = lengthOf(row)
  return Math.abs(length - norm) < Math.abs(length - 1)
}

/** What a client that takes lengths out of vectors has sent, or would have: of unit length where the vector came as it is. */
export function sentVector(vector: Float32Array, form: number): Float32Array {
  return form === vectorForm.given ? comparedVector(vector, form) : vector
}
