import { assert } from '../errors.ts'

/** The element at an index that the caller knows to be inside the array. */
export function elementAt<T>(array: { readonly [index: number]: T }, index: number): T {
  const value = array[index]
  // The message is built only if the check fails: this function runs for every element of every answer.
  if (value === undefined) assert(false, `index ${index} is inside`)
  return value
}
