// JSON text in which every number is read back exactly: JSON.stringify writes a negative zero without its sign.

/** Node.js has it; the library of types does not have it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** With a decimal point, because readers in other languages parse `-0` as an integer. */
const negativeZero = rawJSON('-0.0')

/** Like JSON.stringify, with typed arrays as arrays and with negative zeros. */
export function jsonText(value: unknown): string {
  return JSON.stringify(exact(value))
}

function exact(value: unknown): unknown {
  if (value instanceof Float32Array) return exactNumbers(Array.from(value))
  if (Array.isArray(value)) return typeof value[0] === 'number' ? exactNumbers(value) : value.map(exact)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, exact(inner)]))
}

function exactNumbers(numbers: readonly unknown[]): readonly unknown[] {
  return numbers.some((x) => Object.is(x, -0)) ? numbers.map((x) => (Object.is(x, -0) ? negativeZero : x)) : numbers
}
