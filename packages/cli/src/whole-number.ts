// Parses an integer option of the command line.
import { InvalidArgumentError } from 'commander'

export function wholeNumber(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw new InvalidArgumentError('It must be a whole number, such as 10.')
}
