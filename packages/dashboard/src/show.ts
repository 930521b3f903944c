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

export function score(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(5)
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

/** Short JSON on one line. */
export function json(value: unknown, lengthMax = 160): string {
  const text = JSON.stringify(value) ?? ''
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`
}

/** The first numbers of a vector, and its length. */
export function vector(values: readonly number[], shown = 6): string {
  const head = values.slice(0, shown).map((value) => String(Math.round(value * 1e4) / 1e4))
  return values.length <= shown ? `[${head.join(', ')}]` : `[${head.join(', ')}, … ${count(values.length)}]`
}

export function sum(parts: { readonly [part: string]: number } | undefined): number {
  return Object.values(parts ?? {}).reduce((total, part) => total + part, 0)
}
