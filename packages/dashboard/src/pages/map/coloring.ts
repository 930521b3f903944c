// Colors points by the values of a filter key: the most frequent values get their own colors, keys with many numbers a gradient.
import type { Json } from '../../api/objects.ts'
import type { MapObject } from './messages.ts'

export interface Coloring {
  readonly colors: readonly string[]
  readonly legend: readonly { readonly label: string; readonly color: string; readonly count: number }[]
}

/** Names of CSS custom properties, so that each theme has its own colors. */
const own = Array.from({ length: 12 }, (_, i) => `--kind${i + 1}`)
const other = '--c8'
const rampSteps = 6

export function coloringBy(objects: readonly MapObject[], key: string): Coloring {
  if (key === '') return { colors: objects.map(() => own[0]!), legend: [] }
  const values = objects.map(({ filter }) => filter[key])
  const numbers = values.filter((value) => typeof value === 'number')
  const counts = new Map<Json | undefined, number>()
  for (const value of values) counts.set(plain(value), (counts.get(plain(value)) ?? 0) + 1)
  if (numbers.length === values.length && counts.size > own.length) return ramp(numbers)
  const ranked = [...counts].sort(([, a], [, b]) => b - a)
  const colorOf = new Map(ranked.slice(0, own.length).map(([value], i) => [value, own[i]!]))
  const rest = ranked.slice(own.length).reduce((total, [, count]) => total + count, 0)
  return {
    colors: values.map((value) => colorOf.get(plain(value)) ?? other),
    legend: [
      ...ranked
        .slice(0, own.length)
        .map(([value, count]) => ({ label: labelOf(value), color: colorOf.get(value)!, count })),
      ...(rest > 0 ? [{ label: 'other', color: other, count: rest }] : []),
    ],
  }
}

/** The first key that divides the objects into at least two kinds, and into no more than have a color. */
export function dividingKey(objects: readonly MapObject[], keys: readonly string[]): string | undefined {
  return keys.find((key) => {
    const values = new Set(objects.map(({ filter }) => plain(filter[key])))
    return values.size > 1 && values.size <= own.length
  })
}

function ramp(numbers: readonly number[]): Coloring {
  const low = numbers.reduce((a, b) => Math.min(a, b))
  const high = numbers.reduce((a, b) => Math.max(a, b))
  const stepOf = (value: number) => Math.min(rampSteps - 1, Math.floor(((value - low) / (high - low)) * rampSteps))
  const bounds = Array.from({ length: rampSteps }, (_, i) => low + ((high - low) * i) / rampSteps)
  const round = (value: number) => String(Math.round(value * 100) / 100)
  return {
    colors: numbers.map((value) => `--ramp${stepOf(value) + 1}`),
    legend: bounds.map((bound, i) => ({
      label: `from ${round(bound)}`,
      color: `--ramp${i + 1}`,
      count: numbers.filter((value) => stepOf(value) === i).length,
    })),
  }
}

/** Values that are not scalars are compared by their text. */
function plain(value: Json | undefined): Json | undefined {
  return typeof value === 'object' ? JSON.stringify(value) : value
}

function labelOf(value: Json | undefined): string {
  return value === undefined ? 'no value' : String(value)
}
