// Licenses of a vendor that exists for one test run.
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Engine } from '@annal/engine'
import { createLicenseKeys, issueLicense, type License } from '../src/index.ts'
import { licensePlace } from '../src/license/license-place.ts'
import { Licensing } from '../src/license/licensing.ts'

export const vendor = createLicenseKeys()
export const dayMs = 24 * 3_600_000

/** Valid for any directory, for a month from yesterday on, unless `changes` says otherwise. */
export function license(changes: Partial<License> = {}): License {
  const startMs = changes.startMs ?? Date.now() - dayMs
  return { id: 'lic-1', plan: 'enterprise', startMs, endMs: startMs + 31 * dayMs, directory: 'any', ...changes }
}

export function issued(changes: Partial<License> = {}, privateKey = vendor.privateKey): string {
  return issueLicense(license(changes), privateKey)
}

export async function layLicense(dataDir: string, text = issued()): Promise<void> {
  await mkdir(path.join(dataDir, 'license'), { recursive: true })
  await writeFile(path.join(dataDir, 'license', 'license.lic'), text)
}

/** As the server creates it when it starts. */
export async function testLicensing(
  dataDir: string,
  engine: Engine,
  now?: () => number,
  elapsed?: () => number,
): Promise<Licensing> {
  const place = licensePlace(dataDir)
  const clock = { ...(now && { now }), ...(elapsed && { elapsed }) }
  const licensing = new Licensing({ publicKey: vendor.publicKey, place, engine: () => engine, ...clock })
  await licensing.open(engine.id)
  return licensing
}
