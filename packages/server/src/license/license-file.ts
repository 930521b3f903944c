// The file license.lic has three lines: a fixed first line, the payload, and the signature. The algorithm is always Ed25519, and
// the signature covers the exact text. The payload is parsed only after its signature is verified.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { ServerError } from '../errors.ts'

/** The content of a license. Times are milliseconds since 1970. */
export interface License {
  readonly id: string
  readonly plan: string
  readonly startMs: number
  readonly endMs: number
  /** Id of the only data directory that the license is for, or `any`. */
  readonly directory: string
}

const firstLine = 'ANNAL LICENSE 1'
const product = 'annal'
/** Maximum size of a license.lic. */
export const licenseBytesMax = 16_384
/** A signature of 64 bytes in base64url. */
const signaturePattern = /^[A-Za-z0-9_-]{86}(?![\s\S])/
const payloadPattern = /^[A-Za-z0-9_-]+(?![\s\S])/
const wordPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(?![\s\S])/

/** The keys in the order in which they are written. A payload with other keys or in another order is rejected. */
interface Payload {
  readonly product: string
  readonly license_id: string
  readonly plan: string
  readonly start: string
  readonly end: string
  readonly directory: string
}

/** The key pair of a vendor. */
export interface LicenseKeys {
  /** 32 bytes in base64url, the form of NDD_LICENSE_PUBLIC_KEY. */
  readonly publicKey: string
  /** PKCS #8 in PEM format. Keep it secret: it can issue licenses. */
  readonly privateKey: string
}

/** Creates the key pair of a vendor. */
export function createLicenseKeys(): LicenseKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Returns the text of a license.lic. Throws license_invalid if the license could not be read back. */
export function issueLicense(license: License, privateKey: string): string {
  const payload = textOf(license)
  readPayload(payload)
  const signature = sign(null, signedBytes(payload), createPrivateKey(privateKey))
  return `${firstLine}\n${Buffer.from(payload).toString('base64url')}\n${signature.toString('base64url')}\n`
}

/** Verifies the signature and parses the license. The caller checks the data directory and the dates. Throws license_invalid. */
export function readLicense(text: string, publicKey: string): License {
  if (text.length > licenseBytesMax) throw invalid(`a license has at most ${licenseBytesMax} characters`)
  const [first, encoded = '', signature = '', ...rest] = text.replace(/\r?\n$/, '').split(/\r?\n/)
  if (first !== firstLine || rest.length > 0 || !payloadPattern.test(encoded) || !signaturePattern.test(signature))
    throw invalid('not a license: paste the whole license.lic, all three lines')
  const payload = decoded(encoded)
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  if (payload === undefined || !verify(null, signedBytes(payload), key, decodedBytes(signature)))
    throw invalid('the signature is invalid: the license was changed, or issued with another key')
  return readPayload(payload)
}

/** Whether a text is a public key: 32 bytes in base64url. */
export function isPublicKey(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}(?![\s\S])/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text
}

/** The signature also covers the first line, so that a file of a later version cannot be read as version 1. */
function signedBytes(payload: string): Buffer {
  return Buffer.from(`${firstLine}\n${payload}`)
}

/** Undefined unless the text is the canonical base64url encoding of its bytes. Each license has exactly one encoding. */
function decoded(encoded: string): string | undefined {
  const bytes = decodedBytes(encoded)
  const text = bytes.toString('utf8')
  return bytes.toString('base64url') === encoded && Buffer.from(text).equals(bytes) ? text : undefined
}

function decodedBytes(encoded: string): Buffer {
  const bytes = Buffer.from(encoded, 'base64url')
  // The last character has unused bits. A signature in which one of them is set is rejected.
  return bytes.toString('base64url') === encoded ? bytes : Buffer.alloc(0)
}

function textOf({ id, plan, startMs, endMs, directory }: License): string {
  const start = new Date(startMs).toISOString()
  const end = new Date(endMs).toISOString()
  return JSON.stringify({ product, license_id: id, plan, start, end, directory } satisfies Payload)
}

function readPayload(text: string): License {
  const payload = parsePayload(text)
  if (payload.product !== product) throw invalid('the license is for another product')
  const license = {
    id: word(payload.license_id, 'license_id'),
    plan: word(payload.plan, 'plan'),
    startMs: moment(payload.start, 'start'),
    endMs: moment(payload.end, 'end'),
    directory: word(payload.directory, 'directory'),
  }
  if (license.endMs <= license.startMs) throw invalid('the license ends before it starts')
  // Rejects any text that differs from the canonical one: unknown, repeated, or reordered keys, and spaces.
  if (textOf(license) !== text) throw invalid('the license has entries that this version does not know')
  return license
}

function parsePayload(text: string): Partial<Record<keyof Payload, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw invalid('the license is not a JSON object')
}

function word(value: unknown, field: string): string {
  if (typeof value === 'string' && wordPattern.test(value)) return value
  throw invalid(`${field} of the license must be letters, digits, "_" and "-"`)
}

function moment(value: unknown, field: string): number {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isFinite(ms)) return ms
  throw invalid(`${field} of the license is not a valid time`)
}

function invalid(message: string): ServerError {
  return new ServerError('license_invalid', message, { field: 'license' })
}
