// The license in /api/v2.
import type { LicenseStatus } from '../license/licensing.ts'

/** The description of a license. */
export function licenseInfo({ status, license }: LicenseStatus) {
  const { id, plan, startMs, endMs } = license
  return { license_id: id, plan_type: plan, status, start_date: utc(startMs), end_date: utc(endMs) }
}

/** `2026-07-10 10:57:32`, without a zone, as published dashboards read it. */
function utc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}
