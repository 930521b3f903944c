// The space in which a projection is learned (projection.ts), in the arena, because the kernel works there. Nothing in it is kept.
import { headComponents, type Shape } from './shape.ts'

/** Rows of the sample at most; a multiple of 16. */
export const sampleMax = 4096

/** Offsets in the space: the codes of the sample by dimension, the two sets of vectors that replace them, and the covariance matrix. */
export function planLearning({ lanes }: Pick<Shape, 'lanes'>) {
  const vectorsBytes = headComponents * lanes * 8
  const tableBytes = lanes * sampleMax
  const matrix = Math.max(tableBytes, 2 * vectorsBytes)
  const form = matrix + lanes * lanes * 4
  return { table: 0, vectors: 0, products: vectorsBytes, matrix, form, bytes: form + sampleMax * 2 }
}

export function learningBytes(shape: Pick<Shape, 'lanes'>): number {
  return planLearning(shape).bytes
}
