// Points in time in texts of users. Strict RFC 3339, so that the meaning of a string never depends on the parser.

const shape = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d)))?$/

/**
 * Milliseconds since 1970 with a fraction, exact to a quarter of a microsecond. A date alone is midnight UTC. Returns
 * undefined for everything that is not RFC 3339: no zone, an impossible day, other separators.
 *
 * @example
 * ```ts
 * import { parseTimestamp } from '@annal/engine'
 *
 * console.log(parseTimestamp('2026-11-27T10:00:00+01:00')) // 1795770000000
 * ```
 */
export function parseTimestamp(text: string): number | undefined {
  if (text.length < 10 || text.length > 40 || text.charCodeAt(4) !== 0x2d) return undefined
  const parts = shape.exec(text)
  if (parts === null) return undefined
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((group) => Number(parts[group] ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const zoneHour = Number(parts[9] ?? 0)
  const zoneMinute = Number(parts[10] ?? 0)
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  // 60 is a leap second and counts as the first moment of the next minute, as in POSIX.
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return undefined
  const zone = (zoneHour * 60 + zoneMinute) * (parts[8] === '-' ? -1 : 1)
  const minutes = daysSince1970(year, month, day) * 1_440 + hour * 60 + minute - zone
  return (minutes * 60 + second) * 1_000 + Number(parts[7] ?? 0) * 1_000
}

/** Within this range, some 278 years around 1970, the steps of a double are shorter than a microsecond. */
const exactMs = 2 ** 43

/** Whether a point in time has a fraction of a millisecond that its number does not hold. */
export function isInexactTimestamp(text: string): boolean {
  const ms = parseTimestamp(text)
  return ms !== undefined && Math.abs(ms) > exactMs && /\.\d{3}\d*[1-9]/.test(text)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Counts years from March, so that the leap day is the last day of a year. */
function daysSince1970(year: number, month: number, day: number): number {
  const fromMarch = (month + 9) % 12
  const years = month <= 2 ? year - 1 : year
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400)
  return years * 365 + leapDays + Math.floor((fromMarch * 153 + 2) / 5) + day - 1 - 719_468
}
