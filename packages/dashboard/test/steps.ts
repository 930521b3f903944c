// What several tests do on their way, by clicking.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createLicenceKeys, issueLicence } from '@annal/server'
import type { ElementHandle } from 'puppeteer-core'
import type { Test } from 'tap'
import type { Watched } from './browser.ts'

export const root = 'the-root-token-of-the-tests'

/** A vendor of licences for one test run. */
const vendor = createLicenceKeys()

/** What makes a real server an enterprise one that takes this vendor's licences. */
export const enterprise = { NDD_ROOT_TOKEN: root, NDD_LICENSE_PUBLIC_KEY: vendor.publicKey }

export function licenceText(id = 'licence-of-the-tests', { privateKey } = vendor): string {
  const startMs = Date.now() - 24 * 3_600_000
  return issueLicence(
    { id, plan: 'enterprise', startMs, endMs: startMs + 60 * 24 * 3_600_000, directory: 'any' },
    privateKey,
  )
}

export async function signIn(seen: Watched, token: string): Promise<void> {
  await seen.fill('Token', token)
  await seen.click('Sign in')
}

export async function startTrial(seen: Watched): Promise<void> {
  await seen.click('Start the trial')
  await seen.sees('The trial is active')
}

/** Puts a file with the text where the page, or its dialog, asks for one. */
export async function chooseFile(t: Test, seen: Watched, name: string, text: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'annal-chosen-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(path.join(folder, name), text)
  const input = (await seen.page.waitForSelector('input[type=file]')) as ElementHandle<HTMLInputElement>
  await input.uploadFile(path.join(folder, name))
}
