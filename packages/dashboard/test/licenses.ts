// A license vendor for one test, created with the command line.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { commandProgram } from '../../server/test/programs.ts'

const run = promisify(execFile)

export interface Vendor {
  readonly publicKey: string
  /** The text of a license.lic that is valid from now on. */
  issue(id: string): Promise<string>
}

export async function vendorOfLicenses(t: Test): Promise<Vendor> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'annal-vendor-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const key = path.join(folder, 'private.key')
  return {
    publicKey: await license('keys', '--out', key),
    issue: (id) => license('issue', '--key', key, '--plan', 'enterprise', '--days', '60', '--id', id),
  }
}

async function license(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [...commandProgram, 'license', ...args])
  return stdout.trim()
}
