// A licence as /api/v2 tells of it.
import type { LicenceStatus } from '../license/licensing.ts'

export function licenceInfo({ status, licence }: LicenceStatus) {
  const { id, plan, startMs, endMs } = licence
  return { license_id: id, plan_type: plan, status, start_date: utc(startMs), end_date: utc(endMs) }
}

/** `2026-07-10 10:57:32`, without a zone, as published dashboards read it. */
function utc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}
