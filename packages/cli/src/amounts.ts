// Numbers and sizes as text.

/** With thousands separators. */
export function amount(value: number): string {
  return value.toLocaleString('en-US')
}

/** A size with its unit, written as in the dashboard and in settings. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [bytes, 0]
  while (value >= 1_024 && unit < units.length - 1) [value, unit] = [value / 1_024, unit + 1]
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** `1 object`, `1,203 objects` */
export function objectsText(count: number): string {
  return countText(count, 'object')
}

/** A number of things by their singular, whose plural ends in s: `1 segment`, `2 segments`. */
export function countText(count: number, noun: string): string {
  return `${amount(count)} ${noun}${count === 1 ? '' : 's'}`
}
