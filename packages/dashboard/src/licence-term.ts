// How long a licence lasts, and what to say about it.
import type { License } from './api/server.ts'

const dayMs = 86_400_000
const warnDays = 7

export function isActive(license: License | null): boolean {
  return license !== null && (license.status === 'active' || license.status === 'valid')
}

/** Undefined while there is nothing to worry about. */
export function licenceWarning(license: License | null): string | undefined {
  if (license === null) return 'No active licence: the server is restricted to listing and describing what there is.'
  if (!isActive(license)) return 'The licence has expired: the server is restricted until another is activated.'
  const left = daysLeft(license)
  if (left === undefined || left > warnDays) return undefined
  return `The licence ends in ${left} ${left === 1 ? 'day' : 'days'}.`
}

/** Dates come as `YYYY-MM-DD HH:MM:SS` in UTC, without a zone. */
function daysLeft({ end_date: end }: License): number | undefined {
  if (end === undefined) return undefined
  const at = Date.parse(/([zZ]|[+-]\d\d:?\d\d)$/.test(end) ? end : `${end.replace(' ', 'T')}Z`)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / dayMs))
}
