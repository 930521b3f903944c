// Hostile bodies, and honest ones at the limit, as streams of any size: begin, filler, end.
export type Format = 'json' | 'msgpack'

export interface Shape {
  readonly name: string
  readonly format: Format
  readonly begin: Uint8Array
  /** Repeated as long as it fits. */
  readonly filler: Uint8Array | ((index: number) => Uint8Array)
  readonly end: Uint8Array
}

/** The text around the entries of a list: bodies of upserts and of filter updates, under both prefixes. */
export interface ListFrame {
  readonly json: { readonly open: string; readonly close: string; readonly object: string }
  readonly msgpack: { readonly open: string; readonly object: string }
}

export const frames = {
  insert: {
    json: { open: '[', close: ']', object: '{"id":"a","vector":[' },
    msgpack: { open: '', object: '95a161c40080ca3f800000' },
  },
  objects: {
    json: { open: '{"objects":[', close: ']}', object: '{"id":"a","fields":{"dense":[' },
    msgpack: { open: '91', object: '94a161c400a081a564656e7365' },
  },
  updates: {
    json: { open: '{"updates":[', close: ']}', object: '{"id":"a","filter":{"a":[' },
    msgpack: { open: '81a775706461746573', object: '82a26964a161a666696c74657281a161' },
  },
} satisfies Record<string, ListFrame>

const text = (source: string): Uint8Array => Buffer.from(source)
const hex = (source: string): Uint8Array => Buffer.from(source, 'hex')
const digits = '7'.repeat(10_000)
/** A count in 32 bits that is at most twice what a body of this size can contain. */
const many = (bytes: number): string => Math.floor(bytes).toString(16).padStart(8, '0')

export function hostileShapes({ json, msgpack }: ListFrame, bytes: number): Shape[] {
  const j = (name: string, begin: string, filler: string | ((i: number) => string), end: string): Shape => ({
    name,
    format: 'json',
    begin: text(begin),
    filler: typeof filler === 'string' ? text(filler) : (i) => text(filler(i)),
    end: text(end),
  })
  const m = (name: string, begin: string, filler: string): Shape => ({
    name,
    format: 'msgpack',
    begin: hex(begin),
    filler: hex(filler),
    end: hex(''),
  })
  const { open, close, object } = json
  const count = many(bytes * 0.9)
  return [
    j('empty arrays', open, '[],', `[]${close}`),
    j('empty objects', open, '{},', `{}${close}`),
    j('numbers in the list', open, '0,', `0${close}`),
    j('spaces', open, ' ', close),
    j('spaces between numbers', `${object}`, '1     ,', '1'),
    j('arrays in arrays', '', '[', ''),
    j('objects in objects', '', '{"a":', ''),
    j('keys of the body', '{', (i) => `"k${i}":${i},`, '"z":1}'),
    j('keys of an object', `${open}{`, (i) => `"k${i}":${i},`, `"z":1}${close}`),
    j('one key again and again', `${open}{`, '"id":"a",', `"id":"a"}${close}`),
    j('escapes', `${open}{"id":"`, '\\u0041', `"}${close}`),
    j('one text', `${open}{"id":"`, 'x', `"}${close}`),
    j('one key', `${open}{"`, 'x', `":1}${close}`),
    j('numbers of 10,000 digits', `${open}${object}`, `${digits},`, `1]}}${close}`),
    j('one number', '', '7', ''),
    j('one array of numbers', `${open}${object}`, '0,', `0]}}${close}`),
    j('arrays where numbers stand', `${open}${object}`, '[],', `[]]}}${close}`),
    j('meta of empty arrays', `${open}{"id":"a","meta":{"a":[`, '[],', `[]]}}${close}`),
    j('half of UTF-8', `${open}{"id":"`, '\u00e9', ''),
    m('empty arrays', `${msgpack.open}dd${count}`, '90'),
    m('empty maps', `${msgpack.open}dd${count}`, '80'),
    m('numbers in the list', `${msgpack.open}dd${count}`, '00'),
    m('arrays in arrays', '', '91'),
    m('arrays of 65,535', '', 'dcffff'),
    m('keys of the body', `df${many(bytes / 4)}`, 'a16101'),
    m('keys of an object', `${msgpack.open}91df${many(bytes / 4)}`, 'a16101'),
    m('one text', `${msgpack.open}9191db${count}`, '78'),
    m('one binary', `${msgpack.open}9192a161c6${count}`, '78'),
    m('one array of numbers', `${msgpack.open}91${msgpack.object}dd${count}`, '00'),
    m('arrays where numbers stand', `${msgpack.open}91${msgpack.object}dd${count}`, '90'),
    m('extensions', `${msgpack.open}dd${count}`, 'd40000'),
  ]
}

const wide = (name: string, begin: string, filler: (i: number) => string, end: string): Shape => ({
  ...{ name, format: 'json', begin: text(begin), end: text(end) },
  filler: (i) => text(filler(i)),
})

/** Bodies with many ids, conditions, and keys where routes expect some. */
export const wideShapes: readonly Shape[] = [
  wide('ids', '{"ids":[', (i) => `"id${i}",`, '"a"]}'),
  wide('conditions', '{"filter":[{', (i) => `"k${i}":{"$eq":${i}},`, '"z":{"$eq":1}}]}'),
  wide('values of a condition', '{"filter":[{"a":{"$in":[', (i) => `${i},`, '1]}}]}'),
  wide('keys of meta', '{"objects":[{"id":"a","meta":{', (i) => `"k${i}":${i},`, '"z":1}}]}'),
  wide('keys of a filter', '{"objects":[{"id":"a","filter":{', (i) => `"k${i}":${i},`, '"z":1}}]}'),
]

/** The body in chunks of about 64 KiB, `bytes` long in total if begin and end fit. */
export function* chunksOf({ begin, filler, end }: Shape, bytes: number): Generator<Buffer> {
  let left = bytes - begin.length - end.length
  if (filler instanceof Uint8Array) {
    yield Buffer.from(begin)
    const block = Buffer.concat(Array.from({ length: Math.ceil(65_536 / filler.length) }, () => filler))
    for (; left >= block.length; left -= block.length) yield block
    const rest = block.subarray(0, left - (left % filler.length))
    yield Buffer.concat([rest, end, Buffer.alloc(left - rest.length, 0x20)])
    return
  }
  let chunk: Uint8Array[] = [begin]
  let size = begin.length
  for (let i = 0; ; i++) {
    const next = filler(i)
    if (next.length > left) break
    left -= next.length
    chunk.push(next)
    size += next.length
    if (size < 65_536) continue
    yield Buffer.concat(chunk)
    chunk = []
    size = 0
  }
  // Padded with bytes that every format skips or reads as one more of the same.
  yield Buffer.concat([...chunk, end, Buffer.alloc(Math.max(0, left), 0x20)])
}
