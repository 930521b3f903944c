// How the programs of this folder read their options and find their data.
import path from 'node:path'
import { parseArgs } from 'node:util'

/** The default of an option, or the type of one without a default. An option with the default `[]` can be given several times. */
type Declared = string | number | false | typeof String | typeof Number | readonly []

type Options<D extends Readonly<Record<string, Declared>>> = {
  readonly [K in keyof D]: D[K] extends string
    ? string
    : D[K] extends number
      ? number
      : D[K] extends false
        ? boolean
        : D[K] extends readonly []
          ? readonly string[]
          : D[K] extends typeof Number
            ? number | undefined
            : string | undefined
}

/**
 * Reads the options of this program, such as `--rows 1000 --quick`. Throws if one is not declared, or is not a number where a number is expected.
 *
 * @example
 * ```ts
 * const { rows, quick, out } = readOptions({ rows: 60_000, quick: false, out: String })
 * ```
 */
export function readOptions<D extends Readonly<Record<string, Declared>>>(declared: D): Options<D> {
  const options = Object.fromEntries(Object.entries(declared).map(([name, one]) => [name, formOf(one)]))
  const { values } = parseArgs({ options })
  const read = Object.entries(declared).map(([name, one]) => [name, readValue(name, one, values[name])])
  return Object.fromEntries(read) as Options<D>
}

function formOf(declared: Declared): { readonly type: 'string' | 'boolean'; readonly multiple: boolean } {
  return { type: declared === false ? 'boolean' : 'string', multiple: Array.isArray(declared) }
}

function readValue(name: string, declared: Declared, given: unknown): unknown {
  if (given === undefined) return typeof declared === 'function' ? undefined : declared
  if (typeof declared !== 'number' && declared !== Number) return given
  const number = given === '' ? Number.NaN : Number(given)
  if (Number.isNaN(number)) throw new Error(`--${name} is a number, not ${given}`)
  return number
}

/** The parts of an option that is a list, such as `--sets npl,cisi`. */
export function listOf(text: string): string[] {
  return text.split(',').filter((part) => part !== '')
}

/** The folder of the data sets: ANNAL_DATA, or shared/data next to the repository. */
export function dataFolder(...parts: readonly string[]): string {
  return path.join(process.env.ANNAL_DATA ?? '../shared/data', ...parts)
}
