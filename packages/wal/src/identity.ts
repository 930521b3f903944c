// IDENTITY identifies one data directory. One line of JSON with its own checksum, written once.
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { xxh64 } from './checksum.ts'
import { WalError } from './errors.ts'
import { formatVersion } from './segment-header.ts'
import type { Vfs } from './vfs.ts'
import { createWhole, readSmall, writeFully } from './whole-file.ts'

/** The identity of a data directory. */
export interface Identity {
  readonly uuid: string
  readonly formatVersion: number
  readonly createdAt: string
  /** The timeline that the log of this directory continues. */
  readonly timeline: number
  /** Records up to this LSN came from another directory, through a clone or a restore. */
  readonly forkedAfterLsn: number
}

/** The directory of an IDENTITY file. */
export interface IdentityPlace {
  readonly dir: string
  readonly vfs: Vfs
}

const identityName = 'IDENTITY'
const identityBytesMax = 4096

/** Returns the identity of the directory; undefined when it has none yet. */
export async function readIdentity(place: IdentityPlace): Promise<Identity | undefined> {
  const path = join(place.dir, identityName)
  if (!(await place.vfs.exists(path))) return undefined
  return decodeIdentity(await readSmall(place.vfs, path, identityBytesMax), path)
}

/** Writes the identity. This is the last step when a directory is created: an identity promises that there is a log. */
export async function createIdentity(
  place: IdentityPlace,
  line: Pick<Identity, 'timeline' | 'forkedAfterLsn'> & Partial<Pick<Identity, 'uuid'>> = {
    timeline: 1,
    forkedAfterLsn: 0,
  },
): Promise<Identity> {
  const identity = { uuid: randomUUID(), formatVersion, createdAt: new Date().toISOString(), ...line }
  await createWhole(place.vfs, join(place.dir, identityName), (file) => writeFully(file, encodeIdentity(identity), 0))
  return identity
}

/**
 * A random number that separates the segments of a new directory from those of others. Directories of the first
 * versions all had 1.
 */
export function newTimeline(): number {
  for (;;) {
    const timeline = randomBytes(4).readUInt32LE()
    if (timeline > 1) return timeline
  }
}

/** Reads the identity, or creates one when there is none. */
export async function openIdentity(place: IdentityPlace): Promise<Identity> {
  return (await readIdentity(place)) ?? (await createIdentity(place))
}

/** The bytes of an IDENTITY file. */
export function encodeIdentity(identity: Identity): Buffer {
  const body = JSON.stringify({ magic: 'ANNLID', ...identity })
  return Buffer.from(`${body.slice(0, -1)},"xxh64":"${checksumOf(body)}"}\n`)
}

/** Parses an IDENTITY file. Throws identity_damaged, format_too_new. */
function decodeIdentity(bytes: Buffer, path: string): Identity {
  const found = /^(\{.*),"xxh64":"([0-9a-f]{16})"\}\n$/.exec(bytes.toString('latin1'))
  const body = `${found?.[1] ?? ''}}`
  if (found === null || checksumOf(body) !== found[2]) throw damaged(path)
  const fields: unknown = JSON.parse(body)
  if (!isIdentity(fields)) throw damaged(path)
  if (fields.formatVersion > formatVersion) {
    throw new WalError(
      'format_too_new',
      `${path} declares data directory format ${fields.formatVersion}; this version of Annal supports ${formatVersion}. Start the version that wrote it, or a newer one.`,
      { file: path, version: fields.formatVersion },
    )
  }
  const { uuid, createdAt, timeline = 1, forkedAfterLsn = 0 } = fields
  return { uuid, formatVersion: fields.formatVersion, createdAt, timeline, forkedAfterLsn }
}

function checksumOf(body: string): string {
  return xxh64(Buffer.from(body, 'latin1')).toString(16).padStart(16, '0')
}

/** Identities of the first versions have no timeline. */
type WrittenIdentity = Pick<Identity, 'uuid' | 'formatVersion' | 'createdAt'> & Partial<Identity>

function isIdentity(value: unknown): value is WrittenIdentity {
  if (typeof value !== 'object' || value === null) return false
  if (!('uuid' in value && 'formatVersion' in value && 'createdAt' in value)) return false
  return (
    typeof value.uuid === 'string' && typeof value.formatVersion === 'number' && typeof value.createdAt === 'string'
  )
}

function damaged(path: string): WalError {
  return new WalError(
    'identity_damaged',
    `${path} is damaged: its checksum does not match. Nothing was changed. Restore the file from a copy of the directory, or restore a backup with \`annal restore\`.`,
    { file: path },
  )
}
