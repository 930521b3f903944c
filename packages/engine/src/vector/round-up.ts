/** The least multiple of `to` that is not less than `n`. */
export function roundUp(n: number, to: number): number {
  return Math.ceil(n / to) * to
}
