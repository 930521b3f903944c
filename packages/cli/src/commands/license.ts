// `annal license`: creates the vendor's keys, issues licenses and prints their contents. Needs no server.
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { builtInPublicKey, createLicenseKeys, issueLicense, type License, readLicense } from '@annal/server'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

const dayMs = 24 * 3_600_000

export async function licenseKeys({ out }: { readonly out: string }, terminal: Terminal): Promise<number> {
  const { publicKey, privateKey } = createLicenseKeys()
  // Never overwrites a key, because licenses issued with it would become useless.
  await writeFile(out, privateKey, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    throw usageError(`${out} cannot be created: ${reason(error)}`)
  })
  terminal.say(`private key written to ${out}; anyone who has it can issue licenses. Build with this ANNAL_VENDOR_KEY:`)
  terminal.line(publicKey)
  return exitCode.good
}

export interface IssueOptions {
  readonly key: string
  readonly plan: string
  readonly days: number
  readonly directory: string
  readonly id?: string
}

export async function licenseIssue(options: IssueOptions, terminal: Terminal): Promise<number> {
  const privateKey = await read(options.key)
  const startMs = Date.now()
  const id = options.id ?? `lic-${randomBytes(6).toString('hex')}`
  const { plan, directory } = options
  const license = { id, plan, directory, startMs, endMs: startMs + options.days * dayMs }
  terminal.line(issued(license, privateKey).trimEnd())
  terminal.say(`${id}: ${plan}, ${options.days} days, for ${whose(directory)}`)
  return exitCode.good
}

export async function licenseShow(
  file: string,
  options: { readonly publicKey?: string },
  terminal: Terminal,
): Promise<number> {
  const publicKey = options.publicKey ?? process.env.NDD_LICENSE_PUBLIC_KEY ?? builtInPublicKey
  const { id, plan, startMs, endMs, directory } = checked(await read(file), publicKey)
  const [start, end] = [startMs, endMs].map((ms) => new Date(ms).toISOString())
  terminal.line(`${id}: ${plan}, ${start} to ${end}, for ${whose(directory)}`)
  if (endMs > Date.now()) return exitCode.good
  terminal.say('it has expired')
  return exitCode.attention
}

function issued(license: License, privateKey: string): string {
  try {
    return issueLicense(license, privateKey)
  } catch (error) {
    throw usageError(reason(error))
  }
}

function checked(text: string, publicKey: string): License {
  try {
    return readLicense(text, publicKey)
  } catch (error) {
    throw new CommandEnd(exitCode.damaged, reason(error))
  }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw usageError(`${file} cannot be read: ${reason(error)}`)
  })
}

function whose(directory: string): string {
  return directory === 'any' ? 'any directory' : `directory ${directory}`
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
