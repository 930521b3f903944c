// One JSON value in a one-line file, preceded by its format and checksum. Written whole or not at all.
import { createHash } from 'node:crypto'
import { createWhole, readFully, type Vfs, writeFully } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { accessing } from '../file-damage.ts'

const bytesMax = 256 * 1024 * 1024

export interface Seal {
  /** The newest format that this code reads, and the one it writes. */
  readonly format: number
  /** The key of the value in the line. */
  readonly key: string
}

export interface Unsealed {
  readonly value: unknown
  /** Checksum of the value's text. */
  readonly sum: string
  /** The format in which it was written. */
  readonly format: number
}

/** Returns the checksum of the value's text. */
export async function writeSealed(vfs: Vfs, path: string, sealed: Seal & { readonly value: unknown }): Promise<string> {
  const { text, sum } = sealedText(sealed)
  await createWhole(vfs, path, (file) => writeFully(file, Buffer.from(text), 0))
  return sum
}

export function sealedText({ format, key, value }: Seal & { readonly value: unknown }): {
  readonly text: string
  readonly sum: string
} {
  const body = JSON.stringify(value)
  const sum = sha256(body)
  return { text: `{"format":${format},"sha256":"${sum}","${key}":${body}}\n`, sum }
}

/** Throws snapshot_damaged or format_too_new. */
export async function readSealed(vfs: Vfs, path: string, seal: Seal): Promise<Unsealed> {
  return parseSealed(await accessing(path, () => readText(vfs, path)), path, seal)
}

export function parseSealed(text: string, path: string, { format, key }: Seal): Unsealed {
  const found = /^\{"format":(\d+),"sha256":"([0-9a-f]{64})","([a-z]+)":(.*)\}\n(?![\s\S])/.exec(text)
  if (found === null || found[3] !== key)
    throw new EngineError('snapshot_damaged', `${path} is not a ${key}`, { file: path })
  const [, written, sum = '', , body = ''] = found
  if (Number(written) > format) {
    throw new EngineError('format_too_new', `${path} has format ${written}, which needs a newer version of Annal`, {
      file: path,
      version: Number(written),
    })
  }
  if (sha256(body) !== sum)
    throw new EngineError('snapshot_damaged', `${path} is damaged: wrong checksum`, { file: path })
  return { value: JSON.parse(body), sum, format: Number(written) }
}

async function readText(vfs: Vfs, path: string): Promise<string> {
  const file = await vfs.open(path, 'read')
  try {
    const size = await file.size()
    if (size > bytesMax)
      throw new EngineError('snapshot_damaged', `${path} has ${size} bytes, which exceeds its limit`, { file: path })
    const bytes = Buffer.alloc(size)
    await readFully(file, bytes, 0)
    return bytes.toString('utf8')
  } finally {
    await file.close()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
