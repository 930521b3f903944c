// The file license.lic: three lines, of which the second is what the license says and the third who signed it. The algorithm is
// Ed25519, whatever a file may claim, and what is signed is the exact text. Nothing is believed before the signature fits.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { ServerError } from '../http/errors.ts'

/** What a license says. Times are milliseconds since 1970. */
export interface License {
  readonly id: string
  readonly plan: string
  readonly startMs: number
  readonly endMs: number
  /** Id of the one data directory it is for, or `any`. */
  readonly directory: string
}

const firstLine = 'ANNAL LICENSE 1'
const product = 'annal'
export const licenseBytesMax = 16_384
/** 64 bytes, in base64url. */
const signaturePattern = /^[A-Za-z0-9_-]{86}(?![\s\S])/
const payloadPattern = /^[A-Za-z0-9_-]+(?![\s\S])/
const wordPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(?![\s\S])/

/** Keys in the order in which they are written: text with others, or in another order, is not what was issued. */
interface Payload {
  readonly product: string
  readonly license_id: string
  readonly plan: string
  readonly start: string
  readonly end: string
  readonly directory: string
}

export interface LicenseKeys {
  /** 32 bytes in base64url; what NDD_LICENSE_PUBLIC_KEY takes. */
  readonly publicKey: string
  /** PKCS #8 in PEM form. Its owner can issue licenses. */
  readonly privateKey: string
}

export function createLicenseKeys(): LicenseKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** The contents of a license.lic. Throws license_invalid when what it would say is no license. */
export function issueLicense(license: License, privateKey: string): string {
  const payload = textOf(license)
  readPayload(payload)
  const signature = sign(null, signedBytes(payload), createPrivateKey(privateKey))
  return `${firstLine}\n${Buffer.from(payload).toString('base64url')}\n${signature.toString('base64url')}\n`
}

/** Throws license_invalid. Whose directory it is for, and when, is for the caller to judge. */
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

export function isPublicKey(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}(?![\s\S])/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text
}

/** The first line is signed, too, so that a later form of the file cannot pass for this one. */
function signedBytes(payload: string): Buffer {
  return Buffer.from(`${firstLine}\n${payload}`)
}

/** Undefined when the same bytes are usually written otherwise: of each license there is one text. */
function decoded(encoded: string): string | undefined {
  const bytes = decodedBytes(encoded)
  const text = bytes.toString('utf8')
  return bytes.toString('base64url') === encoded && Buffer.from(text).equals(bytes) ? text : undefined
}

function decodedBytes(encoded: string): Buffer {
  const bytes = Buffer.from(encoded, 'base64url')
  // The last character has bits to spare; a signature with any of them set is not the one that was written.
  return bytes.toString('base64url') === encoded ? bytes : Buffer.alloc(0)
}

function textOf({ id, plan, startMs, endMs, directory }: License): string {
  const start = new Date(startMs).toISOString()
  const end = new Date(endMs).toISOString()
  return JSON.stringify({ product, license_id: id, plan, start, end, directory } satisfies Payload)
}

function readPayload(text: string): License {
  const said = parsePayload(text)
  if (said.product !== product) throw invalid('the license is for another product')
  const license = {
    id: word(said.license_id, 'license_id'),
    plan: word(said.plan, 'plan'),
    startMs: moment(said.start, 'start'),
    endMs: moment(said.end, 'end'),
    directory: word(said.directory, 'directory'),
  }
  if (license.endMs <= license.startMs) throw invalid('the license ends before it starts')
  // Unknown, doubled and reordered keys, spaces: whatever is not exactly what would be written today.
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
