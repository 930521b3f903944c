// Puts units such as sentences together to chunks, and splits units that are too large for one.
import { type Span, spanOf } from './tokens.ts'

/** Splits what is between two offsets into smaller units. */
export type Splitter = (text: string, start: number, end: number) => Span[]

export interface PackLimits {
  readonly size: number
  readonly overlap: number
}

/** The units, each split by the first of the splitters that is fine enough. */
export function fittingUnits(
  text: string,
  units: readonly Span[],
  size: number,
  splitters: readonly Splitter[],
): Span[] {
  const [splitter, ...finer] = splitters
  return units.flatMap((unit) => {
    if (unit.tokens <= size || splitter === undefined) return [unit]
    return fittingUnits(text, splitter(text, unit.start, unit.end), size, finer)
  })
}

/** Neighboring units with at most `size` tokens. The last units of a chunk, up to `overlap` tokens, begin the next one too. */
export function packUnits(text: string, units: readonly Span[], { size, overlap }: PackLimits): Span[] {
  const chunks: Span[] = []
  let first = 0
  let tokens = 0
  const add = (after: number) => {
    const start = units[first]?.start ?? 0
    chunks.push(spanOf(text, start, units[after - 1]?.end ?? start))
  }
  for (const [at, unit] of units.entries()) {
    if (at > first && tokens + unit.tokens > size) {
      add(at)
      const carriedMax = Math.min(overlap, size - unit.tokens)
      let carriedFrom = at
      tokens = 0
      while (carriedFrom - 1 > first && tokens + (units[carriedFrom - 1] as Span).tokens <= carriedMax) {
        carriedFrom--
        tokens += (units[carriedFrom] as Span).tokens
      }
      first = carriedFrom
    }
    tokens += unit.tokens
  }
  if (units.length > 0) add(units.length)
  return chunks
}
