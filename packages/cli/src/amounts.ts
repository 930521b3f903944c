// Numbers and sizes as text.

/** With thousands separators. */
export function amount(value: number): string {
  return value.toLocaleString('en-US')
}

export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  while (value >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1]
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** `1 object`, `1,203 objects` */
export function objectsText(count: number): string {
  return `${amount(count)} ${count === 1 ? 'object' : 'objects'}`
}
