// The remaining time of a license, and the notice to show.
import type { License } from './api/server.ts'

const dayMs = 86_400_000
const warnDays = 7

export function isActive(license: License | null): boolean {
  return license !== null && (license.status === 'active' || license.status === 'valid')
}

/** Undefined when no notice is needed. */
export function licenseWarning(license: License | null): string | undefined {
  if (license === null)
    return 'No active license. The server is restricted: it only lists and describes databases and collections.'
  if (!isActive(license)) return 'The license has expired. The server is restricted until a license is activated.'
  const left = daysLeft(license)
  if (left === undefined || left > warnDays) return undefined
  return `The license expires in ${left} ${left === 1 ? 'day' : 'days'}.`
}

/** Dates have the form `YYYY-MM-DD HH:MM:SS` in UTC, without a zone. */
function daysLeft({ end_date: end }: License): number | undefined {
  if (end === undefined) return undefined
  const endMs = Date.parse(/([zZ]|[+-]\d\d:?\d\d)$/.test(end) ? end : `${end.replace(' ', 'T')}Z`)
  return Number.isNaN(endMs) ? undefined : Math.max(0, Math.ceil((endMs - Date.now()) / dayMs))
}
