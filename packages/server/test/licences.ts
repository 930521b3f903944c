// Licences of a vendor that exists for one test run.
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Engine } from '@annal/engine'
import { createLicenceKeys, issueLicence, type Licence } from '../src/index.ts'
import { licencePlace } from '../src/license/license-place.ts'
import { createLicensing, type Licensing } from '../src/license/licensing.ts'

export const vendor = createLicenceKeys()
export const dayMs = 24 * 3_600_000

/** In force for any directory, for a month from yesterday on, where nothing else is said. */
export function licence(changes: Partial<Licence> = {}): Licence {
  const startMs = changes.startMs ?? Date.now() - dayMs
  return { id: 'lic-1', plan: 'enterprise', startMs, endMs: startMs + 31 * dayMs, directory: 'any', ...changes }
}

export function issued(changes: Partial<Licence> = {}, privateKey = vendor.privateKey): string {
  return issueLicence(licence(changes), privateKey)
}

export async function layLicence(dataDir: string, text = issued()): Promise<void> {
  await mkdir(path.join(dataDir, 'license'), { recursive: true })
  await writeFile(path.join(dataDir, 'license', 'license.lic'), text)
}

/** As the server makes it when it starts. */
export async function testLicensing(
  dataDir: string,
  engine: Engine,
  now?: () => number,
  elapsed?: () => number,
): Promise<Licensing> {
  const place = licencePlace(dataDir)
  const clock = { ...(now && { now }), ...(elapsed && { elapsed }) }
  const licensing = createLicensing({ publicKey: vendor.publicKey, place, engine: () => engine, ...clock })
  await licensing.open(engine.id)
  return licensing
}
