// Splits a text into chunks that are searched one by one. The client for Python has the same function with the same results.
import { AnnalError } from '../errors.ts'
import { codeLinesOf, paragraphsOf, topBlocksOf } from './code.ts'
import { sectionsOf } from './markdown.ts'
import { fittingUnits, packUnits } from './pack.ts'
import { sentencesOf } from './sentences.ts'
import { type Span, tokensOf } from './tokens.ts'

const kinds = ['sentences', 'tokens', 'markdown', 'code'] as const
/** Where chunks may end. */
export type ChunkBy = (typeof kinds)[number]

/** How a text is split. */
export interface ChunkOptions {
  /**
   * Where chunks may end: between `sentences` (the default), between any `tokens`, between sections and blocks of `markdown`, or between
   * blocks of source `code`. What is larger than a chunk is split further.
   */
  readonly by?: ChunkBy | undefined
  /** Maximum number of tokens of a chunk, 1 to 10,000; 200 by default. Tokens are words and punctuation marks. */
  readonly size?: number | undefined
  /** Maximum number of tokens that a chunk repeats from the end of the one before; less than `size`, 0 by default. */
  readonly overlap?: number | undefined
  /** Id of the document, which each chunk gets as `parent`. */
  readonly parent?: string | undefined
}

/** A part of a text, to be stored as an object. */
export interface Chunk {
  readonly text: string
  /** Offsets of the chunk in the text, in UTF-16 units as `slice` takes them. */
  readonly start: number
  readonly end: number
  /** Number of the chunk in its document, from 0. */
  readonly index: number
  /** Number of its tokens. */
  readonly tokens: number
  /** Id of the document, if the options have one. */
  readonly parent?: string
  /** With `markdown`: the headings that lead to the chunk, the outermost first. */
  readonly headings?: readonly string[]
}

const sizeMax = 10_000
const sizeDefault = 200

/**
 * Splits a text into chunks. Chunks cover everything but white space, in order. Throws AnnalError `invalid_argument`.
 *
 * @example
 * ```ts
 * const guide = await (await fetch('https://example.org/guide.md')).text()
 * const chunks = chunkText(guide, { by: 'markdown', size: 200, overlap: 20, parent: 'guide' })
 * const objects = chunks.map(({ text, index, parent = '' }) => ({ id: `${parent}#${index}`, filter: { parent }, text }))
 * ```
 */
export function chunkText(text: string, options: ChunkOptions = {}): Chunk[] {
  const { by = 'sentences', size = sizeDefault, overlap = 0, parent } = options
  check(text, { by, size, overlap, parent })
  const limits = { size, overlap }
  const parts =
    by === 'markdown'
      ? sectionsOf(text).map(({ headings, blocks }) => {
          const units = blocks.flatMap(({ span, code }) => {
            return fittingUnits(text, [span], size, code ? [codeLinesOf, tokensOf] : [sentencesOf, tokensOf])
          })
          return { headings, spans: packUnits(text, units, limits) }
        })
      : [{ headings: undefined, spans: packUnits(text, unitsOf(text, by, size), limits) }]
  const found = parts.flatMap(({ headings, spans }) => spans.map((span) => ({ span, headings })))
  return found.map(({ span: { start, end, tokens }, headings }, index) => ({
    text: text.slice(start, end),
    start,
    end,
    index,
    tokens,
    ...(parent !== undefined && { parent }),
    ...(headings !== undefined && { headings }),
  }))
}

function unitsOf(text: string, by: Exclude<ChunkBy, 'markdown'>, size: number): Span[] {
  if (by === 'tokens') return tokensOf(text, 0, text.length)
  if (by === 'sentences') return fittingUnits(text, sentencesOf(text, 0, text.length), size, [tokensOf])
  return fittingUnits(text, topBlocksOf(text, 0, text.length), size, [paragraphsOf, codeLinesOf, tokensOf])
}

function check(text: unknown, { by, size, overlap, parent }: ChunkOptions & { size: number; overlap: number }): void {
  if (typeof text !== 'string') throw wrong('text', text, 'text must be a string')
  if (!kinds.includes(by as ChunkBy)) {
    throw wrong('by', by, `by must be sentences, tokens, markdown, or code, not ${String(by)}`, kinds)
  }
  if (!Number.isInteger(size) || size < 1 || size > sizeMax) {
    throw wrong('size', size, `size must be a whole number from 1 to ${sizeMax}, not ${String(size)}`, sizeMax)
  }
  if (!Number.isInteger(overlap) || overlap < 0 || overlap >= size) {
    throw wrong(
      'overlap',
      overlap,
      `overlap must be a whole number from 0 to ${size - 1}, not ${String(overlap)}`,
      size - 1,
    )
  }
  if (parent !== undefined && (typeof parent !== 'string' || parent === '')) {
    throw wrong('parent', parent, 'parent must be a non-empty string')
  }
}

function wrong(field: string, value: unknown, message: string, limit?: unknown): AnnalError {
  return new AnnalError('invalid_argument', message, { field, value, ...(limit !== undefined && { limit }) })
}
