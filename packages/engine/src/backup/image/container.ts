// An image as one stream, to be stored outside the machine. No file names, no links, nothing that is executed:
//
//   | magic "ANNALIMG" | version u32 | bytes of the manifest u32 | manifest |
//   then for each file of the manifest, in its order: | number u32 | 0 u32 | bytes f64 | the bytes |
//   then | magic "ANNALEND" |                                                            little endian
//
// A reader trusts nothing in it before it is checked.
import { join } from 'node:path'
import { readFully, type Vfs, type VfsFile, writeFully } from '@annal/wal'
import { EngineError } from '../../errors.ts'
import { unreadableFile } from '../../file-damage.ts'
import { hashFile } from './hash-file.ts'
import { filesOf, type Image, imageText, parseImageText, type StoredImage } from './image.ts'
import { parseImage } from './parse-image.ts'

const magic = new TextEncoder().encode('ANNALIMG')
const endMagic = new TextEncoder().encode('ANNALEND')
const formatVersion = 1
const headBytes = 16
const sectionBytes = 16
const manifestBytesMax = 16 * 1024 * 1024
const sliceBytes = 256 * 1024

export function containerBytes({ image }: StoredImage): number {
  const files = filesOf(image)
  const content = files.reduce((sum, { bytes }) => sum + sectionBytes + bytes, 0)
  return headBytes + Buffer.byteLength(imageText(image)) + content + endMagic.length
}

export async function* writeContainer(vfs: Vfs, { dir, image }: StoredImage): AsyncGenerator<Uint8Array> {
  const manifest = new TextEncoder().encode(imageText(image))
  const head = new Uint8Array(headBytes)
  head.set(magic)
  const view = new DataView(head.buffer)
  view.setUint32(8, formatVersion, true)
  view.setUint32(12, manifest.length, true)
  yield head
  yield manifest
  for (const [number, { name, bytes }] of filesOf(image).entries()) {
    yield sectionHead(number, bytes)
    const file = await vfs.open(join(dir, name), 'read').catch((error: unknown) => {
      const missing = unreadableFile(error, name)
      throw missing ? new EngineError('backup_damaged', missing.message, {}, { cause: error }) : error
    })
    try {
      yield* slicesOf(file, name, bytes)
    } finally {
      await file.close()
    }
  }
  yield endMagic
}

function sectionHead(number: number, bytes: number): Uint8Array {
  const head = new DataView(new ArrayBuffer(sectionBytes))
  head.setUint32(0, number, true)
  head.setFloat64(8, bytes, true)
  return new Uint8Array(head.buffer)
}

async function* slicesOf(file: VfsFile, name: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < bytes; ) {
    const slice = new Uint8Array(Math.min(sliceBytes, bytes - index))
    const got = await readFully(file, slice, index)
    if (got < slice.length) throw new EngineError('backup_damaged', `${name} ends at byte ${index + got} of ${bytes}`)
    yield slice
    index += got
  }
}

/**
 * Writes the files of a container into an empty directory and compares each checksum. `admit` may refuse the image,
 * because of its size for example, before any file is written. Throws backup_damaged, format_too_new or limit_exceeded.
 */
export async function readContainer(
  vfs: Vfs,
  dir: string,
  stream: AsyncIterable<Uint8Array>,
  admit: (image: Image, bytes: number) => Promise<void>,
): Promise<Image> {
  const source = new StreamReader(stream)
  const head = await source.take(headBytes)
  if (!startsWith(head, magic)) throw wrong('it does not begin like a backup')
  const view = new DataView(head.buffer)
  const version = view.getUint32(8, true)
  if (version !== formatVersion)
    throw new EngineError(
      'format_too_new',
      `the backup has container format ${version}; this version of Annal supports 1`,
      {
        value: version,
        limit: formatVersion,
      },
    )
  const manifestBytes = view.getUint32(12, true)
  if (manifestBytes > manifestBytesMax) throw wrong(`its manifest has ${manifestBytes} bytes`)
  const image = parseImage(readManifest(await source.take(manifestBytes)))
  const files = filesOf(image)
  await admit(
    image,
    files.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  for (const [number, { name, bytes, sha256 }] of files.entries()) {
    const section = new DataView((await source.take(sectionBytes)).buffer)
    if (section.getUint32(0, true) !== number || section.getUint32(4, true) !== 0)
      throw wrong(`section ${number} does not begin at its place`)
    if (section.getFloat64(8, true) !== bytes) throw wrong(`section ${number} is not as long as the manifest says`)
    await writeSection(vfs, join(dir, name), source, bytes)
    if ((await hashFile(vfs, join(dir, name))).sha256 !== sha256) throw wrong(`the checksum of section ${number}`)
  }
  if (!startsWith(await source.take(endMagic.length), endMagic)) throw wrong('it does not end like a backup')
  await source.expectEnd()
  return image
}

function readManifest(bytes: Uint8Array): unknown {
  try {
    return parseImageText(new TextDecoder('utf-8', { fatal: true }).decode(bytes), 'the manifest').value
  } catch (error) {
    if (error instanceof EngineError && error.code === 'format_too_new') throw error
    throw wrong('its manifest is damaged')
  }
}

async function writeSection(vfs: Vfs, path: string, source: StreamReader, bytes: number): Promise<void> {
  const file = await vfs.open(path, 'create')
  try {
    for (let index = 0; index < bytes; ) {
      const piece = await source.some(bytes - index)
      await writeFully(file, piece, index)
      index += piece.length
    }
    await file.datasync()
  } finally {
    await file.close()
  }
}

class StreamReader {
  readonly #source: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array(0)

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#source = stream[Symbol.asyncIterator]()
  }

  /** At least one byte and at most `length`; valid until the next call. */
  async some(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next()
      if (done === true) throw wrong('it ends too early')
      this.#rest = value
    }
    const piece = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  async take(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    // Memory is allocated as bytes arrive, so that a false length allocates nothing.
    const pieces: Uint8Array[] = []
    for (let done = 0; done < bytes; ) {
      const piece = await this.some(bytes - done)
      pieces.push(piece)
      done += piece.length
    }
    return new Uint8Array(Buffer.concat(pieces))
  }

  async expectEnd(): Promise<void> {
    for (;;) {
      if (this.#rest.length > 0) throw wrong('there is data after its end')
      const { done, value } = await this.#source.next()
      if (done === true) return
      this.#rest = value
    }
  }
}

function startsWith(bytes: Uint8Array, wanted: Uint8Array): boolean {
  return wanted.every((byte, i) => bytes[i] === byte)
}

function wrong(what: string): EngineError {
  return new EngineError('backup_damaged', `this is not a complete backup: ${what}`)
}
