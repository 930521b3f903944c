// Formats numbers, sizes and times.

const counts = new Intl.NumberFormat('en-US')

export function count(value: number): string {
  return counts.format(value)
}

/** 1,234,567 as 1.23 M; small numbers unchanged. */
export function compact(value: number): string {
  if (Math.abs(value) < 10_000) return counts.format(Math.round(value * 100) / 100)
  const [size, unit] = value < 1e6 ? [1e3, 'k'] : value < 1e9 ? [1e6, 'M'] : [1e9, 'G']
  return `${(value / (size as number)).toPrecision(3)} ${unit}`
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let size = value / 1024
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

export function ms(value: number): string {
  if (value < 1) return `${value.toFixed(2)} ms`
  if (value < 1_000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`
  return `${(value / 1_000).toFixed(value < 10_000 ? 2 : 1)} s`
}

export type Show = (value: number) => string

/** How the values of a chart are shown: one alone, and those of an axis, which have one format. */
export interface Unit {
  readonly one: Show
  readonly axis?: (values: readonly number[]) => Show
  /** Distances between the values of an axis; by default 1, 2, and 5 times a power of ten. */
  readonly steps?: number[]
}

export const byteUnit: Unit = {
  one: bytes,
  axis: roundBytesIn,
  // Powers of two are round numbers of these units.
  steps: Array.from({ length: 50 }, (_, power) => 2 ** power),
}

export const secondsUnit: Unit = {
  one: (seconds) => ms(seconds * 1_000),
  axis: (values) => {
    const show = msIn(values.map((seconds) => seconds * 1_000))
    return (seconds) => show(seconds * 1_000)
  },
}

const scoreDigits = 5
const scoreDecimalsMax = 6

/** The scores of one column: all with as many decimals as the largest needs for five digits. */
export function scoresIn(values: readonly number[]): Show {
  const largest = largestOf(values)
  const whole = largest < 1 ? 1 : Math.floor(Math.log10(largest)) + 1
  const decimals = values.every(Number.isInteger) ? 0 : Math.max(0, Math.min(scoreDecimalsMax, scoreDigits - whole))
  return decimalsOf(decimals)
}

/** The sizes of one column, all in the unit that suits most of them. */
export function bytesIn(values: readonly number[]): Show {
  const unit = unitFor(values)
  return unit === 0 ? (value) => `${count(value)} B` : inUnit(1_024 ** unit, byteUnits[unit]!)
}

/** Multiples of a power of two, in the largest unit in which they are whole. */
function roundBytesIn(values: readonly number[]): Show {
  const least = values.filter((value) => value > 0).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const unit = Number.isFinite(least) ? Math.min(byteUnits.length - 1, Math.floor(Math.log2(least) / 10)) : 0
  return (value) => `${count(value / 1_024 ** unit)} ${byteUnits[unit]}`
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
/** More digits before the point are hard to read. */
const wholeMax = 100_000

/** The largest unit that shows every size, or a smaller share of them if the sizes are too far apart. */
function unitFor(values: readonly number[]): number {
  const sizes = values.filter((value) => value > 0)
  const smallest = sizes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const largest = largestOf(sizes)
  const last = byteUnits.length - 1
  const fits = byteUnits.findLastIndex((_, unit) => smallest >= 0.1 * 1_024 ** unit)
  const readable = byteUnits.findIndex((_, unit) => largest < wholeMax * 1_024 ** unit)
  return Math.min(last, Math.max(sizes.length === 0 ? 0 : fits, readable, 0))
}

/** The times of one column in milliseconds, all with the same decimals. */
export function msIn(values: readonly number[]): Show {
  const largest = largestOf(values)
  const show = decimalsOf(largest < 1 ? 3 : largest < 10 ? 2 : largest < 1_000 ? 1 : 0)
  return (value) => `${show(value)} ms`
}

/** With one decimal, and a mark for a value that is less than the least of them. */
function inUnit(size: number, name: string): Show {
  const show = decimalsOf(1)
  return (value) => (value > 0 && value < 0.05 * size ? `< 0.1 ${name}` : `${show(value / size)} ${name}`)
}

function decimalsOf(decimals: number): Show {
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
  // Rounding can leave a zero with a sign.
  return (value) => format.format(value).replace(/^-(?=[0.,]*$)/, '')
}

function largestOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
}

/** A share in a column. */
export function share(part: number): string {
  return `${(part * 100).toFixed(1)} %`
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share === 1 || share === 0 ? 0 : share > 0.99 ? 2 : 1)} %`
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`
}

/** How long ago or how far behind: whole milliseconds, then seconds with one decimal, then larger units. */
export function wait(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  return milliseconds < 60_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : duration(milliseconds / 1_000)
}

export function dateTime(msSince1970: number): string {
  const date = new Date(msSince1970)
  if (Number.isNaN(date.getTime())) return 'unknown'
  const part = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${part(date.getMonth() + 1)}-${part(date.getDate())}`
  return `${day} ${part(date.getHours())}:${part(date.getMinutes())}:${part(date.getSeconds())}`
}

/** The first numbers of a vector, and its length. */
export function vector(values: readonly number[], shown = 6): string {
  const head = values.slice(0, shown).map((value) => String(Math.round(value * 1e4) / 1e4))
  return values.length <= shown ? `[${head.join(', ')}]` : `[${head.join(', ')}, … ${count(values.length)}]`
}

export function sum(parts: { readonly [part: string]: number } | undefined): number {
  return Object.values(parts ?? {}).reduce((total, part) => total + part, 0)
}
